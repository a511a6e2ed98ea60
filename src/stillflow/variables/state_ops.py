"""Functions that change or ask a variable of either kind: `tf.assign`, `tf.count_up_to`, ..."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.variables import reference
from stillflow.ops.variables.reference import is_variable_initialized_op


@export("is_variable_initialized")
def is_variable_initialized(ref: Any, name: str | None = None) -> Tensor:
    """Whether a variable has a value when the graph runs."""
    result: Tensor
    if hasattr(ref, "is_initialized"):
        result = ref.is_initialized(name=name)
    else:
        result = is_variable_initialized_op(ref, name=name)
    return result


@export("assign")
def assign(
    ref: Any,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Sets a variable to `value` when run; gives what reads it afterwards."""
    if _is_reference(ref):
        return reference.assign_op(
            ref, value, validate_shape=validate_shape, use_locking=use_locking, name=name
        )
    return ref.assign(value, name=name)


@export("assign_add")
def assign_add(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Adds `value` to a variable when run; gives what reads it afterwards."""
    if _is_reference(ref):
        return reference.assign_add_op(ref, value, use_locking=use_locking, name=name)
    return ref.assign_add(value)


@export("assign_sub")
def assign_sub(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Subtracts `value` from a variable when run; gives what reads it afterwards."""
    if _is_reference(ref):
        return reference.assign_sub_op(ref, value, use_locking=use_locking, name=name)
    return ref.assign_sub(value)


@export("count_up_to")
def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """Gives a counter's value and increments it; tf.errors.OutOfRangeError at `limit`."""
    result: Tensor
    if _is_reference(ref):
        result = reference.count_up_to_op(ref, limit=limit, name=name)
    else:
        result = ref.count_up_to(limit)
    return result


def _is_reference(ref: Any) -> bool:
    return bool(ref.dtype._is_ref_dtype)
