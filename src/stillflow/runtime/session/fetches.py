"""Structure of the fetches: their tensors and operations, and the assembly of results."""

from __future__ import annotations

import collections.abc
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from stillflow import nest
from stillflow.errors import InaccessibleTensorError
from stillflow.graph.graph import Graph
from stillflow.graph.indexed_slices import IndexedSlices, IndexedSlicesValue
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.sparse_tensor import SparseTensor, SparseTensorValue

# Types with their own way of being fetched: (type, expand). Later entries win.
_expansions: list[tuple[type, Callable[..., Any]]] = []
_feed_expansions: list[tuple[type, Callable[..., Any]]] = []
_partial_feed_expansions: list[tuple[type, Callable[[Any], list[Any]]]] = []


def register_expansion(
    kind: type,
    fetch: Callable[[Any], tuple[list[Any], Callable[[list[Any]], Any]]],
    feed: Callable[[Any, Any], Iterable[tuple[Any, Any]]] | None = None,
) -> None:
    """Register how objects of a type are fetched and fed.

    `fetch(obj)` returns the elements to fetch and a function from their values to the result,
    `feed(obj, value)` pairs of elements and values.
    """
    _expansions.insert(0, (kind, fetch))
    if feed is not None:
        _feed_expansions.insert(0, (kind, feed))


def register_session_run_conversion_functions(
    tensor_type: type,
    fetch_function: Callable[[Any], tuple[list[Any], Callable[[list[Any]], Any]]],
    feed_function: Callable[[Any, Any], Iterable[tuple[Any, Any]]] | None = None,
    feed_function_for_partial_run: Callable[[Any], list[Any]] | None = None,
) -> None:
    """Register how objects of a type are fetched and fed, as TF's session module has it.

    The functions are those of `register_expansion`; that for a partial run gives the elements that
    will be fed. ValueError if a base of the type was registered before.
    """
    for kind, _ in _expansions:
        if issubclass(tensor_type, kind):
            raise ValueError(f"{tensor_type} has already been registered so ignore it.")
    register_expansion(tensor_type, fetch_function, feed_function)
    if feed_function_for_partial_run is not None:
        _partial_feed_expansions.insert(0, (tensor_type, feed_function_for_partial_run))


class EmptyIfDead(list[Any]):
    """Fetches of which those that no branch computes give an empty array instead of an error."""


class Fetches:
    """Fetches in a flat form, with the way back.

    Attributes:
      tensors: the distinct tensors whose values are needed.
      targets: the distinct operations to run.
      empty_if_dead: whether what no branch computes is an empty array.
    """

    def __init__(self, graph: Graph, fetches: Any) -> None:
        self.graph = graph
        self.tensors: list[Tensor] = []
        self.targets: list[Operation] = []
        self._positions: dict[Tensor, int] = {}
        self.empty_if_dead = isinstance(fetches, EmptyIfDead)
        self.build = self._plan(fetches)

    def _element(self, fetch: Any, original: Any) -> Callable[[list[Any]], Any]:
        try:
            found = self.graph.as_graph_element(fetch)
        except TypeError as error:
            raise TypeError(
                f"Fetch argument {original!r} has invalid type {type(original)}, must be a "
                f"string or Tensor. ({error})"
            ) from None
        except (ValueError, KeyError) as error:
            raise ValueError(
                f"Fetch argument {original!r} cannot be interpreted as a Tensor. ({error})"
            ) from None
        if not self.graph.is_fetchable(found):
            op = found if isinstance(found, Operation) else found.op
            raise InaccessibleTensorError(
                f"Operation {op.name!r} has been marked as not fetchable. Typically this happens "
                "when it is defined in another function or code block. Use return values,explicit "
                "Python locals or TensorFlow collections to access it."
            )
        if isinstance(found, Operation):
            if found not in self.targets:
                self.targets.append(found)
            return _nothing
        position = self._positions.setdefault(found, len(self.tensors))
        if position == len(self.tensors):
            self.tensors.append(found)
        return lambda values: values[position]

    def _plan(self, fetch: Any) -> Callable[[list[Any]], Any]:
        if fetch is None:
            raise TypeError(f"Fetch argument {fetch!r} has invalid type {type(fetch)}")
        if isinstance(fetch, (Tensor, Operation, str, bytes)):
            text = fetch.decode() if isinstance(fetch, bytes) else fetch
            return self._element(text, fetch)
        if isinstance(fetch, (list, tuple)):
            return self._sequence(fetch)
        if isinstance(fetch, collections.abc.Mapping):
            return self._mapping(fetch)
        for kind, expand in _expansions:
            if isinstance(fetch, kind):
                items, contract = expand(fetch)
                parts = [self._element(item, fetch) for item in items]
                return lambda values: contract([part(values) for part in parts])
        if hasattr(type(fetch), "__attrs_attrs__"):
            names = [field.name for field in type(fetch).__attrs_attrs__]
            parts = [self._plan(getattr(fetch, name)) for name in names]
            kind = type(fetch)
            return lambda values: kind(*[part(values) for part in parts])
        return self._element(fetch, fetch)

    def _sequence(self, fetch: Sequence[Any]) -> Callable[[list[Any]], Any]:
        parts = [self._plan(item) for item in fetch]
        kind: Any = type(fetch)
        if kind is list:
            return lambda values: [part(values) for part in parts]
        if hasattr(fetch, "_fields"):
            return lambda values: kind(*[part(values) for part in parts])
        return lambda values: kind([part(values) for part in parts])

    def _mapping(self, fetch: Any) -> Callable[[list[Any]], Any]:
        parts = {key: self._plan(item) for key, item in fetch.items()}
        kind = type(fetch)
        if kind is dict:
            return lambda values: {key: part(values) for key, part in parts.items()}

        def build(values: list[Any]) -> OrderedDict[Any, Any]:
            result = kind()
            for key, part in parts.items():
                result[key] = part(values)
            return result

        return build


def _nothing(values: list[Any]) -> None:
    del values


def expand_feed(key: Any, value: Any) -> list[tuple[Any, Any]]:
    """Return a feed as pairs of a single element and its value."""
    for kind, expand in _feed_expansions:
        if isinstance(key, kind):
            return expand(key, value)
    return [(key, value)]


def feed_pairs(key: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield a feed as pairs of a single element and its value.

    Tuples of keys take tuples of values.
    """
    if isinstance(key, tuple):
        for inner, part in nest.flatten_dict_items({key: value}).items():
            yield from expand_feed(inner, part)
    else:
        yield from expand_feed(key, value)


def expand_feed_keys(key: Any) -> list[Any]:
    """Return the single elements behind a key that may be fed."""
    for kind, expand_key in _partial_feed_expansions:
        if isinstance(key, kind):
            return expand_key(key)
    for kind, expand in _expansions:
        if isinstance(key, kind):
            return expand(key)[0]
    return [key]


def structure_key(fetches: Any) -> Any:
    """Return a hashable stand-in for a fetch structure, equal for equal structures."""
    if isinstance(fetches, (list, tuple)):
        return (type(fetches), *[structure_key(item) for item in fetches])
    if isinstance(fetches, collections.abc.Mapping):
        items = [(key, structure_key(item)) for key, item in fetches.items()]
        return (type(fetches), *items)
    if isinstance(fetches, (Tensor, Operation, str, bytes)):
        return fetches
    return Same(fetches)


class Same:
    """Hashes any object by identity, keeping it alive."""

    __slots__ = ("thing",)

    def __init__(self, thing: Any) -> None:
        self.thing = thing

    def __hash__(self) -> int:
        return id(self.thing)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and other.thing is self.thing


def _sparse_parts(tensor: SparseTensor) -> list[Any]:
    return [tensor.indices, tensor.values, tensor.dense_shape]


def _slices_parts(slices: IndexedSlices) -> list[Any]:
    parts = [slices.values, slices.indices]
    return parts if slices.dense_shape is None else [*parts, slices.dense_shape]


register_expansion(
    SparseTensor,
    lambda sparse: (_sparse_parts(sparse), lambda values: SparseTensorValue(*values)),
    lambda sparse, value: list(zip(_sparse_parts(sparse), value, strict=False)),
)
register_expansion(
    IndexedSlices,
    lambda slices: (
        _slices_parts(slices),
        lambda values: IndexedSlicesValue(*values, *[None] * (3 - len(values))),
    ),
    lambda slices, value: list(zip(_slices_parts(slices), value, strict=False)),
)
