"""Placeholders of a function's arguments, and their names."""

from __future__ import annotations

from typing import Any

from stillflow import nest
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType, resource
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.ops.functional.nodes import copy_handle_data
from stillflow.ops.functional.traced_graph import TracedGraph
from stillflow.variables.accesses import variable_accessed
from stillflow.variables.resource_variable import BaseResourceVariable


class UnknownArgument:
    """Stands in signatures for arguments that are no tensors, nor plain values."""


def flat_arguments(structure: Any) -> list[Any]:
    """Those arguments that a call passes: tensors, and variables for their handles."""
    flat = nest.flatten(structure, expand_composites=True)
    return [each for each in flat if isinstance(each, (Tensor, TensorSpec, BaseResourceVariable))]


def passed(value: Any, dtype: DType) -> Tensor:
    """Return the operand of a call for an argument: a tensor, or the handle of a variable."""
    if not isinstance(value, BaseResourceVariable) or dtype is not resource:
        return convert_to_tensor(value, dtype=dtype)
    variable_accessed(value)
    return value.handle


def placeholders(graph: TracedGraph, value: Any, name: str) -> Any:
    """Return an argument with placeholders for its tensors; variables' handles are given.

    `name` is for those without a `TensorSpec` that has one; ValueError if some of several have
    names, and others do not.
    """
    _check_names(value)

    def one(leaf: Any) -> Any:
        label = leaf.name or name if isinstance(leaf, TensorSpec) else name
        if isinstance(leaf, BaseResourceVariable):
            made = _placeholder(graph, leaf.handle, label)
            if graph.captured(leaf.handle) is None:
                graph.take_as_argument(leaf.handle, made)
            return leaf
        return _placeholder(graph, leaf, label) if isinstance(leaf, (Tensor, TensorSpec)) else leaf

    return nest.map_structure(one, value, expand_composites=True)


def _placeholder(graph: TracedGraph, like: Any, label: str) -> Tensor:
    try:
        made = graph.add_argument(like.dtype, like.shape, label)
    except ValueError:  # an argument's name that no operation may have
        made = graph.add_argument(like.dtype, like.shape, "Placeholder")
    made.op.attrs["_user_specified_name"] = label.encode()
    if isinstance(like, Tensor):
        copy_handle_data(like, made)
    return made


def _check_names(value: Any) -> None:
    specs = [each for each in nest.flatten(value) if isinstance(each, TensorSpec)]
    if specs != [value] and len({each.name is None for each in specs}) > 1:
        raise ValueError(
            "If specifying TensorSpec names for nested structures, either zero or all names have "
            "to be specified."
        )


def signature_of(value: Any, name: str) -> Any:
    """Return an argument's entry in a signature: `TensorSpec`s with names for tensors."""
    if not nest.is_sequence(value):
        return _of_leaf(value, name)
    paths = nest.flatten_with_joined_string_paths(value)
    flat = [_of_leaf(leaf, f"{name}/{path}") for path, leaf in paths]
    return nest.pack_sequence_as(value, flat)


def _of_leaf(leaf: Any, name: str) -> Any:
    if isinstance(leaf, (Tensor, TensorSpec)):
        label = leaf.name if isinstance(leaf, TensorSpec) else None
        return TensorSpec(leaf.shape, leaf.dtype, label or name)
    plain = isinstance(leaf, (bool, int, float, str, bytes, type(None)))
    return leaf if plain or not isinstance(leaf, BaseResourceVariable) else UnknownArgument()
