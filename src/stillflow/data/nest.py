"""Structures of elements: tuples, named tuples and dicts. Lists are tensors, not structures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from stillflow.graph.sparse_tensor import SparseTensorValue
from stillflow.nest import _is_attrs, _is_namedtuple, _sequence_like, _sorted, _yield_value


def is_sequence(value: Any) -> bool:
    """Return True if a value is a structure: a tuple, a dict or an attrs object."""
    if isinstance(value, SparseTensorValue):
        return False
    return isinstance(value, (tuple, Mapping)) or (not isinstance(value, type) and _is_attrs(value))


def _values(structure: Any) -> Iterator[Any]:
    yield from _yield_value(structure)


def flatten(nested: Any) -> list[Any]:
    """Return the leaves of a structure; dicts in the order of their sorted keys."""
    if not is_sequence(nested):
        return [nested]
    return [leaf for value in _values(nested) for leaf in flatten(value)]


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Raise ValueError for structures that differ, TypeError for other classes of them."""
    try:
        _assert_same(nest1, nest2, check_types)
    except (ValueError, TypeError) as error:
        raise type(error)(
            "The two structures don't have the same nested structure.\n\n"
            f"First structure: {_described(nest1)}\n\nSecond structure: {_described(nest2)}\n\n"
            f"More specifically: {error}"
        ) from None


def _described(value: Any) -> str:
    return f"type={type(value).__name__} str={value}"


def _assert_same(a: Any, b: Any, check_types: bool) -> None:
    if is_sequence(a) != is_sequence(b):
        nested, flat = (a, b) if is_sequence(a) else (b, a)
        raise ValueError(
            f'Substructure "{_described(nested)}" is a sequence, while substructure '
            f'"{_described(flat)}" is not'
        )
    if not is_sequence(a):
        return
    if check_types and not _same_type(a, b):
        raise TypeError(
            "The two namedtuples don't have the same sequence type. First structure "
            f"{_described(a)} has type {type(a).__name__}, while second structure "
            f"{_described(b)} has type {type(b).__name__}"
        )
    if check_types and isinstance(a, Mapping) and set(a) != set(b):
        raise ValueError(
            "The two dictionaries don't have the same set of keys. First structure has keys "
            f"{_described(list(a))}, while second structure has keys {_described(list(b))}"
        )
    first, second = list(_values(a)), list(_values(b))
    for x, y in zip(first, second, strict=False):
        _assert_same(x, y, check_types)
    if len(first) != len(second):
        raise ValueError(
            f"The two structures don't have the same number of elements. First structure: "
            f"{_described(a)}. Second structure: {_described(b)}"
        )


def _same_type(a: Any, b: Any) -> bool:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return True
    if _is_namedtuple(a) and _is_namedtuple(b):
        return type(a).__name__ == type(b).__name__ and a._fields == b._fields
    return type(a) is type(b)


def pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
    """Put leaves into the form of a structure."""
    if not (is_sequence(flat_sequence) or isinstance(flat_sequence, list)):
        raise TypeError("flat_sequence must be a sequence")
    if not is_sequence(structure):
        if len(flat_sequence) != 1:
            raise ValueError(
                f"Structure is a scalar but len(flat_sequence) == {len(flat_sequence)} > 1"
            )
        return flat_sequence[0]
    count = len(flatten(structure))
    if count != len(flat_sequence):
        raise ValueError(
            f"Could not pack sequence. Structure had {count} elements, but flat_sequence had "
            f"{len(flat_sequence)} elements.  Structure: {structure}, flat_sequence: "
            f"{flat_sequence}."
        )
    return _packed(structure, iter(flat_sequence))


def _packed(structure: Any, leaves: Iterator[Any]) -> Any:
    if not is_sequence(structure):
        return next(leaves)
    return _like(structure, [_packed(value, leaves) for value in _values(structure)])


def _like(instance: Any, args: list[Any]) -> dict[str, Any] | tuple[Any, ...]:
    if isinstance(instance, dict):
        result = dict(zip(_sorted(instance), args, strict=True))
        if hasattr(instance, "default_factory"):
            return type(instance)(instance.default_factory, ((k, result[k]) for k in instance))  # type: ignore[call-overload]
        return type(instance)((key, result[key]) for key in instance)
    return _sequence_like(instance, args)


def map_structure(func: Callable[..., Any], *structure: Any, **check_types_dict: Any) -> Any:
    """Call a function for the leaves of structures of the same form, and class if `check_types`."""
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    if check_types_dict and set(check_types_dict) != {"check_types"}:
        raise ValueError("Only valid keyword argument is check_types")
    for other in structure[1:]:
        assert_same_structure(
            structure[0], other, check_types=check_types_dict.get("check_types", True)
        )
    flat = [flatten(one) for one in structure]
    return pack_sequence_as(structure[0], [func(*leaves) for leaves in zip(*flat, strict=True)])


def assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> None:
    """Raise an error for a structure that is not at least as deep as another."""
    if not is_sequence(shallow_tree):
        return
    if not is_sequence(input_tree):
        raise TypeError(
            "If shallow structure is a sequence, input must also be a sequence. Input has type: "
            f"{type(input_tree)}."
        )
    if check_types and not isinstance(input_tree, type(shallow_tree)):
        raise TypeError(
            "The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}."
        )
    if len(input_tree) != len(shallow_tree):
        raise ValueError(
            "The two structures don't have the same sequence length. Input structure has length "
            f"{len(input_tree)}, while shallow structure has length {len(shallow_tree)}."
        )
    if check_types and isinstance(shallow_tree, dict) and set(input_tree) != set(shallow_tree):
        raise ValueError(
            "The two structures don't have the same keys. Input structure has keys "
            f"{list(input_tree)}, while shallow structure has keys {list(shallow_tree)}."
        )
    for shallow, deep in zip(_values(shallow_tree), _values(input_tree), strict=True):
        assert_shallow_structure(shallow, deep, check_types=check_types)


def flatten_up_to(shallow_tree: Any, input_tree: Any) -> list[Any]:
    """Return the parts of `input_tree` that stand where `shallow_tree` has its leaves."""
    assert_shallow_structure(shallow_tree, input_tree)
    return list(_up_to(shallow_tree, input_tree))


def _up_to(shallow: Any, deep: Any) -> Iterator[Any]:
    if not is_sequence(shallow):
        yield deep
        return
    for a, b in zip(_values(shallow), _values(deep), strict=True):
        yield from _up_to(a, b)


def map_structure_up_to(shallow_tree: Any, func: Callable[..., Any], *inputs: Any) -> Any:
    """Call a function for the parts that stand where `shallow_tree` has its leaves."""
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    parts = [flatten_up_to(shallow_tree, tree) for tree in inputs]
    return pack_sequence_as(shallow_tree, [func(*one) for one in zip(*parts, strict=True)])
