"""Stage, Unstage, MapStage, OrderedMapStage and the other ops of staging areas."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.card import Card, op
from stillflow.graph.dims import shape_text
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.ops.queues.staging import StagingMap, StagingQueue

_LIMITS = "capacity: int >= 0 = 0\nmemory_limit: int >= 0 = 0\n"
_SHARED = 'container: string = ""\nshared_name: string = ""\nflags: stateful'
_SOME, _ANY = "dtypes: list(type) >= 1\n", "dtypes: list(type)\n"
_FAKE = f"{_ANY}fake_dtypes: list(type) >= 1\n"
_KEPT = tuple(range(64))


def _area(node: Any) -> StagingQueue:
    found: StagingQueue = node.resource(
        lambda: StagingQueue(node.capacity, node.memory_limit), kind="staging area"
    )
    return found


def _map(node: Any) -> StagingMap:
    """Return the map; how many components it has is said by the first op that puts something in."""
    ordered = node.op.type.startswith("Ordered")
    found: StagingMap = node.resource(
        lambda: StagingMap(node.capacity, node.memory_limit, ordered, 0), kind="staging map"
    )
    if node.op.type.endswith(("MapStage", "Size", "Clear")):
        found.size = max(found.size, len(node.op.attrs["dtypes"]))
    return found


def _stage(node: Any) -> Callable[..., Any]:
    area, waits = _area(node), node.waits()
    return lambda *values: area.put(values, waits)


def _bare(node: Node) -> bool:
    return len(node.outputs) == 1


def _unstage(node: Any) -> Callable[..., Any]:
    area, waits, bare = _area(node), node.waits(), _bare(node)

    def unstage() -> tuple[torch.Tensor, torch.Tensor]:
        values = area.take(waits)
        return values[0] if bare else values

    return unstage


def _peek(node: Any) -> Callable[..., Any]:
    area, waits, bare = _area(node), node.waits(), _bare(node)

    def peek(index: Any) -> tuple[torch.Tensor, torch.Tensor]:
        values = area.peek(int(index), waits)
        return values[0] if bare else values

    return peek


def _count(number: int) -> torch.Tensor:
    return torch.tensor(number, dtype=torch.int32)


def _places(indices: Any) -> list[int]:
    """Return the positions of values, as numbers."""
    if indices.ndim != 1:
        raise ValueError(f"indices must be a vector, got shape {shape_text(indices.shape)}")
    return indices.tolist()


def _map_stage(node: Any) -> Callable[..., Any]:
    area, waits = _map(node), node.waits()
    return lambda key, indices, *values: area.put(int(key), _places(indices), values, waits)


def _map_take(remove: bool) -> Callable[..., Any]:
    def kernel(node: Any) -> Callable[..., Any]:
        area, waits, bare = _map(node), node.waits(), _bare(node)

        def take(key: Any, indices: Any) -> Any:
            values = area.take(int(key), _places(indices), waits, remove)
            return values[0] if bare else values

        return take

    return kernel


def _map_take_any(node: Any) -> Callable[..., Any]:
    area, waits = _map(node), node.waits()

    def take_any(indices: Any) -> tuple[Any, ...]:
        key, values = area.take_any(_places(indices), waits)
        return (torch.tensor(key), *values)

    return take_any


# By name: inputs and outputs, attributes, kernel; "Map..." ops also with "Ordered" before.
_OPS: dict[str, tuple[str, str, Any]] = {
    "Stage": ("(values: [dtypes])", _SOME, _stage),
    "Unstage": ("() -> values: [dtypes]", _SOME, _unstage),
    "StagePeek": ("(index: int32) -> values: [dtypes]", _SOME, _peek),
    "StageSize": ("() -> size: int32", _ANY, lambda node: _sized(_area(node))),
    "StageClear": ("()", _ANY, lambda node: _area(node).clear),
    "MapStage": ("(key: int64, indices: int32, values: [fake_dtypes])", _FAKE, _map_stage),
    "MapPeek": ("(key: int64, indices: int32) -> values: [dtypes]", _SOME, _map_take(False)),
    "MapUnstage": ("(key: int64, indices: int32) -> values: [dtypes]", _SOME, _map_take(True)),
    "MapUnstageNoKey": (
        "(indices: int32) -> (key: int64, values: [dtypes])", _SOME, _map_take_any,
    ),
    "MapSize": ("() -> size: int32", _ANY, lambda node: _sized(_map(node))),
    "MapIncompleteSize": ("() -> size: int32", _ANY, lambda node: _incomplete(_map(node))),
    "MapClear": ("()", _ANY, lambda node: _map(node).clear),
}  # fmt: skip


def _sized(area: Any) -> Callable[..., Any]:
    return lambda: _count(len(area))


def _incomplete(area: StagingMap) -> Callable[..., Any]:
    return lambda: _count(area.incomplete)


cards: dict[str, Card] = {}
for _name, (_text, _attrs, _kernel) in _OPS.items():
    for _prefix in ("", "Ordered") if _name.startswith("Map") else ("",):
        _card = cards[_prefix + _name] = op(
            f"{_prefix}{_name}{_text}\n{_LIMITS}{_attrs}{_SHARED}",
            keeps=_KEPT if _name.endswith("Stage") else (),
            numbers=("index",) if "index:" in _text else (),
            differentiable=False,
        )
        if "->" in _text:
            _card.shape(lambda node: [() if t.dtype.name == "int32" and node.op.type.endswith(
                "Size") else None for t in node.outputs])  # fmt: skip
        _card.kernel(_kernel)
