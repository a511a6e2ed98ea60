"""`tf.keras.layers.RNN`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import stillflow as tf
from stillflow import nest
from stillflow.graph.export import export, redefinable
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.keras.backend.rnn import rnn
from stillflow.keras.backend.session import batch_set_value, set_value
from stillflow.keras.backend.variables import is_keras_tensor, zeros
from stillflow.keras.layers.recurrent.cells import StackedRNNCells
from stillflow.keras.layers.recurrent.states import is_multiple, sizes_of, takes, zero_states
from stillflow.layers.base_layer import Layer
from stillflow.layers.input_spec import InputSpec
from stillflow.layers.node import int_shape
from stillflow.train.tracking.base import no_automatic_dependency_tracking

_CONFIG = (
    "return_sequences", "return_state", "go_backwards", "stateful", "unroll", "time_major",
)  # fmt: skip


@export("keras.layers.RNN")
class RNN(Layer):
    """A cell along time.

    Args:
      cell: a cell of Keras or `tf.nn.rnn_cell`, or a list of cells one after another.
      return_sequences: whether the output is that of all steps, not only of the last one.
      return_state: whether the last states come after the output.
      go_backwards: whether to begin with the last step.
      stateful: whether the last states are the first ones of the next batch.
      unroll: whether the steps are put into the graph one by one.
      time_major: whether inputs and outputs are [time, batch, ...].
      zero_output_for_mask: whether masked outputs are zeros.

    Raises:
      ValueError: if `cell` is none.
    """

    def __init__(
        self,
        cell: Any,
        return_sequences: bool = False,
        return_state: bool = False,
        go_backwards: bool = False,
        stateful: bool = False,
        unroll: bool = False,
        time_major: bool = False,
        **kwargs: Any,
    ) -> None:
        if isinstance(cell, (list, tuple)):
            cell = StackedRNNCells(cell)
        if not hasattr(cell, "call"):
            raise ValueError("`cell` should have a `call` method. The RNN was passed:", cell)
        if not hasattr(cell, "state_size"):
            raise ValueError(
                "The RNN cell should have an attribute `state_size` (tuple of integers, one "
                "integer per RNN state)."
            )
        self.zero_output_for_mask = kwargs.pop("zero_output_for_mask", False)
        if "input_shape" not in kwargs and {"input_dim", "input_length"} & set(kwargs):
            kwargs["input_shape"] = kwargs.pop("input_length", None), kwargs.pop("input_dim", None)
        super().__init__(**kwargs)
        self.cell = cell
        self.return_sequences, self.return_state = return_sequences, return_state
        self.go_backwards, self.stateful = go_backwards, stateful
        self.unroll, self.time_major = unroll, time_major
        self.supports_masking = True
        self.input_spec = None
        self.state_spec: Any = None
        self.constants_spec: Any = None
        self._states: Any = None
        self._num_constants = 0

    @property
    def states(self) -> Any:
        """The states that are kept between batches, None where there is none yet."""
        if self._states is not None:
            return self._states
        none = nest.map_structure(lambda _: None, self.cell.state_size)
        return none if nest.is_sequence(self.cell.state_size) else [none]

    @states.setter
    @no_automatic_dependency_tracking
    def states(self, states: Any) -> None:
        self._states = states

    @property
    def _state_sizes(self) -> list[int] | tuple[int | list[int], ...]:
        size = self.cell.state_size
        return size if is_multiple(size) else [size]

    # ---- shapes

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape of the output; a list with those of the states if these are given."""
        if isinstance(input_shape, list):
            input_shape = input_shape[0]
        try:
            shape = as_shape(input_shape)
        except (ValueError, TypeError):
            shape = as_shape(nest.flatten(input_shape)[0])
        batch, time = shape[0], shape[1]
        if self.time_major:
            batch, time = time, batch
        front = [batch]
        if self.return_sequences:
            front = [time, batch] if self.time_major else [batch, time]

        def of_output(size: Any) -> TensorShape:
            return TensorShape([*front, *sizes_of(size)])

        if getattr(self.cell, "output_size", None) is not None:
            outputs = nest.flatten(nest.map_structure(of_output, self.cell.output_size))
        else:
            outputs = [of_output(self._state_sizes[0])]
        if self.return_state:
            states = [TensorShape([batch, *sizes_of(x)]) for x in nest.flatten(self._state_sizes)]
            return [*outputs, *states]
        return outputs[0] if len(outputs) == 1 else outputs

    def compute_mask(self, inputs: Any, mask: Any = None) -> Tensor | list[None] | None:
        """Return the mask of the output; none of the states."""
        mask = nest.flatten(mask)[0] if self.return_sequences else None
        return [mask] + [None] * len(self.states) if self.return_state else mask

    # ---- building

    def build(self, input_shape: Any) -> None:
        """Build the cell."""
        if isinstance(input_shape, list):
            input_shape = input_shape[0]
        structure: Any = input_shape
        try:
            structure = as_shape(input_shape)
        except (ValueError, TypeError):
            pass
        if nest.is_sequence(structure):
            spec = nest.map_structure(self._spec_of, structure)
            step = nest.map_structure(self._step_shape, structure)
        else:
            spec, step = self._spec_of(structure), self._step_shape(structure)
        if self.input_spec is not None:
            self.input_spec[0] = spec
        else:
            self.input_spec = spec if isinstance(spec, list) else [spec]
        if isinstance(self.cell, Layer) and not self.cell.built:
            self.cell.build(step)
        sizes = list(self._state_sizes)
        if self.state_spec is not None:
            self._check_state_spec(sizes)
        else:
            self.state_spec = nest.map_structure(
                lambda size: InputSpec(shape=[None, *self._state_shape(size)]), sizes
            )
        if self.stateful:
            self.reset_states()
        self.built = True

    def _state_shape(self, size: Any) -> list[int | None]:
        """Return the shape of a state of this size, without the batch."""
        return sizes_of(size)

    def _spec_of(self, shape: Any) -> InputSpec:
        """Return the specification of inputs: of any length, and any batch size unless stateful."""
        sizes = enumerate(as_shape(shape).as_list())
        time = 0 if self.time_major else 1
        free = {time} if self.stateful else {0, 1}
        return InputSpec(shape=tuple(None if axis in free else size for axis, size in sizes))

    def _step_shape(self, shape: Any) -> tuple[Any, ...]:
        sizes = tuple(as_shape(shape).as_list())
        return sizes[1:] if self.time_major else (sizes[0], *sizes[2:])

    def _check_state_spec(self, sizes: Any) -> None:
        specs, flat = nest.flatten(self.state_spec), nest.flatten(sizes)
        fits = len(specs) == len(flat) and all(
            TensorShape(spec.shape[1:]).is_compatible_with(as_shape(size))
            for spec, size in zip(specs, flat, strict=True)
        )
        if not fits:
            raise ValueError(
                "An `initial_state` was passed that is not compatible with `cell.state_size`. "
                # TensorFlow shows the class that its layers keep lists in.
                f"Received `state_spec`={self.state_spec}; however `cell.state_size` "
                f"is {sizes}"
            )

    # ---- calling

    def __call__(
        self, inputs: Any, initial_state: Any = None, constants: Any = None, **kwargs: Any
    ) -> Tensor | list[Tensor | list[Tensor]]:
        """Call the layer.

        Args:
          inputs: [batch, time, ...]; a list may have the initial states and constants after it.
          initial_state: the first states; zeros, or what was kept, by default.
          constants: tensors that the cell gets in all steps.
          **kwargs: mask and training.

        Raises:
          ValueError: if only some of the states come from layers of Keras.
        """
        inputs, initial_state, constants = standardize_arguments(
            inputs, initial_state, constants, self._num_constants
        )
        if initial_state is None and constants is None:
            return super().__call__(inputs, **kwargs)
        more: list[Any] = []
        specs: list[Any] = []
        if initial_state is not None:
            more += initial_state
            self.state_spec = nest.map_structure(_spec, initial_state)
            specs += self.state_spec
        if constants is not None:
            more += constants
            self.constants_spec = [_spec(constant) for constant in constants]
            self._num_constants = len(constants)
            specs += self.constants_spec
        of_layers = {is_keras_tensor(x) for x in nest.flatten(more)}
        if len(of_layers) > 1:
            raise ValueError(
                "The initial state or constants of an RNN layer cannot be specified with a mix of "
                'Keras tensors and non-Keras tensors (a "Keras tensor" is a tensor that was '
                "returned by a Keras layer, or by `Input`)"
            )
        if not of_layers.pop():
            given = {"initial_state": initial_state, "constants": constants}
            kwargs.update((key, value) for key, value in given.items() if value is not None)
            return super().__call__(inputs, **kwargs)
        own = nest.map_structure(lambda _: None, inputs)
        self.input_spec = [*(own if isinstance(own, list) else [own]), *specs]
        output = super().__call__([inputs, *more], **kwargs)
        self.input_spec = self.input_spec[: -len(specs)]
        return output

    @redefinable
    def call(
        self,
        inputs: Any,
        mask: Any = None,
        training: Any = None,
        initial_state: Any = None,
        constants: Any = None,
    ) -> Tensor | list[Tensor | list[Tensor]]:
        """Return the output; a list with the states if these are given."""
        inputs, initial_state, constants = self._process(inputs, initial_state, constants)
        mask = nest.flatten(mask)[0] if mask is not None else None
        shape = int_shape(nest.flatten(inputs)[0]) or ()
        if self.unroll and shape[0 if self.time_major else 1] is None:
            raise ValueError(_UNKNOWN_TIME)
        last, outputs, states = rnn(
            self._step(training, bool(constants)), inputs, initial_state, constants=constants,
            go_backwards=self.go_backwards, mask=mask, unroll=self.unroll,
            time_major=self.time_major, zero_output_for_mask=self.zero_output_for_mask,
            input_length=self._most_steps(shape),
        )  # fmt: skip
        if self.stateful:
            pairs = zip(nest.flatten(self.states), nest.flatten(states), strict=True)
            self.add_update([tf.assign(kept, new) for kept, new in pairs])
        output = outputs if self.return_sequences else last
        if not self.return_state:
            return output
        front = output if isinstance(output, list) else [output]
        return front + (list(states) if isinstance(states, (list, tuple)) else [states])

    def _most_steps(self, shape: Any) -> Any:
        """Return a bound of the loop besides the length of inputs of this shape."""
        return None

    def _step(self, training: Any, has_constants: bool) -> Callable[..., Any]:
        cell, count = self.cell, self._num_constants
        kwargs = {"training": training} if takes(cell, "training") else {}
        if has_constants and not takes(cell, "constants"):
            raise ValueError("RNN cell does not support constants")
        unwrapped = getattr(cell, "_is_tf_rnn_cell", None) is not None

        def step(inputs: Any, states: Any) -> tuple[Any, Any]:
            more: dict[str, Any] = {}
            if has_constants:
                more["constants"], states = states[-count:], states[:-count]
            states = states[0] if len(states) == 1 and unwrapped else states
            output, new_states = cell.call(inputs, states, **more, **kwargs)
            return output, new_states if nest.is_sequence(new_states) else [new_states]

        return step

    def _process(self, inputs: Any, initial_state: Any, constants: Any) -> tuple[Any, Any, Any]:
        """Return inputs, first states and constants, which a list of inputs may contain."""
        if isinstance(inputs, list):
            end = len(inputs) - self._num_constants
            initial_state = inputs[1:end] or None
            constants = inputs[end:] if self._num_constants else constants
            inputs = inputs[0]
        if initial_state is None:
            initial_state = self.states if self.stateful else self.get_initial_state(inputs)
        if len(initial_state) != len(self.states):
            raise ValueError(
                f"Layer has {len(self.states)} states but was passed {len(initial_state)} initial "
                "states."
            )
        return inputs, initial_state, constants

    def get_initial_state(self, inputs: Any) -> list[Any]:
        """Return the first states for inputs."""
        inputs = nest.flatten(inputs)[0]
        batch = tf.shape(inputs)[1 if self.time_major else 0]
        own = getattr(self.cell, "get_initial_state", None)
        if own:
            state = own(inputs=None, batch_size=batch, dtype=inputs.dtype)
        else:
            state = zero_states(batch, self.cell.state_size, inputs.dtype)
        return list(state) if nest.is_sequence(state) else [state]

    def reset_states(self, states: Any = None) -> None:
        """Set the states that are kept between batches.

        Args:
          states: arrays; zeros by default.

        Raises:
          AttributeError: if no states are kept.
          ValueError: if the batch size is not known, or arrays do not fit.
        """
        if not self.stateful:
            raise AttributeError("Layer must be stateful.")
        shape_of = self._kept_shapes()
        if nest.flatten(self.states)[0] is None:
            made = nest.map_structure(lambda size: zeros(shape_of(size)), self.cell.state_size)
            self.states = made if nest.is_sequence(made) else [made]
        elif states is None:
            sizes = nest.flatten(self.cell.state_size)
            for state, size in zip(nest.flatten(self.states), sizes, strict=True):
                set_value(state, np.zeros(shape_of(size)))
        else:
            self._set_states(nest.flatten(states), states)

    def _kept_shapes(self) -> Callable[[Any], list[Any]]:
        """Return a function from a state's size to the shape of its kept form."""
        shape = None if self.input_spec is None else nest.flatten(self.input_spec[0])[0].shape
        batch = None if shape is None else shape[1 if self.time_major else 0]
        if not batch:
            raise ValueError(_UNKNOWN_BATCH)
        return lambda size: [batch, *sizes_of(size)]

    def _expected(self, state: Any) -> tuple[Any, Any]:
        """Return the expected form of a state's value, for messages."""
        return state.shape.as_list()[0], state

    def _set_states(self, values: list[Any], given: Any) -> None:
        kept = nest.flatten(self.states)
        if len(values) != len(kept):
            raise ValueError(
                f"Layer {self.name} expects {len(kept)} states, but it received {len(values)} "
                f"state values. Input received: {given}"
            )
        for i, (value, state) in enumerate(zip(values, kept, strict=True)):
            if value.shape != tuple(state.shape.as_list()):
                raise ValueError(
                    f"State {i} is incompatible with layer {self.name}: expected "
                    f"shape={self._expected(state)}, found shape={value.shape}"
                )
        batch_set_value(list(zip(kept, values, strict=True)))

    # ---- configuration

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        config = {name: getattr(self, name) for name in _CONFIG}
        if self._num_constants:
            config["num_constants"] = self._num_constants
        if self.zero_output_for_mask:
            config["zero_output_for_mask"] = self.zero_output_for_mask
        cell = {"class_name": type(self.cell).__name__, "config": self.cell.get_config()}
        return {**super().get_config(), **config, "cell": cell}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> RNN:
        """Return the layer that `get_config` made `config` of."""
        from stillflow.keras.layers.serialization import deserialize

        cell = deserialize(config.pop("cell"), custom_objects=custom_objects)
        count = config.pop("num_constants", 0)
        layer = cls(cell, **config)
        layer._num_constants = count
        return layer


def _spec(x: Any) -> InputSpec:
    return InputSpec(shape=int_shape(x))


def standardize_arguments(
    inputs: Any, initial_state: Any, constants: Any, num_constants: int
) -> tuple[Any, Any, Any]:
    """Return inputs, a list of first states or None, a list of constants or None.

    `inputs` may be a list that has the others after the inputs.
    """
    if isinstance(inputs, list):
        assert initial_state is None and constants is None
        if num_constants:
            inputs, constants = inputs[:-num_constants], inputs[-num_constants:]
        initial_state = inputs[1:] or None
        inputs = inputs[0]

    def as_list(x: Any) -> list[Tensor] | None:
        if x is None or isinstance(x, list):
            return x
        return list(x) if isinstance(x, tuple) else [x]

    return inputs, as_list(initial_state), as_list(constants)


_UNKNOWN_TIME = (
    "Cannot unroll a RNN if the time dimension is undefined. \n- If using a Sequential model, "
    "specify the time dimension by passing an `input_shape` or `batch_input_shape` argument to "
    "your first layer. If your first layer is an Embedding, you can also use the `input_length` "
    "argument.\n- If using the functional API, specify the time dimension by passing a `shape` or "
    "`batch_shape` argument to your Input layer."
)
_UNKNOWN_BATCH = (
    "If a RNN is stateful, it needs to know its batch size. Specify the batch size of your input "
    "tensors: \n- If using a Sequential model, specify the batch size by passing a "
    "`batch_input_shape` argument to your first layer.\n- If using the functional API, specify the "
    "batch size by passing a `batch_shape` argument to your Input layer."
)
