"""Kinds of structures: their children, and the way to rebuild them.

A class is classified once and remembered.
"""

from __future__ import annotations

import collections
import collections.abc
from collections.abc import Iterator
from typing import Any

from stillflow._export import export

# How to walk a class. Composites come last: they are leaves unless they are to be expanded.
_LEAF, _LIST, _TUPLE, _SEQUENCE, _NAMEDTUPLE, _MAPPING, _VIEW, _ATTRS = range(8)
_COMPOSITE, _TYPE_SPEC = 8, 9
_PLAIN_LIMIT, _COMPOSITE_LIMIT = 8, 10

_KINDS: dict[type, int] = {
    **dict.fromkeys((int, float, bool, complex, str, bytes, type(None)), _LEAF),
    list: _LIST,
    tuple: _TUPLE,
    dict: _MAPPING,
}
_MAX_KINDS = 4096  # classes made on the fly must not pile up here


def _kind(value: Any) -> int:
    cls = type(value)
    kind = _KINDS.get(cls)
    if kind is None:
        kind = _classify(cls)
        if len(_KINDS) < _MAX_KINDS:
            _KINDS[cls] = kind
    return kind


def _classify(cls: type) -> int:
    if issubclass(cls, collections.abc.Mapping):
        return _MAPPING
    if issubclass(cls, collections.abc.MappingView):
        return _VIEW
    if hasattr(cls, "__attrs_attrs__"):
        return _ATTRS
    if issubclass(cls, collections.abc.Sequence) and not issubclass(cls, (str, bytes)):
        return _NAMEDTUPLE if _has_fields(cls) else _SEQUENCE
    if hasattr(cls, "_component_specs"):
        return _LEAF if getattr(cls, "_is_tensor_spec", False) else _TYPE_SPEC
    return _COMPOSITE if hasattr(cls, "_type_spec") else _LEAF


def _has_fields(cls: type) -> bool:
    fields = getattr(cls, "_fields", None)
    return (
        issubclass(cls, tuple)
        and isinstance(fields, collections.abc.Sequence)
        and all(isinstance(field, (str, bytes)) for field in fields)
    )


def _limit(expand_composites: bool) -> int:
    return _COMPOSITE_LIMIT if expand_composites else _PLAIN_LIMIT


@export("contrib.framework.nest.is_sequence")
def is_sequence(o: Any) -> bool:
    """Return True if `o` is a structure rather than a leaf."""
    return 0 < _kind(o) < _PLAIN_LIMIT


@export("nest.is_nested", "contrib.framework.nest.is_nested")
def is_nested(seq: Any) -> bool:
    """Return True if `seq` is a structure: a list, tuple, dict, attrs class, ..."""
    return is_sequence(seq)


@export("contrib.framework.nest.is_sequence_or_composite")
def is_sequence_or_composite(o: Any) -> bool:
    """Return True if `o` is a structure, a composite tensor or the type of one."""
    return _kind(o) > 0


def _is_mapping(value: Any) -> bool:
    return _kind(value) == _MAPPING


def _is_mapping_view(value: Any) -> bool:
    return _kind(value) == _VIEW


def _is_attrs(value: Any) -> bool:
    return _kind(value) == _ATTRS


def _is_composite_tensor(value: Any) -> bool:
    return _kind(value) == _COMPOSITE


def _is_type_spec(value: Any) -> bool:
    return _kind(value) == _TYPE_SPEC


def _is_namedtuple(value: Any, strict: bool = False) -> bool:
    """Return True for a named tuple; if `strict`, only of a class made by `namedtuple` itself."""
    return _kind(value) == _NAMEDTUPLE and not (strict and type(value).__base__ is not tuple)


def _same_namedtuples(a: Any, b: Any) -> bool:
    """Return True if two named tuples have the same name and fields."""
    return bool(a._fields == b._fields) and type(a).__name__ == type(b).__name__


def _sorted(mapping: Any) -> list[Any]:
    try:
        return sorted(mapping)
    except TypeError:
        raise TypeError("nest only supports dicts with sortable keys.") from None


def _attrs_names(value: Any) -> list[str]:
    return [attribute.name for attribute in type(value).__attrs_attrs__]


def _children(value: Any, kind: int) -> Any:
    """Return the children of a structure, in order."""
    if kind <= _NAMEDTUPLE:
        return value
    if kind == _MAPPING:
        return [value[key] for key in _sorted(value)]
    if kind == _ATTRS:
        return [getattr(value, name) for name in _attrs_names(value)]
    if kind == _COMPOSITE:
        return [value._type_spec._to_components(value)]
    if kind == _TYPE_SPEC:
        return [value._component_specs]
    return list(value)


def _yield_value(structure: Any) -> Iterator[Any]:
    return iter(_children(structure, _kind(structure)))


def _yield_sorted_items(structure: Any) -> Iterator[tuple[Any, Any]]:
    """Return the pairs (key, child) of a structure."""
    kind = _kind(structure)
    children = _children(structure, kind)
    if kind == _MAPPING:
        keys: Any = _sorted(structure)
    elif kind == _ATTRS:
        keys = _attrs_names(structure)
    elif kind == _NAMEDTUPLE:
        keys = structure._fields
    elif kind == _COMPOSITE:
        keys = [type(structure).__name__]
    elif kind == _TYPE_SPEC:
        keys = [structure.value_type.__name__]
    else:
        return enumerate(children)
    return zip(keys, children)


def _sequence_like(instance: Any, args: Any) -> Any:
    """Return a structure like `instance` with other children."""
    kind = _kind(instance)
    if kind == _LIST:
        return list(args)
    if kind == _TUPLE:
        return tuple(args)
    if kind == _MAPPING:
        result = dict(zip(_sorted(instance), args))
        ordered = [(key, result[key]) for key in instance]
        if type(instance) is collections.defaultdict:
            return collections.defaultdict(instance.default_factory, ordered)
        return type(instance)(ordered)
    if kind in (_NAMEDTUPLE, _ATTRS):
        return type(instance)(*args)
    if kind == _VIEW or isinstance(instance, range):
        return list(args)
    if kind in (_COMPOSITE, _TYPE_SPEC):
        (components,) = args
        spec = instance._type_spec if kind == _COMPOSITE else instance
        return spec._from_components(components)
    return type(instance)(args)


@export("nest.flatten", "contrib.framework.nest.flatten")
def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """Return the leaves of a structure as a list; a leaf gives a list of itself.

    Args:
      structure: A structure or a leaf.
      expand_composites: Whether composite tensors are replaced by their components.

    Raises:
      TypeError: If the keys of a mapping cannot be sorted.
    """
    limit = _limit(expand_composites)
    kind = _kind(structure)
    if not 0 < kind < limit:
        return [structure]
    leaves: list[Any] = []
    _flatten(structure, kind, limit, leaves)
    return leaves


def _flatten(structure: Any, kind: int, limit: int, leaves: list[Any]) -> None:
    known = _KINDS.get
    for child in structure if kind <= _NAMEDTUPLE else _children(structure, kind):
        child_kind = known(type(child))
        if child_kind is None:
            child_kind = _kind(child)
        if 0 < child_kind < limit:
            _flatten(child, child_kind, limit, leaves)
        else:
            leaves.append(child)


@export("nest.pack_sequence_as", "contrib.framework.nest.pack_sequence_as")
def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """Return a structure like `structure` with the leaves taken from a flat sequence.

    Args:
      structure: The structure to imitate; if it is a leaf, the only item is returned.
      flat_sequence: As many items as `structure` has leaves.
      expand_composites: Whether composite tensors are made from their components.

    Raises:
      TypeError: If `flat_sequence` is no sequence.
      ValueError: If the number of items is wrong.
    """
    limit = _limit(expand_composites)
    if not 0 < _kind(flat_sequence) < limit:
        raise TypeError("flat_sequence must be a sequence")
    kind = _kind(structure)
    if not 0 < kind < limit:
        if len(flat_sequence) != 1:
            raise ValueError(
                f"Structure is a scalar but len(flat_sequence) == {len(flat_sequence)} > 1"
            )
        return flat_sequence[0]
    items = iter(flat_sequence)
    try:
        packed = _pack(structure, kind, limit, items)
        complete = next(items, items) is items
    except StopIteration:
        complete = False
    if not complete:
        raise ValueError(
            "Could not pack sequence. "
            f"Structure had {len(flatten(structure, expand_composites))} elements, "
            f"but flat_sequence had {len(flat_sequence)} elements.  "
            f"Structure: {structure}, flat_sequence: {flat_sequence}."
        )
    return packed


def _pack(structure: Any, kind: int, limit: int, items: Iterator[Any]) -> Any:
    children: list[Any] = []
    for child in structure if kind <= _NAMEDTUPLE else _children(structure, kind):
        child_kind = _kind(child)
        if 0 < child_kind < limit:
            children.append(_pack(child, child_kind, limit, items))
        else:
            children.append(items.__next__())
    return children if kind == _LIST else _sequence_like(structure, children)


@export("contrib.framework.nest.flatten_dict_items")
def flatten_dict_items(dictionary: Any) -> dict[Any, Any]:
    """Return a dict in which keys that are structures are replaced by their leaves.

    Each leaf of such a key is mapped to the corresponding leaf of the value.

    Raises:
      TypeError: If `dictionary` is no mapping.
      ValueError: If a key and its value have different numbers of leaves, or a key comes twice.
    """
    if not isinstance(dictionary, collections.abc.Mapping):
        raise TypeError("input must be a dictionary")
    flat: dict[Any, Any] = {}
    for key, value in dictionary.items():
        keys, values = ([key], [value]) if not is_sequence(key) else (flatten(key), flatten(value))
        if len(keys) != len(values):
            raise ValueError(
                f"Could not flatten dictionary. Key had {len(keys)} elements, "
                f"but value had {len(values)} elements. Key: {keys}, value: {values}."
            )
        for new_key, new_value in zip(keys, values):
            if new_key in flat:
                raise ValueError(f"Could not flatten dictionary: key {new_key} is not unique.")
            flat[new_key] = new_value
    return flat
