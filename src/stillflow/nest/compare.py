"""Comparing structures, and mapping functions over structures that are alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow._export import export
from stillflow.nest.structure import (
    _COMPOSITE,
    _MAPPING,
    _TYPE_SPEC,
    _children,
    _is_composite_tensor,
    _is_namedtuple,
    _kind,
    _limit,
    _same_namedtuples,
    flatten,
    pack_sequence_as,
)

_HEAP_TYPE = 1 << 9


@export("nest.map_structure", "contrib.framework.nest.map_structure")
def map_structure(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Apply a function to the leaves of one or several like structures.

    Args:
      func: Called with one leaf of every structure.
      *structure: The structures.
      **kwargs: `check_types` (default True): whether the structures' classes must agree too, not
        just their form. `expand_composites` (default False): whether composite tensors are
        replaced by their components.

    Returns:
      A structure like the first one, of the results.

    Raises:
      TypeError: If `func` cannot be called, or classes differ.
      ValueError: If no structure is given, forms differ, or an argument is unknown.
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    check_types = kwargs.pop("check_types", True)
    expand_composites = kwargs.pop("expand_composites", False)
    if kwargs:
        raise ValueError(
            "Only valid keyword arguments are `check_types` and `expand_composites`, not: "
            f"`{'`, `'.join(kwargs)}`"
        )
    first, *others = structure
    for other in others:
        assert_same_structure(first, other, check_types, expand_composites)
    leaves = (flatten(each, expand_composites) for each in structure)
    results = [func(*entry) for entry in zip(*leaves)]  # map would end at a StopIteration of func
    return pack_sequence_as(first, results, expand_composites)


class _Dot:
    """Stands for a leaf where a message shows only the form of a structure."""

    def __repr__(self) -> str:
        return "."


_DOT = _Dot()


@export("nest.assert_same_structure", "contrib.framework.nest.assert_same_structure")
def assert_same_structure(
    nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False
) -> None:
    """Raise an exception unless two structures have the same form.

    Args:
      nest1: A structure or a leaf.
      nest2: Another one.
      check_types: Whether the classes must agree too. Named tuples with equal names and fields
        do, and so do all kinds of lists and all kinds of mappings.
      expand_composites: Whether composite tensors are compared by their components.

    Raises:
      ValueError: If the forms differ.
      TypeError: If only classes differ.
    """
    try:
        _assert_same(nest1, nest2, check_types, expand_composites)
    except (ValueError, TypeError) as error:
        both = {"first": nest1, "second": nest2}
        shown = [f"{place.title()} structure: {_show(nest)}" for place, nest in both.items()]
        forms = [
            f"Entire {place} structure:\n{map_structure(lambda _: _DOT, nest)}"
            for place, nest in both.items()
        ]
        raise type(error)(
            "The two structures don't have the same nested structure.\n\n"
            + "\n\n".join([*shown, "\n".join([f"More specifically: {error}", *forms])])
        ) from None


def _assert_same(a: Any, b: Any, check_types: bool, expand: bool) -> None:
    limit = _limit(expand)
    kind_a, kind_b = _kind(a), _kind(b)
    nested = 0 < kind_a < limit
    if nested != (0 < kind_b < limit):
        sequence, leaf = (a, b) if nested else (b, a)
        raise ValueError(
            f'Substructure "{_show(sequence)}" is a sequence, while substructure '
            f'"{_show(leaf)}" is not'
        )
    if not nested:
        return
    if check_types:
        _assert_same_class(a, b, expand)
    if expand and _COMPOSITE in (kind_a, kind_b):
        _assert_compatible_specs(a, b)
    children_a, children_b = list(_children(a, kind_a)), list(_children(b, kind_b))
    for child_a, child_b in zip(children_a, children_b):
        _assert_same(child_a, child_b, check_types, expand)
    if len(children_a) != len(children_b):
        raise ValueError(
            "The two structures don't have the same number of elements. "
            f"First structure: {_show(a)}. Second structure: {_show(b)}"
        )


def _assert_same_class(a: Any, b: Any, expand: bool) -> None:
    kinds = {_kind(a), _kind(b)}
    if _is_namedtuple(a, True) and _is_namedtuple(b, True):
        same = _same_namedtuples(a, b)
    else:
        same = (
            type(a) is type(b)
            or (isinstance(a, list) and isinstance(b, list))
            or kinds == {_MAPPING}
            or (expand and kinds == {_COMPOSITE, _TYPE_SPEC})
        )
    if not same:
        raise TypeError(
            "The two namedtuples don't have the same sequence type. "
            f"First structure {_show(a)} has type {_type_name(a)}, "
            f"while second structure {_show(b)} has type {_type_name(b)}"
        )
    if kinds == {_MAPPING} and (len(a) != len(b) or any(key not in b for key in a)):
        raise ValueError(
            "The two dictionaries don't have the same set of keys. "
            f"First structure has keys {_show(list(a))}, "
            f"while second structure has keys {_show(list(b))}"
        )


def _spec_of(value: Any) -> Any:
    return value._type_spec if _is_composite_tensor(value) else value


def _assert_compatible_specs(a: Any, b: Any) -> None:
    spec_a, spec_b = _spec_of(a), _spec_of(b)
    try:
        spec_a.most_specific_compatible_type(spec_b)
    except Exception:  # any exception of a user's spec means that the two are not compatible
        raise ValueError(
            f"Incompatible CompositeTensor TypeSpecs: {_show(spec_a)} vs. {_show(spec_b)}"
        ) from None


def _type_name(value: Any) -> str:
    """Return the class's name, with its module for classes that are written in C."""
    cls = type(value)
    if cls.__flags__ & _HEAP_TYPE or cls.__module__ == "builtins":
        return cls.__name__
    return f"{cls.__module__}.{cls.__name__}"


def _show(value: Any) -> str:
    return f"type={type(value).__name__} str={value}"
