"""Elimination of operations with the same result as earlier ones.

Programs repeat themselves more than they look: a wide and deep model prepares the ids of every
feature column once for its linear part and once for its embeddings. Such an operation is not run;
its results are those of the first, as TensorFlow's optimizer of graphs has it too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillflow.graph.dims import num_elements
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.ir.steps import Guard, Step, Value

if TYPE_CHECKING:
    from stillflow.runtime.plan.trace import Tracer

# A program that computes large activations again, on purpose, wants their memory free in between.
_MOST_NUMBERS = 1 << 14
# Constants up to this size are compared by value.
_MOST_COMPARED = 64


class Duplicates:
    """Common subexpressions of a plan's operations.

    Args:
      tracer: traces the operations, with their shapes and values.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._facts, self._values, self._constants = tracer.facts, tracer.values, tracer.constants
        self._memory = tracer.memory
        self._known: dict[Any, list[tuple[Operation, Step]]] = {}
        self._keys: dict[str, Any] = {}  # of values, by name

    def key(self, op: Operation, guard: Guard) -> Any:
        """Return a key that is equal for operations of the same result; None if each has to run."""
        if not self._may_repeat(op):
            return None
        return op.type, guard, *(self._same(self._values[tensor].name) for tensor in op._inputs)

    def find(self, key: Any, op: Operation) -> tuple[Operation, Step] | None:
        """Return the earlier operation with the same result and guard, and its step."""
        for earlier, step in self._known.get(key, ()):
            if _settings(earlier) == _settings(op):
                return earlier, step
        return None

    def note(self, key: Any, op: Operation, step: Step) -> None:
        """Keep an operation whose results may be wanted again, and the step that runs it."""
        if step.op is op:
            self._known.setdefault(key, []).append((op, step))

    def _may_repeat(self, op: Operation) -> bool:
        return (
            op.card.foldable
            and bool(op._inputs)
            and all(self._is_light(tensor) for tensor in op._outputs)
            and all(self._stays(self._values[tensor]) for tensor in op._inputs)
        )

    def _stays(self, value: Value) -> bool:
        return not value.is_handle and not self._memory.may_change(value.roots)

    def _is_light(self, tensor: Tensor) -> bool:
        if tensor in self._facts.fed:
            return False
        if not tensor.dtype.is_floating:
            return True
        size = num_elements(self._facts.dims(tensor))
        return size is not None and size <= _MOST_NUMBERS

    def _same(self, name: str) -> str | tuple[str, tuple[Any, ...], str]:
        """Return a key that is equal for equal values: a name, or a small constant's value."""
        found = self._keys.get(name)
        if found is None:
            value: Any = self._constants.get(name)
            found = name
            if hasattr(value, "is_cpu") and value.numel() <= _MOST_COMPARED:
                found = value.dtype, value.shape, repr(value.tolist())
            self._keys[name] = found
        return found


def _settings(op: Operation) -> dict[str, Any]:
    """Return the attributes that determine the result.

    Others determine its device and its shape.
    """
    return {name: value for name, value in op.attrs.items() if not name.startswith("_")}
