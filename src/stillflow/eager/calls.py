"""The kernels of operations that run when they are called, made once and used again.

A kernel depends on the op, its attributes and the types of its inputs (`Call`), on the shapes of
its inputs, and on the values of those that the card asks for: shapes, axes, indices. Kernels that
differ only in these share the op's own state: the stream of a random operation goes on from call to
call.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.eager.eager_tensor import EagerTensor
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import Card, get
from stillflow.graph.constant_value import Dims
from stillflow.graph.dims import num_elements
from stillflow.graph.dtypes import DType
from stillflow.graph.graph import Graph
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.kernel_errors import kind_and_message
from stillflow.runtime.executor.dataflow import kernel_function
from stillflow.runtime.host.threads import with_few_threads
from stillflow.runtime.ir.facts import Facts, PlanNode
from stillflow.runtime.plan.shape_policy import Recent
from stillflow.runtime.resources import Resources

# Kernels that are kept: of all, and for the same shapes by values.
MOST, _MOST_BY_VALUE = 8192, 256
_numbers = itertools.count()


class CallNode(PlanNode):
    """An operation while the kernel for one call is made.

    Attributes:
      reusable: whether the kernel serves other calls too: it holds no state of its own.
      told: positions of inputs whose values the kernel depends on.
    """

    __slots__ = ("held", "reusable", "told")

    is_eager = True

    def __init__(self, op: Operation, facts: Facts, held: Sequence[Any], place: Any) -> None:
        super().__init__(op, facts, place)
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

    def variable_dims(self, index: int) -> Dims:
        """Return a variable's shape, as plans do: it is a part of the kernel's key."""
        held = self.held[index]
        return None if getattr(held, "reshaped", False) else Node.variable_dims(self, index)

    def resource(
        self, create: Any, kind: str = "", name: str | None = None, private: bool = False
    ) -> Any:
        """Return a new object at every call, unless it is shared under a name."""
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


class Kernel:
    """Kernel for inputs of certain types and shapes, and values where they matter.

    Attributes:
      card, attrs, output_types: of the op.
      function: takes and gives run-time values.
      data: what handles among the outputs point to; None where there are none.
      gives: the type of the only output; None where there are other outputs, or handles.
      touches: whether the op writes to inputs, or keeps their memory.
      told: positions of inputs on whose values it depends; None if it serves this call only.
    """

    __slots__ = (
        "attrs", "card", "data", "function", "gives", "output_types", "told", "touches",
    )  # fmt: skip

    def __init__(
        self, call: Call, function: Callable[..., Any], data: Any, told: Sequence[int] | None
    ) -> None:
        self.card, self.attrs, self.output_types = call.card, call.attrs, call.output_types
        self.function, self.data, self.told = function, data, told
        self.gives = call.output_types[0] if len(call.output_types) == 1 and not data else None
        self.touches = bool(call.card.writes or call.card.keeps)


class Call:
    """An op with its attributes and types.

    Args:
      card: the op.
      attrs: its attributes, complete.
      output_types: of its results.
    """

    __slots__ = ("attrs", "card", "name", "output_types")

    def __init__(self, card: Card, attrs: dict[str, Any], output_types: Sequence[DType]) -> None:
        self.card, self.attrs, self.output_types = card, attrs, output_types
        self.name = f"{card.name}_{next(_numbers)}"

    def kernel(self, graph: Any, state: Resources, tensors: Sequence[EagerTensor]) -> Kernel:
        """Return the kernel for the tensors' shapes (and values, where they matter).

        Raises:
          InvalidArgumentError: if the op rejects the inputs.
        """
        inputs = [_stand_in(graph, tensor) for tensor in tensors]
        op = Operation._of_card(
            self.card, graph, self.name, inputs, self.attrs, self.output_types, []
        )
        facts = Facts(state, {})
        place = None if graph.places is None else graph.places.of(op, tensors)
        node = CallNode(op, facts, [tensor._held for tensor in tensors], place)
        check(node)
        function: Callable[..., Any] = _read
        if op.type != "ReadVariableOp":
            function = with_few_threads(kernel_function(op, facts, node), [op], facts)
        data = [(tensor._handle_dims, tensor._handle_dtype) for tensor in op._outputs]
        told = None
        if node.reusable:
            told, node.held = sorted(node.told), ()  # the kernel outlives the first call
        return Kernel(self, function, data if any(dtype for _, dtype in data) else None, told)


class _ByValue(Recent[Any, Kernel]):
    """The kernels for inputs of the same shapes, by the values of those that matter."""

    def __init__(self, told: Sequence[int]) -> None:
        super().__init__(_MOST_BY_VALUE)
        self.told = tuple(told)

    def key(self, tensors: Sequence[EagerTensor]) -> Any:
        return tuple([tensors[index]._content() for index in self.told])


class Kernels(Recent[Any, Kernel | _ByValue]):
    """Kernels that serve more than one call, by their keys."""

    def find(self, key: Any, tensors: Sequence[EagerTensor]) -> Kernel | None:
        """Return the kernel for these tensors, if it was made.

        `key` tells the op and their kinds.
        """
        found = self[key]
        if type(found) is _ByValue:
            return found[found.key(tensors)]
        return found  # type: ignore[return-value]

    def keep(self, key: Any, tensors: Sequence[EagerTensor], kernel: Kernel) -> None:
        """Keep a kernel, unless it serves one call only."""
        if kernel.told is None:
            return
        if not kernel.told:
            self.put(key, kernel)
            return
        found = self.get(key)
        if not isinstance(found, _ByValue) or not set(kernel.told) <= set(found.told):
            found = _ByValue(kernel.told if found is None else range(len(tensors)))
            self.put(key, found)
        found.put(found.key(tensors), kernel)


def check(node: CallNode) -> None:
    """Apply the card's rules to an operation; InvalidArgumentError if they reject it."""
    card = node.op.card
    try:
        if card.check_part is not None:
            card.check_part(node)
        if card.shape_part is not None:
            node.facts.set_dims(node.op, card.shape_part(node))
    except ValueError as error:
        raise errors.invalid_argument(f"{error}") from None


def _read(handle: Any) -> torch.Tensor | Array:
    """Return a variable's value, in memory that is shared until it changes."""
    value = handle.value
    if value is None:
        raise errors.failed_precondition(handle.missing())
    return value.detach() if hasattr(value, "detach") else value.copy()


def _stand_in(graph: Graph, tensor: Tensor) -> Tensor:
    attrs = {"dtype": tensor.dtype, "shape": TensorShape(tensor._dims)}
    op = Operation._of_card(get("Placeholder"), graph, "input", [], attrs, [tensor.dtype], [])
    made = op._outputs[0]
    made._dims = tensor._dims
    made._handle_dims, made._handle_dtype = tensor._handle_dims, tensor._handle_dtype
    return made


def as_eager_error(error: Exception, op_type: str, name: str | None) -> Exception:
    """Return the error of an eager operation with TF's text."""
    kind, message = kind_and_message(error, op_type)
    text = f"{message} [Op:{op_type}]"
    return kind(None, None, text if name is None else f"{text} name: {name}")


def frozen(value: Any) -> Any:
    """Return an attribute's value as part of a key."""
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
