"""Nested structures: lists, tuples, named tuples, dicts and attrs classes inside each other.

All other objects are leaves: numbers, strings, arrays, tensors, sets. Mappings are walked in the
order of their sorted keys. With `expand_composites`, composite tensors (whose class has a
`_type_spec`) and their type specifications are structures of their components as well.
"""

from __future__ import annotations

from stillflow.nest.compare import assert_same_structure, map_structure
from stillflow.nest.shallow import (
    _IF_SHALLOW_IS_SEQ_INPUT_MUST_BE_SEQ,
    _INPUT_TREE_SMALLER_THAN_SHALLOW_TREE,
    _SHALLOW_TREE_HAS_INVALID_KEYS,
    _STRUCTURES_HAVE_MISMATCHING_LENGTHS,
    _STRUCTURES_HAVE_MISMATCHING_TYPES,
    assert_shallow_structure,
    flatten_up_to,
    flatten_with_joined_string_paths,
    flatten_with_tuple_paths,
    flatten_with_tuple_paths_up_to,
    get_traverse_shallow_structure,
    map_structure_up_to,
    map_structure_with_paths,
    map_structure_with_tuple_paths,
    map_structure_with_tuple_paths_up_to,
    yield_flat_paths,
)
from stillflow.nest.structure import (
    _is_attrs,
    _is_composite_tensor,
    _is_mapping,
    _is_mapping_view,
    _is_namedtuple,
    _is_type_spec,
    _same_namedtuples,
    _sequence_like,
    _sorted,
    _yield_sorted_items,
    _yield_value,
    flatten,
    flatten_dict_items,
    is_nested,
    is_sequence,
    is_sequence_or_composite,
    pack_sequence_as,
)

__all__ = [
    "assert_same_structure",
    "assert_shallow_structure",
    "flatten",
    "flatten_dict_items",
    "flatten_up_to",
    "flatten_with_joined_string_paths",
    "flatten_with_tuple_paths",
    "flatten_with_tuple_paths_up_to",
    "get_traverse_shallow_structure",
    "is_nested",
    "is_sequence",
    "is_sequence_or_composite",
    "map_structure",
    "map_structure_up_to",
    "map_structure_with_paths",
    "map_structure_with_tuple_paths",
    "map_structure_with_tuple_paths_up_to",
    "pack_sequence_as",
    "yield_flat_paths",
    # Programs reach for these too.
    "_IF_SHALLOW_IS_SEQ_INPUT_MUST_BE_SEQ",
    "_INPUT_TREE_SMALLER_THAN_SHALLOW_TREE",
    "_SHALLOW_TREE_HAS_INVALID_KEYS",
    "_STRUCTURES_HAVE_MISMATCHING_LENGTHS",
    "_STRUCTURES_HAVE_MISMATCHING_TYPES",
    "_is_attrs",
    "_is_composite_tensor",
    "_is_mapping",
    "_is_mapping_view",
    "_is_namedtuple",
    "_is_type_spec",
    "_same_namedtuples",
    "_sequence_like",
    "_sorted",
    "_yield_sorted_items",
    "_yield_value",
]
