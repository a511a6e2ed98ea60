"""`tf.nn.rnn_cell.DropoutWrapper`."""

from __future__ import annotations

import hashlib
import itertools
import numbers
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow import nest
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape
from stillflow.nn.dropout import dropout_v2
from stillflow.nn.rnn_cell.lstm import LSTMStateTuple
from stillflow.nn.rnn_cell.wrappers import (
    CellWrapper,
    Wrapping,
    function_from_config,
    function_to_config,
)
from stillflow.ops.arrays.concat import concat
from stillflow.ops.math.division import div
from stillflow.ops.math.unary import floor
from stillflow.ops.random.basic import random_uniform
from stillflow.ops.tensor_array.tensor_array import TensorArray

if TYPE_CHECKING:
    from typing_extensions import Self

_FUNCTION_KEYS = ("dropout_fn", "dropout_fn_type", "dropout_fn_module")


class Dropping(Wrapping):
    """Drops elements of the inputs, states and outputs of a cell.

    Args:
      cell: the cell.
      input_keep_prob, output_keep_prob, state_keep_prob: how likely an element is kept: a number
        or a scalar tensor. Of an LSTM's state only `h` is dropped.
      variational_recurrent: whether the same elements are dropped at all time steps and in all
        rows (Gal and Ghahramani, 2016).
      input_size: the sizes of the inputs, for variational dropout of inputs.
      dtype: of inputs, states and outputs, for variational dropout.
      seed: of the random choices.
      dropout_state_filter_visitor: of a part of the state; says (by a bool, or a structure of
        them) what is dropped.

    Raises:
      TypeError: if `cell` is no cell, or the visitor is not callable.
      ValueError: if a probability is out of range, or an argument of variational dropout is
        missing.
    """

    def __init__(
        self,
        cell: Any,
        input_keep_prob: Any = 1.0,
        output_keep_prob: Any = 1.0,
        state_keep_prob: Any = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: Any = None,
        seed: Any = None,
        dropout_state_filter_visitor: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(cell, dtype=dtype, **kwargs)
        visitor = dropout_state_filter_visitor
        if visitor is not None and not callable(visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._dropout_state_filter = visitor or _default_filter
        with name_scope("DropoutWrapperInit"):
            self._input_keep_prob = _probability("input_keep_prob", input_keep_prob)
            self._state_keep_prob = _probability("state_keep_prob", state_keep_prob)
            self._output_keep_prob = _probability("output_keep_prob", output_keep_prob)
        self._variational_recurrent = variational_recurrent
        self._input_size, self._seed = input_size, seed
        self._noise: dict[str, Any] = {}
        if variational_recurrent:
            self._make_noise(dtype)

    def _make_noise(self, dtype: Any) -> None:
        """Draw the noise that decides, at all time steps, which elements are dropped."""
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")

        def noise(where: str, sizes: Any) -> Any:
            def of_size(index: int, size: Any) -> Tensor:
                shape = concat(([1], TensorShape(size).as_list()), 0)
                return random_uniform(shape, seed=self._gen_seed(where, index), dtype=dtype)

            return _enumerated(sizes, of_size, sizes)

        keep = self._input_keep_prob
        if not isinstance(keep, numbers.Real) or keep < 1.0:
            if self._input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, "
                    "input_size must be provided"
                )
            self._noise["input"] = noise("input", self._input_size)
        self._noise["state"] = noise("state", self.cell.state_size)
        self._noise["output"] = noise("output", self.cell.output_size)

    def _gen_seed(self, where: str, index: int) -> int | None:
        """Return the seed of one of the random choices."""
        if self._seed is None:
            return None
        text = f"{self._seed}{where}_{index}".encode()
        return int(hashlib.md5(text).hexdigest()[:8], 16) & 0x7FFFFFFF

    @property
    def wrapped_cell(self) -> Any:
        """The cell inside."""
        return self.cell

    def _dropout(self, values: Any, where: str, keep_prob: Any, which: Any = None) -> Any:
        """Drop elements of `values`; `which` says of which tensors."""
        which = values if which is None else which

        def drop(index: int, chosen: Any, value: Any, *noise: Any) -> Any:
            if chosen is False:
                return value
            if noise:
                return _drop_by(noise[0], value, keep_prob)
            return dropout_v2(value, rate=1.0 - keep_prob, seed=self._gen_seed(where, index))

        noise = [self._noise[where]] if self._variational_recurrent else []
        return _enumerated(which, drop, which, values, *noise)

    def _call_wrapped_cell(
        self, inputs: Any, state: Any, cell_call_fn: Callable[..., Any], **kwargs: Any
    ) -> tuple[Tensor, Any]:
        if _drops(self._input_keep_prob):
            inputs = self._dropout(inputs, "input", self._input_keep_prob)
        output, new_state = cell_call_fn(inputs, state, **kwargs)
        if _drops(self._state_keep_prob):
            which = nest.get_traverse_shallow_structure(self._dropout_state_filter, new_state)
            new_state = self._dropout(new_state, "state", self._state_keep_prob, which)
        if _drops(self._output_keep_prob):
            output = self._dropout(output, "output", self._output_keep_prob)
        return output, new_state

    def get_config(self) -> dict[str, Any]:
        config = {
            "input_keep_prob": self._input_keep_prob,
            "output_keep_prob": self._output_keep_prob,
            "state_keep_prob": self._state_keep_prob,
            "variational_recurrent": self._variational_recurrent,
            "input_size": self._input_size,
            "seed": self._seed,
        }
        if self._dropout_state_filter is not _default_filter:
            function = function_to_config(self._dropout_state_filter)
            config.update(zip(_FUNCTION_KEYS, function, strict=True))
        return self._config(**config)

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Self:
        if "dropout_fn" in config:
            config = dict(config)
            function = function_from_config(config, custom_objects, *_FUNCTION_KEYS)
            del config["dropout_fn"]
            config["dropout_state_filter_visitor"] = function
        return super().from_config(config, custom_objects)


@export("nn.rnn_cell.DropoutWrapper", "contrib.rnn.DropoutWrapper")
class DropoutWrapper(Dropping, CellWrapper):
    __doc__ = f"""{Dropping.__doc__}
    Example:
      >>> cell = tf.contrib.rnn.DropoutWrapper(tf.contrib.rnn.GRUCell(4), output_keep_prob=0.5)
      >>> outputs, state = tf.nn.dynamic_rnn(cell, tf.ones([2, 5, 3]), dtype=tf.float32)
      >>> outputs.shape.as_list(), cell.state_size
      ([2, 5, 4], 4)
    """


def _probability(name: str, value: Any) -> float | Tensor:
    """Return a float if it is known, else a tensor."""
    tensor = convert_to_tensor(value)
    known = static_value(tensor)
    if known is None:
        return tensor
    if known < 0 or known > 1:
        raise ValueError(f"Parameter {name} must be between 0 and 1: {int(known)}")
    return float(known)


def _drops(keep_prob: Any) -> bool:
    return not isinstance(keep_prob, float) or keep_prob < 1


def _drop_by(noise: Any, value: Any, keep_prob: Any) -> Tensor:
    kept = floor(keep_prob + noise)
    result = div(value, keep_prob) * kept
    result.set_shape(value.get_shape())
    return result


def _default_filter(substate: Any) -> Any:
    if isinstance(substate, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(substate, TensorArray)


def _enumerated(shallow: Any, function: Callable[..., Any], *structures: Any) -> Any:
    """Map structures down to `shallow`; `function` gets the number of the call first."""
    numbers_ = itertools.count()
    return nest.map_structure_up_to(
        shallow, lambda *values: function(next(numbers_), *values), *structures
    )
