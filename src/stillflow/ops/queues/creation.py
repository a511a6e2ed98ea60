"""Ops that make queues: FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue, PriorityQueue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow import errors
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.card import Card, op
from stillflow.graph.constant_value import Dims
from stillflow.graph.dims import shape_text
from stillflow.graph.dtypes import cpp_name
from stillflow.graph.node import Handle, Node
from stillflow.ops.queues.attempts import private_name
from stillflow.ops.queues.queue import UNBOUNDED, Queue
from stillflow.ops.queues.stores import FifoStore, PriorityStore, ShuffleStore

_TYPES = {
    "PriorityQueue": "component_types: list(type) >= 0 = []\nshapes: list(shape) >= 0",
}
_USUAL_TYPES = "component_types: list(type) >= 1\nshapes: list(shape) >= 0 = []"
_MORE = {
    "RandomShuffleQueue": "min_after_dequeue: int = 0\nseed: int = 0\nseed2: int = 0\n",
}


def _card(kind: str, version: str) -> Card:
    handle = "resource" if version else "&string"
    return op(
        f"{kind}{version}() -> handle: {handle}\n{_TYPES.get(kind, _USUAL_TYPES)}\n"
        f"capacity: int = -1\n{_MORE.get(kind, '')}"
        'container: string = ""\nshared_name: string = ""\nflags: stateful',
        handle="queue",
        gives="queue",
        differentiable=False,
    )


def _shapes(node: Node) -> list[Dims]:
    return [None if s.ndims is None else tuple(s.as_list()) for s in node.op.attrs["shapes"]]


def _fifo(node: Node, name: str) -> Queue:
    shapes = _shapes(node)
    _check_full("FIFOQueue", shapes)
    _check_count(node.component_types, shapes, needed=False)
    return Queue("FIFOQueue", name, node.component_types, shapes, node.capacity, FifoStore())


def _padding(node: Node, name: str) -> Queue:
    shapes = _shapes(node)
    _check_count(node.component_types, shapes, needed=True)
    return Queue(
        "PaddingFIFOQueue", name, node.component_types, shapes, node.capacity, FifoStore(),
        pads=True,
    )  # fmt: skip


def _shuffle(node: Node, name: str) -> Queue:
    shapes = _shapes(node)
    _check_full("RandomShuffleQueue", shapes)
    _check_count(node.component_types, shapes, needed=False)
    store = ShuffleStore(node.min_after_dequeue, node.seed, node.seed2)
    return Queue("RandomShuffleQueue", name, node.component_types, shapes, node.capacity, store)


def _priority(node: Node, name: str) -> Queue:
    shapes = _shapes(node)
    types = [dtypes.int64, *node.component_types]
    shapes = [(), *shapes] if shapes else ([()] if len(types) == 1 else [])
    return Queue("PriorityQueue", name, types, shapes, node.capacity, PriorityStore())


def _check_full(kind: str, shapes: Sequence[Dims]) -> None:
    for shape in shapes:
        if not dims_lib.is_known(shape):
            raise ValueError(f"{kind} takes fully defined shapes only, not {shape}")


def _check_count(types: Sequence[Any], shapes: Sequence[Dims], needed: bool) -> None:
    if len(types) == len(shapes) or (not shapes and not needed):
        return
    if needed:
        raise ValueError(
            "Shapes must be provided for all components, but received "
            f"{len(types)} dtypes and {len(shapes)} shapes."
        )
    raise ValueError(
        "Different number of component types.  "
        f"Types: {types_text(types)}, Shapes: {shapes_text(shapes)}"
    )


def _check_reserved(node: Node) -> None:
    """Check the attributes of a RandomShuffleQueue."""
    reserved = node.op.attrs.get("min_after_dequeue")
    if reserved is None:
        return
    capacity = UNBOUNDED if node.capacity < 0 else node.capacity
    if reserved < 0:
        raise ValueError(f"min_after_dequeue {reserved} must be >= 0")
    if reserved >= capacity:
        raise ValueError(f"min_after_dequeue {reserved} must be < capacity {capacity}")


# ---- Queues shared by name must be alike.


def _check_shared(node: Node, queue: Queue) -> None:
    """Raise InvalidArgumentError for a queue that another op made with other attributes."""
    kind = node.op.type.removesuffix("V2")
    if kind != queue.kind:
        raise errors.invalid_argument(f"Expected {queue.kind}, found {node.op.type}")
    shared = f"Shared queue '{queue.name}' has "
    capacity = UNBOUNDED if node.capacity < 0 else node.capacity
    if capacity != queue.capacity:
        raise errors.invalid_argument(
            f"{shared}capacity {queue.capacity} but requested capacity was {capacity}"
        )
    if isinstance(queue.store, ShuffleStore):
        _check_shuffle(node, queue.store, shared)
    types, shapes = list(node.component_types), _shapes(node)
    if kind == "PriorityQueue":
        types, shapes = [dtypes.int64, *types], [(), *shapes] if shapes or not types else []
    if types != queue.dtypes:
        raise errors.invalid_argument(
            f"{shared}component types {types_text(queue.dtypes)} but requested component types "
            f"were {types_text(types)}"
        )
    same: Callable[[Dims, Dims], bool] = dims_lib.is_compatible if queue.pads else _equal
    if len(shapes) != len(queue.shapes) or not all(map(same, shapes, queue.shapes)):
        raise errors.invalid_argument(
            f"{shared}component shapes {shapes_text(queue.shapes)} but requested component "
            f"shapes were {shapes_text(shapes)}"
        )


def _equal(a: Dims, b: Dims) -> bool:
    return a == b


def _check_shuffle(node: Node, store: ShuffleStore, shared: str) -> None:
    if node.min_after_dequeue != store.reserved:
        raise errors.invalid_argument(
            f"{shared}min_after_dequeue {store.reserved} but requested min_after_dequeue was "
            f"{node.min_after_dequeue}."
        )
    seeds = (node.seed, node.seed2)
    if seeds != (0, 0) and seeds != store.seeds:
        raise errors.invalid_argument(
            f"{shared}random seeds ({store.seeds[0]}, {store.seeds[1]}) but requested seeds are "
            f"({seeds[0]}, {seeds[1]})."
        )


def types_text(types: Sequence[Any]) -> str:
    """Types as messages list them."""
    return ", ".join(cpp_name(dtype.base_dtype) for dtype in types)


def shapes_text(shapes: Sequence[Dims]) -> str:
    """Shapes as messages list them."""
    return f"[{', '.join(map(shape_text, shapes))}]"


def _kernel(make: Callable[[Node, str], Queue]) -> Callable[[Any], Any]:
    def kernel(node: Any) -> Handle:
        _check_reserved(node)
        shared = node.op.attrs["shared_name"].decode()
        queue = node.resource(
            lambda: make(node, shared or private_name(node.name)), kind="queue", private=True
        )
        _check_shared(node, queue)
        return node.handle(queue)

    return kernel


MAKERS = {
    "FIFOQueue": _fifo,
    "PaddingFIFOQueue": _padding,
    "RandomShuffleQueue": _shuffle,
    "PriorityQueue": _priority,
}
cards: dict[str, Card] = {}
for _kind, _make in MAKERS.items():
    for _version in ("", "V2"):
        _made = cards[_kind + _version] = _card(_kind, _version)
        _made.shape((lambda node: ()) if _version else (lambda node: (2,)))
        _made.kernel(_kernel(_make))
fifo_queue_v2_op = cards["FIFOQueueV2"]
padding_fifo_queue_v2_op = cards["PaddingFIFOQueueV2"]
random_shuffle_queue_v2_op = cards["RandomShuffleQueueV2"]
priority_queue_v2_op = cards["PriorityQueueV2"]
fake_queue_op = op(
    "FakeQueue(resource: resource) -> handle: &string\nflags: stateful", differentiable=False
)
fake_queue_op.shape(lambda node: (2,))
fake_queue_op.kernel(lambda node: lambda queue: queue)
