"""View of one operation for the parts of a card."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from stillflow.graph.constant_value import (
    Dims,
    Known,
    KnownOutside,
    constant_value,
    partial_shape,
)
from stillflow.graph.dims import from_values
from stillflow.graph.evaluate import Evaluated, EvaluatedOutside, evaluated

if TYPE_CHECKING:
    import numpy as np

    from stillflow.graph.dtypes import DType
    from stillflow.graph.operation import Operation, Tensor


# Shapes that TF assembles from the known elements; negative elements are not known.
_READ_IN_PARTS = frozenset(("Shape", "ShapeN", "Pack", "Concat", "ConcatV2", "StridedSlice"))


# Ops whose shape TF infers from values outside of the function that an operation is in.
_LOOKING_OUTSIDE = frozenset(("Fill", "Reshape"))


class Call(NamedTuple):
    """A kernel written as one call: `args` may name the node's input tensors."""

    function: Callable[..., Any] | None  # None hands the only argument on
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Numbers(NamedTuple):
    """An answer of `Card.torch_source`: integers of the host, as Python expressions.

    Attributes:
      texts: one expression for a scalar, a tuple of them for a vector.
    """

    texts: str | tuple[str, ...]


class Handle(NamedTuple):
    """A kernel's answer for ops that stand for session state: variables, queues, tables."""

    state: Any


class Node:
    """An operation while the graph is built: static shapes, constant values, attributes.

    Attributes of the op read as attributes of the node: `node.strides`, `node.T`.
    """

    __slots__ = ("asked", "asked_shapes", "evaluates", "op")

    # True while a plan is made: errors are then worded as the op's kernel words them.
    planning = False
    # True in eager execution: TensorFlow then has no shape rule, only the kernel's checks.
    is_eager = False
    # Whether it may have to draw the same random numbers a second time, seeded or not.
    draws_again = False
    # Whether kernels are to be plain functions of PyTorch, which can be written as source.
    exporting = False
    # Positions of inputs whose gradient nobody wants; a gradient may leave them out.
    skipped: frozenset[int] = frozenset()

    def __init__(self, op: Operation, evaluates: bool = True) -> None:
        self.op = op
        # Whether constant expressions are computed for the sake of their value.
        self.evaluates = evaluates
        # Inputs whose value a shape rule looked at, as it is or read as a shape.
        self.asked: list[int] = []
        self.asked_shapes: list[int] = []

    @property
    def inputs(self) -> list[Tensor]:
        return self.op._inputs

    @property
    def outputs(self) -> list[Tensor]:
        return self.op._outputs

    @property
    def name(self) -> str:
        return self.op.name

    def dims(self, index: int) -> Dims:
        """Dimensions of an input: a tuple with None where unknown, or None for unknown rank."""
        return self.op._inputs[index]._dims

    def out_dims(self, index: int = 0) -> Dims:
        """Dimensions of an output."""
        return self.op._outputs[index]._dims

    def variable_dims(self, index: int) -> Dims:
        """Dimensions of the variable behind an input: a reference, or the handle of a resource."""
        tensor = self.op._inputs[index]
        return self.dims(index) if tensor.dtype._is_ref_dtype else tensor._handle_dims

    def dtype(self, index: int) -> DType:
        """Return the base dtype of an input."""
        return self.op._inputs[index].dtype.base_dtype

    def value(self, index: int) -> np.ndarray | None:
        """Return the value of an input where it is known now, else None."""
        if index not in self.asked:
            self.asked.append(index)
        return self.value_now(self.op._inputs[index])

    def values(self, indices: Iterable[int]) -> list[np.ndarray] | None:
        """Return the values of several inputs; None if one of them is not known now."""
        found = [self.value(index) for index in indices]
        known = [value for value in found if value is not None]
        return known if len(known) == len(found) else None

    def value_now(self, tensor: Tensor) -> np.ndarray | None:
        """Return the value of any tensor where it is known now."""
        return evaluated(tensor) if self.evaluates else constant_value(tensor)

    def shape_value(self, index: int) -> Dims:
        """Return an integer-vector input read as a shape: None for each element not known now."""
        if index not in self.asked_shapes:
            self.asked_shapes.append(index)
        tensor = self.op._inputs[index]
        if tensor.holds_value or tensor.op.type not in _READ_IN_PARTS:
            value = self.value_now(tensor)
            if value is not None and value.ndim == 1:
                return from_values(value.tolist())
        if self.op.type in _LOOKING_OUTSIDE and not self.planning:
            return partial_shape(tensor, EvaluatedOutside if self.evaluates else KnownOutside)
        return partial_shape(tensor, Evaluated if self.evaluates else Known)

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Call:
        """Return a kernel that is one call; input tensors in `args` mean their run-time values."""
        return Call(function, args, kwargs)

    def same(self, index: int = 0) -> Call:
        """Return a kernel that passes an input on unchanged."""
        return Call(None, (self.op._inputs[index],), {})

    def handle(self, state: Any) -> Handle:
        """Return the kernel of an op whose output is a handle to `state`."""
        return Handle(state)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.op.attrs[name]
        except KeyError:
            raise AttributeError(f"op {self.op.type} has no attribute {name!r}") from None


class SkippingNode(Node):
    """An operation whose gradient is wanted for some of its inputs only."""

    __slots__ = ("skipped",)

    def __init__(self, op: Operation, skipped: frozenset[int]) -> None:
        super().__init__(op)
        self.skipped = skipped
