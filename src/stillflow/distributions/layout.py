"""Moving dimensions of samples, batches and events about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.arrays import Array
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape, dimension_at_index, dimension_value
from stillflow.ops.arrays.broadcast import broadcast_dynamic_shape, broadcast_static_shape
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.one_hot import one_hot
from stillflow.ops.arrays.pad import pad as pad_
from stillflow.ops.arrays.select import where, where_v2
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import rank as rank_of
from stillflow.ops.arrays.shape import shape
from stillflow.ops.arrays.slicing import slice_
from stillflow.ops.arrays.stack import stack
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.cond import cond as cond_
from stillflow.ops.debugging.types import assert_integer
from stillflow.ops.math.comparison import equal, less
from stillflow.ops.math.division import floormod
from stillflow.ops.math.reductions import reduce_all


def rotate_transpose(x: Any, shift: Any, name: str = "rotate_transpose") -> Tensor:
    """Move the last `shift` dimensions to the front, or the first `-shift` to the end.

    TypeError if `shift` is no integer.
    """
    with name_scope(name, values=[x, shift]):
        x = convert_to_tensor(x, name="x")
        shift = convert_to_tensor(shift, name="shift")
        assert_integer(shift)
        known, rank = static_value(shift), x.shape.ndims
        if rank is not None and known is not None:
            if rank < 2:
                return x
            # The sign of the shift decides the direction, as it does for np.roll.
            known = np.sign(known) * (abs(known) % rank)
            if known == 0:
                return x
            return transpose(x, perm=np.roll(np.arange(rank), known))
        rank = rank_of(x)
        shift = where_v2(less(shift, 0), floormod(-shift, rank), rank - floormod(shift, rank))
        first = range_(0, shift)
        last = range_(shift, rank)
        return transpose(x, perm=concat([last, first], 0))


def pick_vector(cond: Any, true_vector: Any, false_vector: Any, name: str = "pick_vector") -> Any:
    """Return one of two vectors, which may have different lengths, by a boolean scalar."""
    with name_scope(name, values=(cond, true_vector, false_vector)):
        cond = convert_to_tensor(cond, name="cond")
        if cond.dtype != dtypes.bool:
            raise TypeError(f"{cond}.dtype={cond.dtype} which is not {dtypes.bool}")
        known = static_value(cond)
        if known is not None:
            return true_vector if known else false_vector
        first = convert_to_tensor(true_vector, name="true_vector")
        second = convert_to_tensor(false_vector, name="false_vector")
        if first.dtype != second.dtype:
            raise TypeError(
                f"{first}.dtype={first.dtype} does not match {second}.dtype={second.dtype}"
            )
        length = shape(first)[0]
        both = concat([first, second], 0)
        start, count = [where_v2(cond, 0, length)], [where(cond, length, -1)]
        return slice_(both, start, count)


def prefer_static_value(x: Any) -> Tensor | Array:
    """Return the value of a tensor if it is known, else the tensor."""
    known = static_value(x)
    return x if known is None else known


def prefer_static_rank(x: Any) -> Any:
    """Return the rank, as a number if it is known."""
    return prefer_static_value(rank_of(x))


def prefer_static_shape(x: Any) -> Tensor | Array:
    """Return the shape, as an array if it is known."""
    return prefer_static_value(shape(x))


def prefer_static_broadcast_shape(
    shape1: Any, shape2: Any, name: str = "prefer_static_broadcast_shape"
) -> Any:
    """Return the shape that two shapes broadcast to, static if both are known.

    ValueError for a `TensorShape` that is partly known with one that is a tensor.
    """
    with name_scope(name, values=[shape1, shape2]):

        def tensor(x: Any) -> Any:
            return convert_to_tensor(x, name="shape", dtype=dtypes.int32)

        def static(x: Any) -> TensorShape | None:
            if isinstance(x, TensorShape):
                return x
            known = static_value(tensor(x))
            return None if known is None else TensorShape(known)

        def dynamic(x: Any) -> Tensor:
            if not isinstance(x, TensorShape):
                return tensor(x)
            if x.is_fully_defined():
                return tensor(x.as_list())
            raise ValueError("Cannot broadcast from partially defined `TensorShape`.")

        first, second = static(shape1), static(shape2)
        if first is not None and second is not None:
            return broadcast_static_shape(first, second)
        return broadcast_dynamic_shape(dynamic(shape1), dynamic(shape2))


def dimension_size(x: Any, axis: int) -> int | Tensor:
    """Return the size along an axis, as a number if it is known."""
    size = dimension_value(x.shape.with_rank_at_least(np.abs(axis))[axis])
    return shape(x)[axis] if size is None else size


def same_dynamic_shape(a: Any, b: Any) -> Any:
    """Return True if two tensors have the same shape, as a tensor."""
    tensors = [convert_to_tensor(x, name=name) for name, x in (("a", a), ("b", b))]

    def all_equal() -> Any:
        # Concatenated both ways, shapes of different ranks could be compared as well.
        orders = (tensors, tensors[::-1])
        first, second = (concat([shape(x) for x in order], 0) for order in orders)
        return reduce_all(equal(first, second))

    first, second = (rank_of(x) for x in tensors)
    return cond_(equal(first, second), all_equal, lambda: constant(False))


def pad(
    x: Any,
    axis: Any,
    front: bool = False,
    back: bool = False,
    value: Any = 0,
    count: Any = 1,
    name: str | None = None,
) -> Tensor:
    """Pad one axis, an integer scalar, at its front, its back or both, by `count` values."""
    with name_scope(name, "pad", [x, value, count]):
        x = convert_to_tensor(x, name="x")
        value = convert_to_tensor(value, dtype=x.dtype, name="value")
        count = convert_to_tensor(count, name="count")
        if not count.dtype.is_integer:
            raise TypeError(f"`count.dtype` (`{count.dtype.name}`) must be `int`-like.")
        if not front and not back:
            raise ValueError("At least one of `front`, `back` must be `True`.")
        rank = rank_of(x, name="ndims") if x.shape.ndims is None else x.shape.ndims
        axis = convert_to_tensor(axis, name="axis")
        known = static_value(axis)
        final_shape = None
        if known is None:
            axis = where_v2(axis < 0, rank + axis, axis)
        else:
            axis = rank + known if known < 0 else known
            if known >= 0 or x.shape.ndims is not None:
                final_shape = _padded_shape(x, int(axis), static_value(count), front + back)
        ends = stack([axis if front else -1, axis if back else -1])
        paddings = one_hot(indices=ends, depth=rank, axis=0, on_value=count, dtype=dtypes.int32)
        x = pad_(x, paddings=paddings, constant_values=value)
        if final_shape is not None:
            x.set_shape(final_shape)
        return x


def _padded_shape(x: Any, axis: int, count: Any, ends: int) -> Any:
    size: Any = None
    if count is not None:
        size = dimension_at_index(x.shape, axis) + int(count) * ends
    return x.shape[:axis].concatenate(TensorShape([size]).concatenate(x.shape[axis + 1 :]))


def known_or(known: Any, name: str, computed: Callable[[], Any]) -> Tensor:
    """Return a constant of the value if it is known, else `computed()` in a scope of that name."""
    if known is not None:
        return convert_to_tensor(known, dtype=dtypes.int32, name=name)
    with name_scope(name=name):
        return computed()
