"""Values of tensors that Python code may know while it builds graphs.

TF's shape functions know more (see `graph/constant_value.py`); where Python code decides which
nodes to make by a value, it only sees through the few ops below, and so the same nodes are made.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.constant_value import Known, constant_value, partial_shape
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_like import is_tensor
from stillflow.graph.tensor_shape import TensorShape, dimension_value

if TYPE_CHECKING:
    from stillflow.graph.arrays import Array


@export("get_static_value", "contrib.util.constant_value")
def static_value(tensor: Any, partial: bool = False) -> Any:
    """Return the value of a tensor as an array where it follows from constants, else None.

    A tensor whose value was given out here can no longer be fed.

    Args:
      tensor: a tensor; what is not a tensor is its own value.
      partial: whether a vector may be given with None for elements that are not known.
    """
    if not is_tensor(tensor):
        return tensor
    if not isinstance(tensor, Tensor):
        return None
    value = _value(tensor, partial)
    if value is not None and not tensor.holds_value:
        tensor.graph.prevent_feeding(tensor)
    return value


def _value(tensor: Tensor, partial: bool) -> Array | None:
    if tensor.holds_value:
        return constant_value(tensor)
    op = tensor.op
    if op.type in ("Const", "Shape"):
        return constant_value(tensor)
    if op.type in ("Size", "Rank"):
        return _counted(op, tensor)
    if op.type == "Pack":
        return _packed(op, partial)
    if op.type == "Fill":
        fill = static_value(op._inputs[1])
        dims = tensor._dims
        if fill is None or dims is None or None in dims:
            return None
        return np.full(dims, fill, fill.dtype)
    compute = _COMPUTED.get(op.type)
    if compute is None:
        return None
    arrays = []
    for item in op._inputs:
        array = static_value(item)
        if array is None:
            return None
        arrays.append(array)
    return compute(op, arrays)


def _counted(op: Operation, tensor: Tensor) -> Array | None:
    """Return a size or rank, from the static shape."""
    dims = op._inputs[0]._dims
    if dims is None or (op.type == "Size" and None in dims):
        return constant_value(tensor)
    number = len(dims) if op.type == "Rank" else math.prod(cast("tuple[int, ...]", dims))
    return np.array(number, tensor.dtype.as_numpy_dtype)


def _packed(op: Operation, partial: bool) -> Array | None:
    if not op._inputs or op.attrs["axis"] != 0:
        return None
    values = []
    for item in op._inputs:
        value = static_value(item, partial)
        if value is None and not partial:
            return None
        values.append(value)
    if any(value is None for value in values):
        unknown = np.empty(len(values), object)
        unknown[:] = values
        return unknown
    return np.array(values)


def _numpy_type(op: Operation) -> type[Any]:
    return op._outputs[0].dtype.base_dtype.as_numpy_dtype


_COMPUTED: dict[str, Callable[[Operation, list[Any]], Any]] = {
    "Range": lambda op, given: np.arange(*given, dtype=_numpy_type(op)),
    "Cast": lambda op, given: given[0].astype(_numpy_type(op)),
    "Concat": lambda op, given: np.concatenate(given[1:], axis=given[0]),
    "ConcatV2": lambda op, given: np.concatenate(given[:-1], axis=given[-1]),
    "Equal": lambda op, given: np.equal(*given),
    "NotEqual": lambda op, given: np.not_equal(*given),
}


class _Readable(Known):
    """Known values for `partial_shape`: only those that Python code may know."""

    @staticmethod
    def value(tensor: Tensor) -> Any:
        return static_value(tensor)

    @staticmethod
    def dims(tensor: Tensor) -> tuple[int | None, ...] | None:
        return tensor._dims


def constant_value_as_shape(tensor: Tensor) -> TensorShape:
    """Return the shape an integer vector stands for, with None for each size that is not known.

    A scalar is -1, for an unknown shape; ValueError for any other, or for a rank above 1.
    """
    if tensor._dims == ():
        value = static_value(tensor)
        needed = "require a statically known scalar with value '-1' to describe an unknown shape."
        if value is None:
            raise ValueError(f"Received a scalar with unknown value as shape; {needed}")
        if value != -1:
            raise ValueError(f"Received a scalar value '{value}' as shape; {needed}")
        return TensorShape(None)
    dims_lib.with_rank(tensor._dims, 1)
    return TensorShape(partial_shape(tensor, _Readable))


def shape_tensor(shape: Any) -> Tensor:
    """Return a shape as an integer vector: int32, unless its sizes need or have another type.

    `shape` is a TensorShape, a tensor, or a list of ints, dimensions and scalar tensors.
    """
    if not isinstance(shape, (list, tuple)):
        return convert_to_tensor(shape, name="shape")
    if not shape:
        return convert_to_tensor(shape, dtype=dtypes.int32, name="shape")
    return convert_to_tensor(tuple(map(dimension_value, shape)), name="shape")
