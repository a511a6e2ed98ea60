"""Values of constant expressions, computed when a shape rule asks for them.

TF's shape functions see the value of any input that depends on constants alone, through any ops.
Most of those ops are integer arithmetic, which cards do in numpy as soon as the op is made
(`card.value`). For the other ops a kernel runs once, and only if the value is requested.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stillflow._hooks import Hook
from stillflow.graph.constant_value import MAX_ELEMENTS, Dims, Known, constant_value
from stillflow.graph.dims import num_elements

if TYPE_CHECKING:
    import numpy as np

    from stillflow.graph.operation import Operation, Tensor

# Runs the kernel of a pure operation; None where it fails or its outputs are large.
compute: Hook[Callable[[Operation], list[np.ndarray] | None]] = Hook("graph.evaluate.compute")

# Ops whose value differs in another run, or exists in some runs only.
_NEVER = frozenset((
    "Placeholder", "PlaceholderV2", "PlaceholderWithDefault", "Merge", "RefMerge", "Switch",
    "RefSwitch", "Enter", "RefEnter", "Exit", "RefExit", "NextIteration", "RefNextIteration",
    "LoopCond",
))  # fmt: skip
_ENTERS = frozenset(("Enter", "RefEnter"))
_OF_SHAPES = frozenset(("Shape", "ShapeN"))


def evaluated(tensor: Tensor) -> np.ndarray | None:
    """Return the value of `tensor` if it depends only on constants and static shapes, else None."""
    if tensor.holds_value:
        return constant_value(tensor)
    op = tensor.op
    if op.type in _ENTERS:  # TF reads the inputs of a loop, but nothing computed from them inside
        return evaluated(op._inputs[0])
    if not _is_known(op) and not op._varies:
        _evaluate(op, set())
    return constant_value(tensor)


def _is_known(op: Operation) -> bool:
    """Return True if the values of all outputs are known; a value part may give only some."""
    return op._values is not None and all(value is not None for value in op._values)


class Evaluated(Known):
    """Known values for `partial_shape` in shape rules."""

    @staticmethod
    def value(tensor: Tensor) -> np.ndarray | None:
        return evaluated(tensor)

    @staticmethod
    def dims(tensor: Tensor) -> Dims:
        return tensor._dims


class EvaluatedOutside(Evaluated):
    """The same, outside of functions too."""

    looks_outside = True


def _evaluate(op: Operation, visited: set[Operation]) -> None:
    """Compute the values of an operation's outputs, as far as they can be known."""
    stack = [op]
    while stack:
        top = stack[-1]
        if _settled(top) or top in visited:
            stack.pop()
            continue
        waiting = [] if _known_by_shapes(top) else _unsettled_inputs(top, visited)
        if waiting is None:
            visited.add(stack.pop())
        elif waiting:
            stack.extend(waiting)
        else:
            visited.add(stack.pop())
            _compute(top)


def _settled(op: Operation) -> bool:
    """Return True if it is decided that the values of `op` are known, or that some of them vary."""
    if _is_known(op) or op._varies:
        return True
    card = op.card
    op._varies = (
        op.type in _NEVER
        or not (card.foldable or _is_harmless(op))
        or card.kernel_part is None
        or not op._inputs
        or any(not _is_small(tensor) for tensor in op._outputs)
    )
    return op._varies


def _is_harmless(op: Operation) -> bool:
    """Return True for an operation whose attributes rule the effect of its kind out."""
    from stillflow.graph.node import Node

    card = op.card
    if card.harmless is None or card.signature.is_stateful:
        return False
    return bool(card.harmless(Node(op, evaluates=False)))


def _is_small(tensor: Tensor) -> bool:
    if tensor.dtype.name in ("resource", "variant"):
        return False
    count = num_elements(tensor._dims)
    return count is None or count <= MAX_ELEMENTS


def _known_by_shapes(op: Operation) -> bool:
    """Return True if static shapes alone determine the values of the op."""
    return op.type in _OF_SHAPES and all(
        tensor._dims is not None and None not in tensor._dims for tensor in op._inputs
    )


def _unsettled_inputs(op: Operation, visited: set[Operation]) -> list[Operation] | None:
    """Return the inputs that have to be looked at first; None if one of them is not known."""
    waiting = []
    for tensor in op._inputs:
        if tensor.holds_value:
            continue
        source = tensor.op
        if source._values is not None and source._values[tensor.value_index] is not None:
            continue
        if source._varies:
            op._varies = op.type not in _OF_SHAPES  # a static shape may become known
            return None
        if source in visited:
            return None  # a static shape that may become known
        waiting.append(source)
    return waiting


def _compute(op: Operation) -> None:
    """Run the value part and, where that is not enough, the kernel if the inputs are known."""
    from stillflow.graph.node import Node

    if op.card.value_part is not None:
        value = op.card.value_part(Node(op, evaluates=False))
        if value is not None:
            values: list[Any] = list(value) if isinstance(value, (list, tuple)) else [value]
            if any(array is not None for array in values):
                op._values = values
    if _is_known(op):
        return
    arrays = [constant_value(tensor) for tensor in op._inputs]
    if all(array is not None and array.size <= MAX_ELEMENTS for array in arrays):
        computed = compute.value(op)
        op._values = op._values if computed is None else computed
    op._varies = not _is_known(op) and op.type not in _OF_SHAPES
