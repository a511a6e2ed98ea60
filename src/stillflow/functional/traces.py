"""Traces of a `tf.function`, by their keys."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from stillflow import nest
from stillflow.functional.concrete import ConcreteFunction
from stillflow.graph import dtypes
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.util.weak import live_items

Shapes = tuple[TensorShape | None, ...]  # of leaves, None for one that is no tensor
_SHAPELESS = (dtypes.resource, dtypes.variant)  # such a handle carries its own facts


class FunctionCache(NamedTuple):
    """The traces of all graphs by key.

    Attributes:
      primary: for arguments of these very shapes.
      arg_relaxed: for shapes that have been relaxed, by a key that knows ranks only.
      arg_relaxed_shapes: these shapes, by the same key.
    """

    primary: dict[Any, ConcreteFunction]
    arg_relaxed: dict[Any, ConcreteFunction]
    arg_relaxed_shapes: dict[Any, Shapes]


class Traces:
    """Traces by the graph around the call, and by arguments."""

    def __init__(self) -> None:
        self._by_graph: weakref.WeakKeyDictionary[Any, FunctionCache] = weakref.WeakKeyDictionary()

    def of(self, graph: Any) -> FunctionCache:
        """Those of one graph."""
        if graph not in self._by_graph:
            self._by_graph[graph] = FunctionCache({}, {}, {})
        return self._by_graph[graph]

    def __iter__(self) -> Iterator[ConcreteFunction]:
        for _, cache in live_items(self._by_graph):
            yield from cache.primary.values()
            yield from cache.arg_relaxed.values()

    def joined(self) -> FunctionCache:
        """Those of all graphs, with the graph's identity in the key."""
        joined: list[dict[Any, Any]] = [{}, {}, {}]
        for graph, cache in live_items(self._by_graph):
            found: list[dict[Any, Any]] = list(cache)
            for own, every in zip(found, joined, strict=True):
                every.update({(id(graph), key): value for key, value in own.items()})
        return FunctionCache(*joined)


def relaxed_trace(
    cache: FunctionCache, key: Any, structure: Any, trace: Callable[[Any], ConcreteFunction]
) -> ConcreteFunction:
    """Return the trace for arguments of these ranks, made for less known shapes if it does not fit.

    `key` has ranks instead of shapes; specs stand for tensors in the argument of `trace`.
    """
    shapes = _shapes(structure)
    common = cache.arg_relaxed_shapes.get(key)
    if common is None:
        common = shapes
    elif all(map(_covers, common, shapes)):
        return cache.arg_relaxed[key]
    else:
        common = tuple(map(_common, shapes, common))
    cache.arg_relaxed_shapes[key] = common
    cache.arg_relaxed[key] = trace(_with_shapes(structure, common))
    return cache.arg_relaxed[key]


def _has_shape(leaf: Any) -> bool:
    return isinstance(leaf, (Tensor, TensorSpec)) and leaf.dtype not in _SHAPELESS


def _shapes(structure: Any) -> Shapes:
    return tuple(leaf.shape if _has_shape(leaf) else None for leaf in nest.flatten(structure))


def _covers(relaxed: TensorShape | None, shape: TensorShape | None) -> bool:
    """Return True if every tensor of a shape is one of the relaxed shape."""
    if relaxed is None or shape is None or relaxed.ndims is None or shape.ndims is None:
        return True
    pairs = zip(relaxed.as_list(), shape.as_list(), strict=True)
    return all(wide is None or wide == size for wide, size in pairs)


def _common(one: TensorShape | None, other: TensorShape | None) -> TensorShape | None:
    return None if one is None or other is None else one.most_specific_compatible_shape(other)


def _with_shapes(structure: Any, shapes: Shapes) -> Any:
    given = iter(shapes)

    def placed(leaf: Any) -> Any:
        shape = next(given)
        return leaf if shape is None else TensorSpec(shape, leaf.dtype)

    return nest.map_structure(placed, structure)
