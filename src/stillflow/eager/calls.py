"""The kernels of operations that run when they are called, made once and used again.

A kernel depends on the op, its attributes and the types of its inputs (`Call`), on the shapes of
its inputs, and on the values of those that the card asks for: shapes, axes, indices. What differs
only in these shares the op's own state: the stream of a random operation goes on from call to call.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from stillflow import errors
from stillflow.eager.eager_tensor import HANDLES, EagerTensor
from stillflow.graph import dtypes
from stillflow.graph.card import Card, get
from stillflow.graph.constant_value import Dims
from stillflow.graph.dims import num_elements
from stillflow.graph.dtypes import DType
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.runtime.facts import Facts, PlanNode, to_array
from stillflow.runtime.failures import kind_and_message
from stillflow.runtime.resources import Resources
from stillflow.runtime.threads import with_few_threads
from stillflow.runtime.tokens import kernel_function

# Kernels that are kept for one call by shapes, and for the same shapes by values.
_MOST = 256
_numbers = itertools.count()


class CallNode(PlanNode):
    """An operation while the kernel for one call is made.

    Attributes:
      reusable: whether the kernel serves other calls too: it holds no state of its own.
      told: positions of inputs whose values the kernel depends on.
    """

    __slots__ = ("held", "reusable", "told")

    def __init__(self, op: Operation, facts: Facts, held: Sequence[Any]) -> None:
        super().__init__(op, facts)
        self.held = held
        self.reusable = True
        self.told: set[int] = set()
        for tensor, value in zip(op._inputs, held, strict=True):
            if tensor.dtype in _TOLD and num_elements(tensor._dims) <= _FEW:  # type: ignore[operator]
                facts.values[tensor] = value

    def value(self, index: int) -> np.ndarray | None:
        self._tell(index)
        return super().value(index)

    def shape_value(self, index: int) -> Dims:
        self._tell(index)
        return super().shape_value(index)

    def _tell(self, index: int) -> None:
        if self.op._inputs[index] in self.facts.values:
            self.told.add(index)

    def state(self, index: int) -> Any:
        self.reusable = False
        return self.held[index]

    def resource(
        self, create: Any, kind: str = "", name: str | None = None, private: bool = False
    ) -> Any:
        """A new object at every call, unless it is shared under a name."""
        self.reusable = False
        if not self.op.attrs.get("shared_name"):
            return create()
        return super().resource(create, kind, name, private)


# Values of these types are looked at when a kernel is made, if there are few of them: shapes, axes,
# indices, patterns.
_TOLD = frozenset((
    dtypes.int32, dtypes.int64, dtypes.int16, dtypes.int8, dtypes.uint8, dtypes.bool, dtypes.string,
))  # fmt: skip
_FEW = 64

# What runs, and what handles among its outputs point to (None where there are none).
Made = tuple[Callable[..., Any], Any]


class _ByValue:
    """The kernels for inputs of the same shapes, by the values of those that matter."""

    __slots__ = ("kernels", "told")

    def __init__(self, told: Sequence[int]) -> None:
        self.told = tuple(told)
        self.kernels: dict[Any, Made] = {}

    def key(self, held: Sequence[Any]) -> Any:
        return tuple([_value_key(held[index]) for index in self.told])


def _value_key(value: Any) -> Any:
    if type(value) is torch.Tensor and not value.is_cuda:
        return value.numpy().tobytes()
    array = to_array(value)
    return tuple(array.ravel().tolist()) if array.dtype.hasobject else array.tobytes()


class Call:
    """An op with its attributes and types.

    Args:
      card: the op.
      attrs: its attributes, complete.
      output_types: of its results.
    """

    __slots__ = ("attrs", "card", "kernels", "name", "output_types")

    def __init__(self, card: Card, attrs: dict[str, Any], output_types: Sequence[DType]) -> None:
        self.card, self.attrs, self.output_types = card, attrs, output_types
        self.name = f"{card.name}_{next(_numbers)}"
        self.kernels: dict[Any, Made | _ByValue] = {}

    def kernel(
        self, graph: Graph, state: Resources, tensors: Sequence[EagerTensor], held: Sequence[Any]
    ) -> Made:
        """What runs on inputs of the tensors' shapes (and values, where they matter).

        Raises:
          InvalidArgumentError: if the op refuses the inputs.
        """
        shapes = tuple([_shape(tensor) for tensor in tensors])
        found = self.kernels.get(shapes)
        if type(found) is tuple:
            return found
        if found is not None:
            made = found.kernels.get(found.key(held))  # type: ignore[union-attr]
            if made is not None:
                return made
        made, node = self._make(graph, state, tensors, held)
        if node.reusable:
            self._keep(shapes, made, node)
        return made

    def _make(
        self, graph: Graph, state: Resources, tensors: Sequence[EagerTensor], held: Sequence[Any]
    ) -> tuple[Made, CallNode]:
        inputs = [_stand_in(graph, tensor) for tensor in tensors]
        op = Operation._of_card(
            self.card, graph, self.name, inputs, self.attrs, self.output_types, []
        )
        facts = Facts(state, {})
        node = CallNode(op, facts, held)
        check(node)
        function: Callable[..., Any] = _read
        if op.type != "ReadVariableOp":
            function = with_few_threads(kernel_function(op, facts, node), [op], facts)
        data = [(tensor._handle_dims, tensor._handle_dtype) for tensor in op._outputs]
        return (function, data if any(dtype for _, dtype in data) else None), node

    def _keep(self, shapes: Any, made: Made, node: CallNode) -> None:
        if not node.told:
            _put(self.kernels, shapes, made)
            return
        found = self.kernels.get(shapes)
        told = sorted(node.told)
        if not isinstance(found, _ByValue) or not set(told) <= set(found.told):
            found = _ByValue(told if found is None else range(len(node.held)))
            _put(self.kernels, shapes, found)
        _put(found.kernels, found.key(node.held), made)


def _put(kernels: dict[Any, Any], key: Any, value: Any) -> None:
    if len(kernels) >= _MOST:
        kernels.clear()
    kernels[key] = value


def _shape(tensor: EagerTensor) -> Any:
    held = tensor._held
    if type(held) is torch.Tensor:
        return held.shape
    if tensor.dtype in HANDLES and not isinstance(held, np.ndarray):
        return tensor._handle_dims, tensor._handle_dtype
    return held.shape


def check(node: CallNode) -> None:
    """Applies the card's rules to an operation.

    Raises:
      InvalidArgumentError: if they refuse it.
    """
    card = node.op.card
    try:
        if card.check_part is not None:
            card.check_part(node)
        if card.shape_part is not None:
            node.facts.set_dims(node.op, card.shape_part(node))
    except ValueError as error:
        raise errors.InvalidArgumentError(None, None, f"{error}") from None


def _read(handle: Any) -> Any:
    """What a variable holds, in memory that is shared with it until it changes."""
    value = handle.value
    if value is None:
        raise errors.FailedPreconditionError(None, None, handle.missing())
    return value.detach() if hasattr(value, "detach") else value.copy()


def _stand_in(graph: Graph, tensor: Tensor) -> Tensor:
    attrs = {"dtype": tensor.dtype, "shape": TensorShape(tensor._dims)}
    op = Operation._of_card(get("Placeholder"), graph, "input", [], attrs, [tensor.dtype], [])
    made = op._outputs[0]
    made._dims = tensor._dims
    made._handle_dims, made._handle_dtype = tensor._handle_dims, tensor._handle_dtype
    return made


def as_eager_error(error: Exception, op_type: str, name: str | None) -> Exception:
    """What went wrong in an operation that was called, as TF says it."""
    kind, message = kind_and_message(error)
    text = f"{message} [Op:{op_type}]"
    return kind(None, None, text if name is None else f"{text} name: {name}")


def frozen(value: Any) -> Any:
    """An attribute's value as part of a key."""
    if isinstance(value, (list, tuple)):
        return tuple(frozen(item) for item in value)
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, TensorShape):
        return value._dims
    if hasattr(value, "SerializeToString"):
        return type(value).__name__, value.SerializeToString(deterministic=True)
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value
