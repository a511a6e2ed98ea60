"""Structures seen down to the leaves of a shallower one, and the paths to leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from stillflow._export import export
from stillflow.nest.compare import _spec_of
from stillflow.nest.structure import (
    _COMPOSITE,
    _MAPPING,
    _TYPE_SPEC,
    _attrs_names,
    _is_attrs,
    _is_composite_tensor,
    _is_namedtuple,
    _kind,
    _limit,
    _same_namedtuples,
    _sequence_like,
    _yield_sorted_items,
    _yield_value,
    pack_sequence_as,
)

# Programs that test their own structures compare with these texts.
_SHALLOW_TREE_HAS_INVALID_KEYS = (
    "The shallow_tree's keys are not a subset of the input_tree's keys. The shallow_tree has the "
    "following keys that are not in the input_tree: {}."
)
_STRUCTURES_HAVE_MISMATCHING_TYPES = (
    "The two structures don't have the same sequence type. Input structure has type "
    "{input_type}, while shallow structure has type {shallow_type}."
)
_STRUCTURES_HAVE_MISMATCHING_LENGTHS = (
    "The two structures don't have the same sequence length. Input structure has length "
    "{input_length}, while shallow structure has length {shallow_length}."
)
_INPUT_TREE_SMALLER_THAN_SHALLOW_TREE = (
    "The input_tree has fewer elements than the shallow_tree. Input structure has length "
    "{input_size}, while shallow structure has length {shallow_size}."
)
_IF_SHALLOW_IS_SEQ_INPUT_MUST_BE_SEQ = (
    "If shallow structure is a sequence, input must also be a sequence. Input has type: {}."
)


def _assert_shallow_class(shallow_tree: Any, input_tree: Any) -> None:
    if isinstance(input_tree, type(shallow_tree)):
        return
    if _is_namedtuple(shallow_tree) and _is_namedtuple(input_tree):
        same = _same_namedtuples(shallow_tree, input_tree)
    else:
        kinds = {_kind(shallow_tree), _kind(input_tree)}
        same = kinds in ({_COMPOSITE, _TYPE_SPEC}, {_MAPPING})
    if not same:
        raise _different_type(shallow_tree, input_tree)


def _different_type(shallow_tree: Any, input_tree: Any) -> TypeError:
    return TypeError(
        _STRUCTURES_HAVE_MISMATCHING_TYPES.format(
            input_type=type(input_tree), shallow_type=type(shallow_tree)
        )
    )


def _assert_shallow_size(shallow_tree: Any, input_tree: Any, check_length: bool) -> None:
    shallow_size, input_size = _size(shallow_tree), _size(input_tree)
    if check_length and input_size != shallow_size:
        raise ValueError(
            _STRUCTURES_HAVE_MISMATCHING_LENGTHS.format(
                input_length=input_size, shallow_length=shallow_size
            )
        )
    if input_size < shallow_size:
        raise ValueError(
            _INPUT_TREE_SMALLER_THAN_SHALLOW_TREE.format(
                input_size=input_size, shallow_size=shallow_size
            )
        )


def _size(structure: Any) -> int:
    return len(_attrs_names(structure)) if _is_attrs(structure) else len(structure)


def _assert_shallow_composite(shallow_tree: Any, input_tree: Any) -> None:
    kinds = (_kind(shallow_tree), _kind(input_tree))
    if _COMPOSITE not in kinds:
        if kinds[1] != _TYPE_SPEC:
            raise TypeError(
                "If shallow structure is a TypeSpec, input must also be a TypeSpec.  "
                f"Input has type: {type(input_tree)}."
            )
        return
    if min(kinds) < _COMPOSITE:
        raise _different_type(shallow_tree, input_tree)
    spec_1, spec_2 = _spec_of(shallow_tree), _spec_of(input_tree)
    try:
        spec_1.most_specific_compatible_type(spec_2)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Incompatible CompositeTensor TypeSpecs: {spec_1} vs. {spec_2} -- {error}"
        ) from None


@export("contrib.framework.nest.assert_shallow_structure")
def assert_shallow_structure(
    shallow_tree: Any,
    input_tree: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    check_subtrees_length: bool = True,
) -> None:
    """Raise an exception unless `shallow_tree` is the upper part of `input_tree`.

    Args:
      shallow_tree: A structure, whose leaves may stand for structures.
      input_tree: The structure that goes as deep or deeper.
      check_types: Whether the classes must agree too.
      expand_composites: Whether composite tensors are structures of their components.
      check_subtrees_length: Whether both must have the same number of children; otherwise
        `input_tree` may have more.

    Raises:
      TypeError: If classes differ, or `input_tree` is a leaf where it must not be.
      ValueError: If lengths or keys differ.
    """
    limit = _limit(expand_composites)
    kind = _kind(shallow_tree)
    if not 0 < kind < limit:
        return
    if not 0 < _kind(input_tree) < limit:
        raise TypeError(_IF_SHALLOW_IS_SEQ_INPUT_MUST_BE_SEQ.format(type(input_tree)))
    if check_types:
        _assert_shallow_class(shallow_tree, input_tree)
    if kind >= _COMPOSITE or _is_composite_tensor(input_tree):
        _assert_shallow_composite(shallow_tree, input_tree)
    else:
        _assert_shallow_size(shallow_tree, input_tree, check_subtrees_length)
    if kind == _MAPPING:
        absent = set(shallow_tree) - set(input_tree)
        if absent:
            raise ValueError(_SHALLOW_TREE_HAS_INVALID_KEYS.format(sorted(absent)))
    for shallow_child, child in zip(_yield_value(shallow_tree), _yield_value(input_tree)):
        assert_shallow_structure(
            shallow_child, child, check_types, expand_composites, check_subtrees_length
        )


def _yield_flat_up_to(
    shallow_tree: Any, input_tree: Any, limit: int, path: tuple[Any, ...] = ()
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Yield the pairs (path, part of `input_tree`) for every leaf of `shallow_tree`."""
    if not 0 < _kind(shallow_tree) < limit:
        yield path, input_tree
        return
    children = dict(_yield_sorted_items(input_tree))
    for key, subtree in _yield_sorted_items(shallow_tree):
        yield from _yield_flat_up_to(subtree, children[key], limit, (*path, key))


@export("contrib.framework.nest.flatten_with_tuple_paths_up_to")
def flatten_with_tuple_paths_up_to(
    shallow_tree: Any,
    input_tree: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    check_subtrees_length: bool = True,
) -> list[tuple[tuple[Any, ...], Any]]:
    """Return the pairs (path, part of `input_tree`) for the leaves of `shallow_tree`."""
    assert_shallow_structure(
        shallow_tree, input_tree, check_types, expand_composites, check_subtrees_length
    )
    return list(_yield_flat_up_to(shallow_tree, input_tree, _limit(expand_composites)))


@export("contrib.framework.nest.flatten_up_to")
def flatten_up_to(
    shallow_tree: Any,
    input_tree: Any,
    check_types: bool = True,
    expand_composites: bool = False,
    check_subtrees_length: bool = True,
) -> list[Any]:
    """Return the parts of `input_tree` at the leaves of `shallow_tree`."""
    pairs = flatten_with_tuple_paths_up_to(
        shallow_tree, input_tree, check_types, expand_composites, check_subtrees_length
    )
    return [value for _, value in pairs]


@export("contrib.framework.nest.map_structure_up_to")
def map_structure_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any
) -> Any:
    """Apply a function to the parts of structures at the leaves of `shallow_tree`.

    Args:
      shallow_tree: The structure whose form the result has.
      func: Called with one part of every input.
      *inputs: Structures that go as deep as `shallow_tree` or deeper.
      **kwargs: `check_types`, `expand_composites`, `check_subtrees_length`, as in
        `assert_shallow_structure`; others are passed to `func`.

    Raises:
      TypeError, ValueError: If an input does not have the form, or there is none.
    """

    def without_path(_: Any, *values: Any, **others: Any) -> Any:
        return func(*values, **others)

    return map_structure_with_tuple_paths_up_to(shallow_tree, without_path, *inputs, **kwargs)


@export("contrib.framework.nest.map_structure_with_tuple_paths_up_to")
def map_structure_with_tuple_paths_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, **kwargs: Any
) -> Any:
    """Map like `map_structure_up_to`; `func` gets the path, a tuple of keys, before the values."""
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    check_types = kwargs.pop("check_types", True)
    expand_composites = kwargs.pop("expand_composites", False)
    check_subtrees_length = kwargs.pop("check_subtrees_length", True)
    flat = [
        flatten_with_tuple_paths_up_to(
            shallow_tree, tree, check_types, expand_composites, check_subtrees_length
        )
        for tree in inputs
    ]
    paths = [path for path, _ in flat[0]]
    values = [[value for _, value in pairs] for pairs in flat]
    results = [func(*entry, **kwargs) for entry in zip(paths, *values)]
    return pack_sequence_as(shallow_tree, results, expand_composites)


@export("contrib.framework.nest.map_structure_with_tuple_paths")
def map_structure_with_tuple_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Map like `map_structure`; `func` gets the path, a tuple of keys, before the leaves."""
    return map_structure_with_tuple_paths_up_to(structure[0], func, *structure, **kwargs)


@export("contrib.framework.nest.map_structure_with_paths")
def map_structure_with_paths(func: Callable[..., Any], *structure: Any, **kwargs: Any) -> Any:
    """Map like `map_structure`; `func` gets the path, keys joined by "/", before the leaves."""

    def with_joined_path(path: Any, *leaves: Any, **others: Any) -> Any:
        return func("/".join([str(key) for key in path]), *leaves, **others)

    return map_structure_with_tuple_paths(with_joined_path, *structure, **kwargs)


@export("contrib.framework.nest.yield_flat_paths")
def yield_flat_paths(nest: Any, expand_composites: bool = False) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every leaf, in the order of `flatten`."""
    for path, _ in _yield_flat_up_to(nest, nest, _limit(expand_composites)):
        yield path


@export("contrib.framework.nest.flatten_with_tuple_paths")
def flatten_with_tuple_paths(
    structure: Any, expand_composites: bool = False
) -> list[tuple[tuple[Any, ...], Any]]:
    """Return the pairs (path, leaf)."""
    return list(_yield_flat_up_to(structure, structure, _limit(expand_composites)))


@export("contrib.framework.nest.flatten_with_joined_string_paths")
def flatten_with_joined_string_paths(
    structure: Any, separator: str = "/", expand_composites: bool = False
) -> list[tuple[str, Any]]:
    """Return the pairs (path as one string, leaf)."""
    return [
        (separator.join([str(key) for key in path]), leaf)
        for path, leaf in flatten_with_tuple_paths(structure, expand_composites)
    ]


@export("contrib.framework.nest.get_traverse_shallow_structure")
def get_traverse_shallow_structure(
    traverse_fn: Callable[[Any], Any], structure: Any, expand_composites: bool = False
) -> Any:
    """Return a structure of bools: the depth to which `structure` is traversed.

    Args:
      traverse_fn: Given a structure, says whether to go into it: a bool, or a structure of one
        level that says so for each child.
      structure: The structure to walk.
      expand_composites: Whether composite tensors are structures of their components.

    Returns:
      The upper part of `structure`, with True for leaves and False for what is not gone into.

    Raises:
      TypeError: If `traverse_fn` returns anything else.
    """
    limit = _limit(expand_composites)
    decision = traverse_fn(structure)
    if not 0 < _kind(structure) < limit:
        if not isinstance(decision, bool):
            raise TypeError(
                f"traverse_fn returned structure: {decision} for non-structure: {structure}"
            )
        return decision
    if decision is False:
        return False
    children = list(_yield_value(structure))
    if decision is True:
        decisions: list[Any] = [True] * len(children)
    elif not 0 < _kind(decision) < limit:
        raise TypeError(
            f"traverse_fn returned a non-bool scalar: {decision} for input: {structure}"
        )
    else:
        assert_shallow_structure(decision, structure, expand_composites=expand_composites)
        decisions = list(_yield_value(decision))
        if not all(isinstance(one, bool) for one in decisions):
            raise TypeError(
                "traverse_fn didn't return a depth=1 structure of bools.  "
                f"saw: {decision}  for structure: {structure}"
            )
    return _sequence_like(
        structure,
        [
            get_traverse_shallow_structure(traverse_fn, child, expand_composites) if go else False
            for go, child in zip(decisions, children)
        ],
    )
