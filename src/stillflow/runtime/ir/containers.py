"""Contents of stacks and tensor arrays that are known before the run.

The backward pass of a loop pops values that the forward pass pushed. Where these are known (a
shape, mostly), the backward pass's own shape arithmetic folds as if there were no stack.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from stillflow.graph.constant_value import Dims, constant_value
from stillflow.graph.dims import relax
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.traits import Access, Flow, HandleKind

if TYPE_CHECKING:
    from stillflow.runtime.plan.trace import Tracer

_HAND_ON: frozenset[Flow | None] = frozenset(("enter", "identity", "switch"))

_CONTAINERS = ("stack", "tensor array")
_PAIR: tuple[Access, Access] = ("push", "pop")

# A stack, or an array with the name of its gradient ("" for the array itself).
Key = tuple[Operation, bytes]


class Containers:
    """Shapes and values of the elements of each stack and array, as traced so far."""

    def __init__(self) -> None:
        self._elements: dict[Key, Dims] = {}
        self._values: dict[Key, Any] = {}
        self._pushed: dict[Key, frozenset[Operation]] = {}

    def save(self) -> tuple[dict[Key, Any], ...]:
        return dict(self._elements), dict(self._values), dict(self._pushed)

    def restore(self, saved: tuple[dict[Key, Any], ...]) -> None:
        """Forget everything recorded after `save`."""
        self._elements, self._values, self._pushed = (dict(part) for part in saved)

    def record(self, key: Key, dims: Dims) -> None:
        known = self._elements.get(key, dims)
        self._elements[key] = relax(known, dims)

    def elements(self, key: Key) -> Dims:
        return self._elements.get(key)

    def push(self, key: Key, op: Operation, dims: Dims, value: Any) -> None:
        self.record(key, dims)
        self._pushed[key] = self._pushed.get(key, frozenset()) | {op}
        if value is not None:
            self._values[key] = value

    def settled(self, key: Key) -> bool:
        """Return True if all operations that push to a stack were traced."""
        return self._pushed.get(key, frozenset()).issuperset(_users(key[0]._outputs[0], "push"))

    def value(self, key: Key) -> Any:
        """Return a stack's content if it is constant and known, else None."""
        return self._values.get(key)


def container_of(tensor: Tensor) -> Key | None:
    """Return the stack or array behind a handle; None where it cannot be told."""
    while tensor.op.card.flow in _HAND_ON:
        tensor = tensor.op._inputs[0]
    op = tensor.op
    if op.card.gives in _CONTAINERS:
        return op, b""
    if op.card.access == "gradient":
        source = container_of(op._inputs[0])
        return None if source is None else (source[0], source[1] + b"/" + op.attrs["source"])
    return None


def _users(tensor: Tensor, access: Access) -> Iterator[Operation]:
    """Yield operations with this access to a handle, in any loop or branch."""
    for op in tensor._consumers:
        if op.card.access == access and op._inputs[0] is tensor:
            yield op
        elif op.card.flow in _HAND_ON:
            for output in op._outputs:
                yield from _users(output, access)


def _hold(tracer: Tracer, handle: Tensor, held: Tensor) -> None:
    """Protect an array's elements from changes as long as the array exists."""
    roots = tracer.values[held].roots
    tracer.held.update(roots)
    name = tracer.values[handle].name
    for value in tracer.values.values():
        if value.name == name:
            value.roots |= roots


def _is_paired(stack: Operation) -> bool:
    """Return True if a stack has only one push and one pop, paired as in loops."""
    sizes = [constant_value(size) for size in stack._inputs]  # old stacks have none
    if any(size is None or size >= 0 for size in sizes):
        return False  # pushing may be one too many
    handle = stack._outputs[0]
    pushes, pops = (sum(1 for _ in _users(handle, access)) for access in _PAIR)
    return pushes == 1 and pops <= 1 and not any(_users(handle, "close"))


def _push(tracer: Tracer, op: Operation) -> None:
    handle, element = op._inputs
    key = container_of(handle)
    guard = tracer.guard_of(op)
    facts = tracer.facts
    if guard is None or key is None:
        tracer.plain(op)
        if guard is not None:
            _hold(tracer, handle, element)
        return
    value = facts.values.get(element)
    if value is not None and _is_paired(key[0]):  # its pop knows it too
        facts.containers.push(key, op, facts.dims(element), value)
        tracer.pass_on(element, op._outputs[0], tracer.values[element], guard)
        return
    facts.containers.push(key, op, facts.dims(element), None)
    tracer.plain(op)
    _hold(tracer, handle, element)


def _pop(tracer: Tracer, op: Operation) -> None:
    key = container_of(op._inputs[0])
    containers = tracer.facts.containers
    guard = tracer.guard_of(op)
    if guard is None or key is None or not containers.settled(key):
        tracer.plain(op)
        return
    value = containers.value(key)
    if value is not None:
        tracer.settle(op, [value], guard)
        return
    tracer.plain(op)
    tracer.facts._dims[op._outputs[0]] = containers.elements(key)


def _write(position: int, drop: int | None) -> Callable[[Tracer, Operation], None]:
    """Return the trace of ops that put input `position` into an array: whole, or as slices.

    `drop` is the number of leading dimensions that elements do not have, None if unknown.
    """

    def trace(tracer: Tracer, op: Operation) -> None:
        key = container_of(op._inputs[0])
        tracer.plain(op)
        if tracer.values[op._outputs[0]].guard is None:
            return
        if key is not None:
            dims = tracer.facts.dims(op._inputs[position])
            element = None if dims is None or drop is None else dims[drop:]
            tracer.facts.containers.record(key, element)
        _hold(tracer, op._inputs[0], op._inputs[position])

    return trace


def _read(lead: int) -> Callable[[Tracer, Operation], None]:
    """Return the trace of ops that give elements, after `lead` dimensions that count them."""

    def trace(tracer: Tracer, op: Operation) -> None:
        tracer.plain(op)
        key = container_of(op._inputs[0])
        tensor = op._outputs[0]
        if key is None or not key[0].attrs.get("identical_element_shapes"):
            return
        dims = tracer.facts.containers.elements(key)
        if dims is None and key[1]:  # a gradient has the shape of its tensor
            dims = tracer.facts.containers.elements((key[0], b""))
        if dims is not None and tracer.values[tensor].guard is not None:
            counts = tracer.facts.dims(op._inputs[1]) if lead else ()
            tracer.facts._dims[tensor] = (*(counts or (None,) * lead), *dims)

    return trace


def _size(tracer: Tracer, op: Operation) -> None:
    """Trace the size of an array that never grows: its initial size.

    So the length of an RNN's output is known, and with it all later shapes.
    """
    key = container_of(op._inputs[0])
    guard = tracer.guard_of(op)
    if guard is not None and key is not None and not key[1]:
        size = tracer.facts.values.get(key[0]._inputs[0])
        steady = key[0].attrs.get("dynamic_size") is False  # a stack has no such attribute
        closed = any(_users(key[0]._outputs[0], "close"))  # such has no size
        if size is not None and steady and not closed and not size.ndim and size >= 0:
            tracer.settle(op, [size], guard)
            return
    tracer.plain(op)


# By the kind of the container, and by the access.
TRACED: dict[tuple[HandleKind | None, Access], Callable[[Tracer, Operation], None]] = {
    ("stack", "push"): _push, ("stack", "pop"): _pop,
    ("tensor array", "write"): _write(2, 0), ("tensor array", "scatter"): _write(2, 1),
    ("tensor array", "read"): _read(0), ("tensor array", "gather"): _read(1),
    ("tensor array", "size"): _size,
    # A part of a value goes into every element, and its size may differ.
    ("tensor array", "split"): _write(1, None),
}  # fmt: skip
