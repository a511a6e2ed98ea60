"""Python indexing of tensors, `tensor[...]`, as a StridedSlice."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import Dimension
from stillflow.ops.arrays.slicing import strided_slice
from stillflow.ops.arrays.stack import stack
from stillflow.ops.constants import constant
from stillflow.ops.forward_declarations import boolean_mask

INDEX_ERROR = (
    "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar "
    "tf.int32/tf.int64 tensors are valid indices"
)
_INDEX_TYPES = (dtypes.int32, dtypes.int64)


def _check_index(index: Any) -> None:
    """Raise an error for an index that is neither an integer nor an integer scalar."""
    if isinstance(index, (int, Dimension)):
        return
    dtype = getattr(index, "dtype", None)
    if (
        dtype is None
        or dtypes.as_dtype(dtype).base_dtype not in _INDEX_TYPES
        or (index.shape and len(index.shape) == 1)
    ):
        raise TypeError(f"{INDEX_ERROR}, got {index!r}")


def _is_given(bound: Any) -> bool:
    # Python writes an open end as None or as sys.maxsize.
    return bound is not None and (isinstance(bound, Tensor) or bound != sys.maxsize)


class _Spec:
    """Begin, end, strides and masks, collected from the parts of a Python index."""

    def __init__(self, parts: Sequence[Any]) -> None:
        self.begin: list[Any] = []
        self.end: list[Any] = []
        self.strides: list[Any] = []
        self.masks = dict.fromkeys(
            ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"), 0
        )
        for position, part in enumerate(parts):
            bit = 1 << position
            if isinstance(part, slice):
                self._add_range(part, bit)
            elif part is Ellipsis:
                self._add(0, 0, 1, "ellipsis_mask", bit)
            elif part is None:
                self._add(0, 0, 1, "new_axis_mask", bit)
            else:
                _check_index(part)
                self._add(part, part + 1, 1, "shrink_axis_mask", bit)

    def _add(self, begin: Any, end: Any, stride: Any, mask: str = "", bit: int = 0) -> None:
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(stride)
        if mask:
            self.masks[mask] |= bit

    def _add_range(self, part: Any, bit: int) -> None:
        begin, end, stride = 0, 0, 1
        if _is_given(part.start):
            _check_index(part.start)
            begin = part.start
        else:
            self.masks["begin_mask"] |= bit
        if _is_given(part.stop):
            _check_index(part.stop)
            end = part.stop
        else:
            self.masks["end_mask"] |= bit
        if part.step is not None:
            _check_index(part.step)
            stride = part.step
        self._add(begin, end, stride)

    def vectors(self) -> list[Any]:
        """Begin, end and strides as tensors of one type, or lists where operations run at once."""
        parts = [self.begin, self.end, self.strides]
        kinds = {type(number) for part in parts for number in part}
        if kinds == {int} and get_default_graph().runs_at_once:
            return parts
        if not self.begin:
            return [constant([], dtype=dtypes.int32)] * 3
        vectors = [stack(self.begin), stack(self.end), stack(self.strides)]
        if any(vector.dtype == dtypes.int64 for vector in vectors):
            from stillflow.ops.math.cast import cast_op

            vectors = [
                vector if vector.dtype == dtypes.int64 else cast_op(vector, DstT=dtypes.int64)
                for vector in vectors
            ]
        return vectors


def slice_helper(tensor: Any, slice_spec: Any, var: Any = None) -> Tensor:
    """Return `tensor[slice_spec]`, which can be assigned to if `tensor` is the value of `var`.

    TypeError if the index holds something unknown, ValueError if it is known not to fit the tensor.
    """
    if (
        isinstance(slice_spec, bool)
        or (isinstance(slice_spec, Tensor) and slice_spec.dtype == dtypes.bool)
        or (isinstance(slice_spec, np.ndarray) and slice_spec.dtype == bool)
    ):
        return boolean_mask.value(tensor=tensor, mask=slice_spec)
    parts = slice_spec if isinstance(slice_spec, (list, tuple)) else [slice_spec]
    spec = _Spec(parts)
    values = [tensor, *spec.begin, *spec.end, *spec.strides]
    with name_scope(None, "strided_slice", values) as scope:
        begin, end, strides = spec.vectors()
        return strided_slice(tensor, begin, end, strides, **spec.masks, var=var, name=scope)


def slice_variable(var: Any, slice_spec: Any) -> Tensor:
    """`variable[slice_spec]`: a slice of its value, with a method `assign`."""
    return slice_helper(var.value(), slice_spec, var)


Tensor._override_operator("__getitem__", slice_helper)
