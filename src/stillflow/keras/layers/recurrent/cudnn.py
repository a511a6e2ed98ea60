"""Recurrent layers whose steps are one operation, which TensorFlow has for GPUs only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.shaping import reverse
from stillflow.keras.layers.recurrent.cells import WithKernels
from stillflow.keras.layers.recurrent.rnn import RNN
from stillflow.layers.identifiers import regularizer_of, serialized
from stillflow.layers.input_spec import InputSpec
from stillflow.layers.signatures import arguments
from stillflow.ops.recurrent.cudnn import forward_ops

_OF_RNN = ("return_sequences", "return_state", "go_backwards", "stateful", "time_major")


class _Cell(NamedTuple):
    """Description of a cell that is part of an operation."""

    state_size: Any


class _CuDNNRNN(RNN, WithKernels):
    """A recurrent layer of one operation.

    Args:
      units: the size of the output and of each state.
      activity_regularizer: of the output.
      time_major: whether inputs and outputs are [time, batch, ...].
      others: see `RNN` and `WithKernels`.
    """

    _in_version_2 = False

    # How many states there are, and the parts of the kernels in the operation's order.
    _states_count: int
    _gates: tuple[int, ...]
    _mode: str

    def __init__(self, given: dict[str, Any]) -> None:
        of_rnn = {name: given.pop(name, False) for name in _OF_RNN}
        regularizer = given.pop("activity_regularizer")
        WithKernels.__init__(self, **given)
        for name, value in of_rnn.items():
            setattr(self, name, value)
        self.activity_regularizer = regularizer_of(regularizer)
        self.supports_masking = False
        self.input_spec = [InputSpec(ndim=3)]
        self.state_spec = [InputSpec(shape=(None, self.units))] * self._states_count
        self.constants_spec = None
        self._states = None
        self._num_constants = 0
        self._vector_shape = tf.constant([-1])

    @property
    def cell(self) -> Any:
        """The sizes of the states."""
        return _Cell(self.units if self._states_count == 1 else (self.units,) * self._states_count)

    def build(self, input_shape: Any) -> None:
        """Make `kernel`, `recurrent_kernel` and `bias`, which has one part for each kernel."""
        super().build(input_shape)
        shape = input_shape[0] if isinstance(input_shape, list) else input_shape
        self._add_kernels(shape, gates=len(self._gates))
        size = self.units * 2 * len(self._gates)
        self.bias = self._add("bias", (size,), self._initializer_of_bias())
        self.built = True

    def _initializer_of_bias(self) -> Any:
        return None

    def call(
        self, inputs: Any, mask: Any = None, training: Any = None, initial_state: Any = None
    ) -> Tensor | list[Tensor]:
        """Return the output; a list with the states if these are given.

        Raises:
          ValueError: if a mask is given.
        """
        if (mask[0] if isinstance(mask, list) else mask) is not None:
            raise ValueError("Masking is not supported for CuDNN RNNs.")
        inputs, initial_state, _ = self._process(inputs, initial_state, None)
        if self.go_backwards:
            # The second dimension, whichever it is, as in TensorFlow.
            inputs = reverse(inputs, 1)
        output, states = self._run(inputs, initial_state)
        if self.stateful:
            self.add_update(
                [tf.assign(kept, new) for kept, new in zip(self.states, states, strict=True)]
            )
        return [output, *states] if self.return_state else output

    def _run(self, inputs: Any, initial_state: list[Any]) -> tuple[Any, list[Any]]:
        """Return the output, and the last states."""
        if not self.time_major:
            inputs = tf.transpose(inputs, perm=(1, 0, 2))
        count = self._states_count
        first = [tf.expand_dims(state, axis=0) for state in initial_state]
        params = self._params()
        memory = first[1] if count == 2 else 0
        results = forward_ops["V2"](inputs, first[0], memory, params, rnn_mode=self._mode)
        outputs, states = results[0], list(results[1 : 1 + count])
        if self.stateful or self.return_state:
            states = [state[0] for state in states]
        if not self.return_sequences:
            return outputs[-1], states
        return outputs if self.time_major else tf.transpose(outputs, perm=(1, 0, 2)), states

    def _params(self) -> Tensor:
        """All variables as the operation's one vector."""
        count = len(self._gates)
        kernels = (self.kernel, self.recurrent_kernel)
        weights = [kernel[:, self._part(i, count)] for kernel in kernels for i in self._gates]
        biases = [
            self.bias[self._part(first + i, 2 * count)]
            for first in (0, count)
            for i in self._gates
        ]  # fmt: skip
        return tf.concat([tf.reshape(x, self._vector_shape) for x in weights + biases], axis=0)

    def _part(self, i: int, count: int) -> slice:
        """Return the `i`-th of `count` parts of a dimension."""
        return slice(self.units * i or None, None if i == count - 1 else self.units * (i + 1))

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        config: dict[str, Any] = {name: getattr(self, name) for name in ("units", *_OF_RNN)}
        config["activity_regularizer"] = serialized("regularizers", self.activity_regularizer)
        # Not `RNN`'s, which tells of the cell.
        return {**super(RNN, self).get_config(), **config, **self.kernels_config()}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> RNN:
        """Return the layer with these constructor's arguments."""
        return cls(**config)


@export("keras.layers.CuDNNGRU")
class CuDNNGRU(_CuDNNRNN):
    """Gated recurrent units, those of `GRU` with `reset_after`, as one operation.

    Args:
      units: the size of the output and of the state.
      ..._initializer, ..._regularizer, ..._constraint: of the variables.
      activity_regularizer: of the output.
      others: see `RNN`.
    """

    _states_count, _gates, _mode = 1, (1, 0, 2), "gru"

    def __init__(
        self,
        units: int,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(arguments(locals()))


@export("keras.layers.CuDNNLSTM")
class CuDNNLSTM(_CuDNNRNN):
    """A long short-term memory, that of `LSTM`, as one operation.

    Args:
      units: the size of the output and of each state.
      unit_forget_bias: whether a bias of the forget gate begins with ones.
      ..._initializer, ..._regularizer, ..._constraint: of the variables.
      activity_regularizer: of the output.
      others: see `RNN`.
    """

    _states_count, _gates, _mode = 2, (0, 1, 2, 3), "lstm"

    def __init__(
        self,
        units: int,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        kernel_regularizer: Any = None,
        recurrent_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        recurrent_constraint: Any = None,
        bias_constraint: Any = None,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        **kwargs: Any,
    ) -> None:
        given = arguments(locals())
        del given["unit_forget_bias"]
        super().__init__(given)
        self.unit_forget_bias = unit_forget_bias

    def _initializer_of_bias(self) -> Callable[..., Any] | None:
        return self._bias_with_ones if self.unit_forget_bias else None

    def _bias_with_ones(self, _: Any, *args: Any, **kwargs: Any) -> Tensor:
        parts = (
            (self.bias_initializer, self.units * 5),
            (tf.ones_initializer(), self.units),
            (self.bias_initializer, self.units * 2),
        )
        return tf.concat([make((size,), *args, **kwargs) for make, size in parts], axis=0)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "unit_forget_bias": self.unit_forget_bias}
