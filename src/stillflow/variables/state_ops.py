"""Functions that change or ask a variable of either kind: `tf.assign`, `tf.count_up_to`, ..."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.ops.variables import reference
from stillflow.ops.variables.reference import is_variable_initialized_op


def variable_op(
    shape: Any,
    dtype: Any,
    name: str | None = "Variable",
    set_shape: bool = True,
    container: str = "",
    shared_name: str = "",
) -> Tensor:
    """Add the first version of the variable op; without `set_shape` its shape is unknown."""
    shape = as_shape(shape) if set_shape else TensorShape(None)
    ref: Tensor = reference.variable_op(
        shape=shape, dtype=dtype, name=name, container=container, shared_name=shared_name
    )
    if set_shape:
        ref.set_shape(shape)
    return ref


def variable_op_v2(
    shape: Any,
    dtype: Any,
    name: str | None = "Variable",
    container: str = "",
    shared_name: str = "",
) -> Tensor:
    """Add the op behind reference variables."""
    ref: Tensor = reference.variable_v2_op(
        shape=as_shape(shape),
        dtype=dtype,
        name=name,
        container=container,
        shared_name=shared_name,
    )
    return ref


def init_variable(v: Any, init: Any, name: str = "init") -> Tensor:
    """Assign a variable's first value: a tensor, or the result of `init(shape, dtype)`."""
    with (
        name_scope(None, v.op.name + "/", [v, init]),
        name_scope(name) as scope,
        get_default_graph().colocate_with(v),
    ):
        if callable(init):
            assert v.get_shape().is_fully_defined(), "Variable shape unknown."
            made = init(v.get_shape().as_list(), v.dtype.base_dtype)
            value = convert_to_tensor(made, name="value")
        else:
            value = convert_to_tensor(init, name="init")
        result: Tensor = reference.assign_op(v, value, name=scope)
        return result


@export("is_variable_initialized")
def is_initialized(variable: Any) -> Tensor:
    """Return True if a variable has a value when the graph runs."""
    return is_variable_initialized(variable)


def is_variable_initialized(ref: Any, name: str | None = None) -> Tensor:
    """Return True if a variable has a value when the graph runs."""
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
    """Assign `value` to a variable when run; return the value read afterwards.

    Args:
      ref: a variable.
      value: a tensor of its type, and of its shape unless `validate_shape` is False.
      validate_shape: False to give the variable the shape of the value.
      use_locking: lock the variable meanwhile.
      name: of the operation.

    Returns:
      The new value, read after the assignment.

    Example:
      >>> v = tf.Variable([1, 2])
      >>> print(tf.Session().run(tf.assign(v, [3, 4])))
      [3 4]
    """
    if _is_reference(ref):
        return reference.assign_op(
            ref, value, validate_shape=validate_shape, use_locking=use_locking, name=name
        )
    return ref.assign(value, name=name)


@export("assign_add")
def assign_add(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Add `value` to a variable when run; return the value read afterwards.

    Args:
      ref: a variable of numbers.
      value: a tensor of its type and shape.
      use_locking: lock the variable meanwhile.
      name: of the operation.

    Returns:
      The new value, read after the assignment.

    Example:
      >>> step, sess = tf.Variable(10), tf.Session()
      >>> print(sess.run(step.initializer), sess.run(tf.assign_add(step, 1)))
      None 11
    """
    if _is_reference(ref):
        return reference.assign_add_op(ref, value, use_locking=use_locking, name=name)
    return ref.assign_add(value)


@export("assign_sub")
def assign_sub(
    ref: Any, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Subtract `value` from a variable when run; return the value read afterwards."""
    if _is_reference(ref):
        return reference.assign_sub_op(ref, value, use_locking=use_locking, name=name)
    return ref.assign_sub(value)


@export("count_up_to")
def count_up_to(ref: Any, limit: int, name: str | None = None) -> Tensor:
    """Return a counter's value and increment it; tf.errors.OutOfRangeError at `limit`."""
    result: Tensor
    if _is_reference(ref):
        result = reference.count_up_to_op(ref, limit=limit, name=name)
    else:
        result = ref.count_up_to(limit)
    return result


def _is_reference(ref: Any) -> bool:
    return bool(ref.dtype._is_ref_dtype)
