"""Resources that are not variables (tables, boosted trees): registering and initializing them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NamedTuple

from stillflow.graph import dtypes
from stillflow.graph.api import add_to_collection, get_collection, name_scope
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import group, no_op


class _Resource(NamedTuple):
    """Handle, the operation that creates its resource, and a check of it."""

    handle: Any
    create: Any
    is_initialized: Any


def register_resource(
    handle: Any, create_op: Any, is_initialized_op: Any, is_shared: bool = True
) -> None:
    """Add a resource to the collection RESOURCES, or LOCAL_RESOURCES if it is not shared."""
    key = GraphKeys.RESOURCES if is_shared else GraphKeys.LOCAL_RESOURCES
    add_to_collection(key, _Resource(handle, create_op, is_initialized_op))


def shared_resources() -> list[_Resource]:
    """Resources that all tasks see."""
    return get_collection(GraphKeys.RESOURCES)


def local_resources() -> list[_Resource]:
    """Resources that belong to a session."""
    return get_collection(GraphKeys.LOCAL_RESOURCES)


def report_uninitialized_resources(
    resource_list: Sequence[Any] | None = None, name: str = "report_uninitialized_resources"
) -> Tensor:
    """Return a 1-D string tensor: the names of the handles of resources not yet initialized."""
    from stillflow.ops.arrays.masks import boolean_mask
    from stillflow.ops.arrays.stack import stack
    from stillflow.ops.math.comparison import logical_not

    resources = resource_list
    if resources is None:
        resources = shared_resources() + local_resources()
    device = os.environ.get("TF_DEVICE_FOR_UNINITIALIZED_VARIABLE_REPORTING", "/cpu:0")
    with name_scope(name), get_default_graph().device(device):
        if not resources:
            return constant([], dtype=dtypes.string)
        mask = logical_not(stack([resource.is_initialized for resource in resources]))
        names = constant([resource.handle.name for resource in resources])
        result: Tensor = boolean_mask(names, mask)
        return result


def initialize_resources(resource_list: Sequence[Any], name: str = "init") -> Operation:
    """Return an operation that initializes resources (or resource variables)."""
    if resource_list:
        return group(*[resource.create for resource in resource_list], name=name)
    result: Operation = no_op(name=name)
    return result
