"""Changes of a tensor's rows: TensorFlow's `tensorflow.python.ops.inplace_ops`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.inplace import (
    empty_op,
    inplace_add_op,
    inplace_sub_op,
    inplace_update_op,
)
from stillflow.ops.arrays.shape import expand_dims, reshape, shape
from stillflow.ops.control_flow.identity_and_group import deep_copy_op
from stillflow.ops.math.cast import cast
from stillflow.util.deprecation import deprecated


def _changed(change: Callable[..., Tensor], x: Any, i: Any, v: Any) -> Tensor:
    x = convert_to_tensor(x)
    v = convert_to_tensor(v, x.dtype)
    if i is None:
        whole = change(reshape(x, [1, -1]), [0], reshape(v, [1, -1]))
        return reshape(whole, shape(x))
    i = cast(i, dtypes.int32)
    if i.shape.ndims == 0:
        return change(x, reshape(i, [1]), expand_dims(v, 0))
    return change(x, i, v)


def _function(
    how: str, change: Callable[..., Tensor], what: str, is_alias: bool
) -> Callable[..., Any]:
    def function(x: Any, i: Any, v: Any) -> Tensor:
        return _changed(change, x if is_alias else deep_copy_op(x), i, v)

    function.__name__ = f"alias_inplace_{how}" if is_alias else f"inplace_{how}"
    function.__qualname__ = function.__name__
    function.__doc__ = f"""{what} rows of a tensor, with the others as they are.

    Args:
      x: the tensor.
      i: which rows: all of them if it is None, one, or a vector of int32.
      v: what to do it with: of the shape of what `i` names.

    Returns:
      A tensor like `x`, which itself does not change.
    """
    newer = f"Prefer tf.tensor_scatter_nd_{how}, which offers the same functionality with "
    return deprecated(None, newer + "well-defined read-write semantics.")(function)


alias_inplace_update = _function("update", inplace_update_op, "Replaces", is_alias=True)
alias_inplace_add = _function("add", inplace_add_op, "Adds to", is_alias=True)
alias_inplace_sub = _function("sub", inplace_sub_op, "Subtracts from", is_alias=True)
inplace_update = _function("update", inplace_update_op, "Replaces", is_alias=False)
inplace_add = _function("add", inplace_add_op, "Adds to", is_alias=False)
inplace_sub = _function("sub", inplace_sub_op, "Subtracts from", is_alias=False)


def empty(shape: Any, dtype: Any, init: bool | None = None, name: str | None = None) -> Tensor:
    """Return a tensor of zeros; `init` has no effect, since memory is always cleared."""
    return empty_op(shape, dtype=dtypes.as_dtype(dtype), init=init, name=name)


def empty_like(x: Any, init: bool | None = None) -> Tensor:
    """Return a tensor of zeros of the shape and type of another."""
    x = convert_to_tensor(x)
    return empty(shape(x), x.dtype, init=init)
