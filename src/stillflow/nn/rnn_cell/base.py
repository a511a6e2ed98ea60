"""`tf.nn.rnn_cell.RNNCell`: the base of all cells."""

from __future__ import annotations

from typing import Any

from stillflow import nest
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.layers.base import Layer
from stillflow.nn.rnn_cell.sizes import zero_state_tensors
from stillflow.ops.arrays.shape import shape
from stillflow.platform import tf_logging
from stillflow.variables.collections import trainable_variables
from stillflow.variables.partitioned import PartitionedVariable
from stillflow.variables.variable_scope import get_variable_scope, variable_scope

ASSERT_LIKE_RNNCELL_ERROR_REGEXP = "is not an RNNCell"
KERNEL, BIAS = "kernel", "bias"


def _has(cell: Any, *names: str) -> bool:
    return any(hasattr(cell, name) for name in names)


def assert_like_rnncell(cell_name: str, cell: Any) -> None:
    """Raise TypeError unless `cell`, the argument `cell_name`, has a cell's interface."""
    needed = (
        (_has(cell, "output_size"), "'output_size' property is missing"),
        (_has(cell, "state_size"), "'state_size' property is missing"),
        (
            _has(cell, "get_initial_state", "zero_state"),
            "either 'zero_state' or 'get_initial_state' method is required",
        ),
        (callable(cell), "is not callable"),
    )
    missing = ", ".join(message for holds, message in needed if not holds)
    if missing:
        raise TypeError(f"The argument {cell_name!r} ({cell}) is not an RNNCell: {missing}.")


def check_dtypes(*values: Any) -> None:
    """Raise ValueError for values that are neither floating-point nor complex."""
    for value in nest.flatten(list(values)):
        dtype = getattr(value, "dtype", value)
        if dtype is None:
            continue
        dtype = dtypes.as_dtype(dtype)
        if not (dtype.is_floating or dtype.is_complex):
            raise ValueError(
                f"RNN cell only supports floating point inputs, but saw dtype: {dtype}"
            )


def warn_of_joined_state(cell: Any) -> None:
    """Says that states that are no tuples are slow."""
    tf_logging.warn(
        "%s: Using a concatenated state is slower and will soon be deprecated.  Use "
        "state_is_tuple=True.",
        cell,
    )


@export("nn.rnn_cell.RNNCell", "contrib.rnn.RNNCell")
class RNNCell(Layer):
    """A function of an input and a state that gives an output and the next state.

    A subclass defines `call(inputs, state)`, `state_size` and `output_size`: numbers or shapes, or
    (nested) tuples of them for a state or output of several tensors.

    Args:
      trainable: whether the cell's variables are trained.
      name: of its variable scope; one made from the class by default.
      dtype: of its variables; that of the inputs by default.
    """

    def __init__(
        self, trainable: bool = True, name: Any = None, dtype: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(trainable=trainable, name=name, dtype=dtype, **kwargs)
        self._is_tf_rnn_cell = True

    def __call__(
        self, inputs: Any, state: Any, scope: Any = None
    ) -> tuple[Tensor | tuple[Tensor, Tensor], Any]:
        """Return the output and the next state.

        Args:
          inputs: [batch, ...] (nested) tensors of one time step.
          state: (nested) tensors [batch, ...] as `state_size` says.
          scope: the variable scope, or its name.
        """
        if scope is not None:
            with variable_scope(scope, custom_getter=self._rnn_get_variable) as scope:
                return super().__call__(inputs, state, scope=scope)
        if not hasattr(self, "rnncell_scope"):
            self.rnncell_scope = variable_scope(
                get_variable_scope(), custom_getter=self._rnn_get_variable
            )
        with self.rnncell_scope:
            return super().__call__(inputs, state)

    def _rnn_get_variable(self, getter: Any, *args: Any, **kwargs: Any) -> Any:
        """Record the variables that `call` makes in scopes inside the cell's."""
        variable = getter(*args, **kwargs)
        first = next(iter(variable)) if isinstance(variable, PartitionedVariable) else variable
        trainable = any(first is other for other in trainable_variables())
        known = self._trainable_weights if trainable else self._non_trainable_weights
        if all(variable is not other for other in known):
            known.append(variable)
        return variable

    @property
    def state_size(self) -> Any:
        """The sizes of the state, without the batch dimension."""
        raise NotImplementedError("Abstract method")

    @property
    def output_size(self) -> Any:
        """The sizes of the output, without the batch dimension."""
        raise NotImplementedError("Abstract method")

    def build(self, _: Any) -> None:
        pass

    def get_initial_state(
        self, inputs: Any = None, batch_size: Any = None, dtype: Any = None
    ) -> Any:
        """Return the zero state for a batch of inputs, or for a batch size and a dtype.

        Raises:
          ValueError: if arguments are missing or contradict each other.
        """
        if inputs is not None:
            batch_size, dtype = self._of_inputs(inputs, batch_size, dtype)
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype cannot be None while constructing initial state: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)

    def _of_inputs(self, inputs: Any, batch_size: Any, dtype: Any) -> tuple[Any, Any]:
        inputs = convert_to_tensor(inputs, name="inputs")
        rows = inputs.shape.dims[0].value
        if batch_size is not None:
            given = static_value(batch_size, partial=True)
            if rows != given:
                raise ValueError(
                    "batch size from input tensor is different from the input param. Input "
                    f"tensor batch: {rows}, batch_size: {batch_size}"
                )
        if dtype is not None and inputs.dtype != dtype:
            raise ValueError(
                "dtype from input tensor is different from the input param. Input tensor dtype: "
                f"{inputs.dtype}, dtype: {dtype}"
            )
        return rows or shape(inputs)[0], inputs.dtype

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a state of zeros.

        Args:
          batch_size: a number or an int32 scalar.
          dtype: of the state.
        """
        with self._zero_state_scope(batch_size):
            return zero_state_tensors(self.state_size, batch_size, dtype)

    def _zero_state_scope(self, batch_size: Any) -> name_scope:
        return name_scope(type(self).__name__ + "ZeroState", values=[batch_size])

    def _config(self, **own: Any) -> dict[str, Any]:
        """Return the configuration of every cell, and a cell's own."""
        return {**super().get_config(), **own}

    def get_config(self) -> dict[str, Any]:
        return super().get_config()


@export("contrib.rnn.LayerRNNCell")
class LayerRNNCell(RNNCell):
    """A cell that makes its variables in `build`, as layers do."""

    def __call__(
        self, inputs: Any, state: Any, scope: Any = None, *args: Any, **kwargs: Any
    ) -> Any:
        """Return the output and the next state; arguments as of `RNNCell`."""
        return Layer.__call__(self, inputs, state, *args, scope=scope, **kwargs)
