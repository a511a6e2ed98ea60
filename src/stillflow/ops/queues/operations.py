"""Ops on queues: QueueEnqueue, QueueDequeueMany, QueueClose, QueueSize and the like."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow import errors
from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import Card, op
from stillflow.graph.constant_value import Dims
from stillflow.graph.dtypes import cpp_name
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.traits import Access
from stillflow.ops.queues.attempts import Begun
from stillflow.ops.queues.queue import Queue

_PUT = "components: [Tcomponents])\nTcomponents: list(type) >= 1\ntimeout_ms: int = -1"
_TAKEN = "-> components: [component_types]\ncomponent_types: list(type) >= 1\ntimeout_ms: int = -1"
_KEPT = tuple(range(1, 64))  # all components

# By op: its signature behind the handle, and its access to the queue.
_OPS: dict[str, tuple[str, Access | None]] = {
    "QueueEnqueue": (f", {_PUT}", "put"),
    "QueueEnqueueMany": (f", {_PUT}", "put"),
    "QueueDequeue": (f") {_TAKEN}", "take"),
    "QueueDequeueMany": (f", n: int32) {_TAKEN}", "take"),
    "QueueDequeueUpTo": (f", n: int32) {_TAKEN}", "take"),
    "QueueClose": (")\ncancel_pending_enqueues: bool = false", "close"),
    "QueueIsClosed": (") -> is_closed: bool", None),
    "QueueSize": (") -> size: int32", "size"),
}


def _card(kind: str, version: str) -> Card:
    handle = "handle: resource" if version else "handle: &string"
    signature, access = _OPS[kind]
    of_one = not kind.endswith(("Many", "UpTo"))
    return op(
        f"{kind}{version}({handle}{signature}" + ("\nflags: stateful" if version else ""),
        devices="host first" if version and of_one else "any",
        handle="queue",
        access=access,
        keeps=_KEPT if kind == "QueueEnqueue" else (),
        differentiable=False,
        effect="state",
    )


cards: dict[str, Card] = {
    kind + version: _card(kind, version) for kind in _OPS for version in ("", "V2")
}
queue_enqueue_op = cards["QueueEnqueue"]
queue_enqueue_v2_op = cards["QueueEnqueueV2"]
queue_enqueue_many_v2_op = cards["QueueEnqueueManyV2"]
queue_dequeue_op = cards["QueueDequeue"]
queue_dequeue_v2_op = cards["QueueDequeueV2"]
queue_dequeue_many_v2_op = cards["QueueDequeueManyV2"]
queue_dequeue_up_to_v2_op = cards["QueueDequeueUpToV2"]
queue_close_op = cards["QueueClose"]
queue_close_v2_op = cards["QueueCloseV2"]
queue_is_closed_op = cards["QueueIsClosed"]
queue_is_closed_v2_op = cards["QueueIsClosedV2"]
queue_size_op = cards["QueueSize"]
queue_size_v2_op = cards["QueueSizeV2"]


# ---- Shapes: those of the queue, where the plan knows it.


def _scalar(node: Node) -> Dims:
    return ()


def _queue_of(node: Any) -> Queue | None:
    found = node.state(0) if node.planning else None
    return found if isinstance(found, Queue) else None


def _dequeue_shape(node: Node) -> list[Dims]:
    queue = _queue_of(node)
    return list(queue.shapes) if queue and queue.shapes else [None] * len(node.outputs)


def _batch_shape(node: Node, size: int | None) -> list[Dims]:
    queue = _queue_of(node)
    if not queue or not queue.shapes:
        return [None] * len(node.outputs)
    return [dims_lib.concat((size,), shape) for shape in queue.shapes]


def _dequeue_many_shape(node: Node) -> list[Dims]:
    count = node.value(1)
    if count is None or count.ndim:
        return _batch_shape(node, None)
    if count < 0 and not node.planning and node.op.type.endswith("V2"):
        raise ValueError(f"Input 'n' must be >= 0, but is {count}")
    return _batch_shape(node, int(count) if count >= 0 else None)


# ---- Kernels


def _check_types(node: Any, types: Sequence[Any], taking: bool) -> Callable[..., Any]:
    """Return a check of an op's types against those of its queue."""
    wanted = [dtype.base_dtype for dtype in types]
    names = [_type_name(tensor.dtype) for tensor in node.inputs]
    outputs = [cpp_name(dtype) for dtype in wanted] if taking else []

    def check(queue: Queue) -> None:
        if queue.dtypes == wanted:
            return
        theirs = [cpp_name(dtype.base_dtype) for dtype in queue.dtypes]
        expected = (names, theirs) if taking else ([names[0], *theirs], [])
        raise errors.invalid_argument(
            f"Signature mismatch, have: {', '.join(names)}->{', '.join(outputs)} expected: "
            f"{', '.join(expected[0])}->{', '.join(expected[1])}"
        )

    return check


def _type_name(dtype: Any) -> str:
    name = cpp_name(dtype.base_dtype)
    return f"{name}_ref" if dtype._is_ref_dtype else name


def _check_timeout(node: Node) -> None:
    if node.op.attrs.get("timeout_ms", -1) != -1:
        raise ValueError("Timeout not supported yet.")


def _enqueue_kernel(node: Any) -> Callable[..., Any]:
    _check_timeout(node)
    check, waits = _check_types(node, node.Tcomponents, False), node.waits()
    put = Queue.enqueue_many if "Many" in node.op.type else Queue.enqueue
    submit = Begun.leave if node.only_begins else None

    def enqueue(queue: Queue, *components: Any) -> None:
        check(queue)
        put(queue, components, waits, submit)

    return enqueue


def _dequeue_kernel(node: Any) -> Callable[..., Any]:
    _check_timeout(node)
    check, waits = _check_types(node, node.component_types, True), node.waits()
    bare = len(node.outputs) == 1

    def dequeue(queue: Queue) -> Any:
        check(queue)
        element = queue.dequeue(waits)
        return element[0] if bare else element

    return dequeue


def _dequeue_many_kernel(node: Any) -> Callable[..., Any]:
    _check_timeout(node)
    check, waits = _check_types(node, node.component_types, True), node.waits()
    bare, fewer = len(node.outputs) == 1, "UpTo" in node.op.type

    def dequeue_many(queue: Queue, n: Any) -> torch.Tensor | tuple[torch.Tensor | Array, ...]:
        check(queue)
        batch = queue.dequeue_many(int(n), waits, fewer)
        return batch[0] if bare else batch

    return dequeue_many


def _close_kernel(node: Any) -> Callable[..., Any]:
    cancel, waits = node.cancel_pending_enqueues, node.waits()
    return lambda queue: queue.close(cancel, waits)


def _is_closed_kernel(node: Node) -> Callable[..., Any]:
    return lambda queue: torch.tensor(queue.closed)


def _size_kernel(node: Node) -> Callable[..., Any]:
    return lambda queue: torch.tensor(queue.size(), dtype=torch.int32)


_PARTS: dict[str, tuple[Any, Any]] = {
    "QueueEnqueue": (None, _enqueue_kernel),
    "QueueEnqueueMany": (None, _enqueue_kernel),
    "QueueDequeue": (_dequeue_shape, _dequeue_kernel),
    "QueueDequeueMany": (_dequeue_many_shape, _dequeue_many_kernel),
    "QueueDequeueUpTo": (lambda node: _batch_shape(node, None), _dequeue_many_kernel),
    "QueueClose": (None, _close_kernel),
    "QueueIsClosed": (_scalar, _is_closed_kernel),
    "QueueSize": (_scalar, _size_kernel),
}
for _kind, (_shape, _kernel) in _PARTS.items():
    for _version in ("", "V2"):
        if _shape is not None:
            cards[_kind + _version].shape(_shape)
        cards[_kind + _version].kernel(_kernel)
