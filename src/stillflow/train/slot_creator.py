"""Slots: the variables that an optimizer keeps for each variable that it trains."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from stillflow.distribute.context import get_strategy
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.variables.base import SaveSliceInfo, VariableV2
from stillflow.variables.initializers import Zeros
from stillflow.variables.ref_variable import RefVariable
from stillflow.variables.resource_variable import is_resource_variable
from stillflow.variables.variable_scope import get_variable, get_variable_scope, variable_scope


def create_slot(primary: Any, val: Any, name: str, colocate_with_primary: bool = True) -> Any:
    """Make a slot `<primary>/<name>` that starts with the tensor `val`."""
    validate_shape = val.get_shape().is_fully_defined()
    with _scope(primary, name, colocate_with_primary):
        return _create(primary, val, validate_shape, None, None)


def create_slot_with_initializer(
    primary: Any,
    initializer: Any,
    shape: TensorShape,
    dtype: Any,
    name: str,
    colocate_with_primary: bool = True,
) -> Any:
    """Make a slot `<primary>/<name>` that `initializer(shape, dtype)` starts."""
    validate_shape = shape.is_fully_defined()
    with _scope(primary, name, colocate_with_primary):
        return _create(primary, initializer, validate_shape, shape, dtype)


def create_zeros_slot(
    primary: Any, name: str, dtype: Any = None, colocate_with_primary: bool = True
) -> Any:
    """Make a slot of zeros, of the shape and by default the type of `primary`."""
    dtype = primary.dtype if dtype is None else dtype
    shape = primary.get_shape()
    if shape.is_fully_defined():
        return create_slot_with_initializer(
            primary, Zeros(), shape, dtype, name, colocate_with_primary
        )
    value = primary.initialized_value() if isinstance(primary, VariableV2) else primary
    return create_slot(primary, zeros(shape_of(value), dtype=dtype), name, colocate_with_primary)


def first_part(variable: Any) -> Any:
    """Return the part of a distributed variable that names it; other variables as they are."""
    return variable.primary if getattr(variable, "is_distributed", False) else variable


def name_of(primary: Any) -> str:
    """Return the name of a variable or tensor, without the number of an output.

    "" if it has none.
    """
    primary = first_part(primary)
    if getattr(primary, "holds_value", False):
        return ""
    if is_resource_variable(primary) and primary.handle.holds_value:
        return str(primary._shared_name)
    return str(primary.op.name)


@contextlib.contextmanager
def _scope(primary: Any, name: str, colocate: bool) -> Iterator[None]:
    with variable_scope(None, f"{name_of(primary)}/{name}"):
        if not colocate:
            yield
            return
        with get_strategy().extended.colocate_vars_with(primary):
            yield


def _create(primary: Any, val: Any, validate_shape: bool, shape: Any, dtype: Any) -> Any:
    scope = get_variable_scope()
    # A part of a partitioned variable has slots of its own, which are not split again.
    partitioner = scope.partitioner
    scope.set_partitioner(None)
    use_resource = None
    if is_resource_variable(primary):
        use_resource = True
    elif isinstance(primary, RefVariable):
        use_resource = False
    slot = get_variable(
        "",
        initializer=val,
        trainable=False,
        use_resource=use_resource,
        shape=shape if callable(val) else None,
        dtype=dtype,
        validate_shape=validate_shape,
    )
    scope.set_partitioner(partitioner)
    if isinstance(primary, VariableV2) and primary._save_slice_info:
        _copy_slice_info(primary, slot)
    return slot


def _copy_slice_info(primary: Any, slot: Any) -> None:
    """Make checkpoints combine the slots of a partitioned variable like the variable."""
    name = slot.name[len(name_of(primary) + "/") : -2]
    info = primary._save_slice_info
    slot._set_save_slice_info(
        SaveSliceInfo(
            f"{info.full_name}/{name}",
            info.full_shape[:],
            info.var_offset[:],
            info.var_shape[:],
        )
    )
