"""Sums and the like of ragged tensors: along dimensions, and over rows with the same number."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones_like, zeros
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.masks import positive_axis
from stillflow.ops.arrays.shape import shape
from stillflow.ops.debugging.comparisons import assert_equal
from stillflow.ops.math import reductions as dense
from stillflow.ops.math import segment as segments
from stillflow.ops.math.binary import maximum
from stillflow.ops.math.cast import cast
from stillflow.ops.math.cumulative import cumsum
from stillflow.ops.math.unary import sqrt
from stillflow.ops.strings.joining import reduce_join as dense_reduce_join
from stillflow.ops.strings.segments import unsorted_segment_join
from stillflow.ragged.conversion import (
    common_splits_dtype,
    convert_to_tensor_or_ragged_tensor,
    is_ragged,
)
from stillflow.ragged.mapping import map_flat_values
from stillflow.ragged.ranges import range as ragged_range
from stillflow.ragged.segments import INDEX_TYPES, row_splits_to_segment_ids
from stillflow.ragged.tensor import RaggedTensor

Reduce = Callable[..., Any]

# ---- Over rows with the same number


def _aggregate(
    combine: Reduce, data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
) -> Any:
    """Combine the rows of each segment, element by element, by a function of dense tensors."""
    if not (is_ragged(data) or is_ragged(segment_ids)):
        return combine(data, segment_ids, num_segments, name=name)
    with name_scope(name, "RaggedSegment", [data, segment_ids, num_segments]):
        data = convert_to_tensor_or_ragged_tensor(data, name="data")
        segment_ids = convert_to_tensor_or_ragged_tensor(segment_ids, name="segment_ids")
        common_splits_dtype(data, segment_ids)
        if segment_ids.dtype not in INDEX_TYPES:
            raise ValueError("segment_ids must have dtype int32 or int64.")
        if is_ragged(segment_ids):
            return _aggregate_inside(combine, data, segment_ids, num_segments)
        lengths = data.row_splits[1:] - data.row_splits[:-1]
        longest = segments.unsorted_segment_max(lengths, segment_ids, num_segments)
        longest = maximum(longest, 0)
        splits = concat([zeros([1], longest.dtype), cumsum(longest)], axis=0)
        # Where the values of each row of the data belong in the result.
        starts = gather(splits, segment_ids)
        limits = starts + lengths
        places = ragged_range(starts, limits).values
        values = _aggregate(combine, data.values, places, splits[-1])
        return RaggedTensor.from_row_splits(values, splits, validate=False)


def _aggregate_inside(combine: Reduce, data: Any, segment_ids: Any, num_segments: Any) -> Any:
    message = "segment_ids.shape must be a prefix of data.shape"
    if not is_ragged(data):
        raise ValueError(f"{message}, but segment_ids is ragged and data is not.")
    check = assert_equal(segment_ids.row_splits, data.row_splits, message=message)
    with control_dependencies([check]):
        return _aggregate(combine, data.values, segment_ids.values, num_segments)


def _segment_function(what: str, scope: str, combine: Reduce) -> Reduce:
    def function(
        data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
    ) -> RaggedTensor:
        return _aggregate(combine, data, segment_ids, num_segments, name or scope)

    function.__doc__ = (
        f"{what} of the rows of a ragged tensor with the same number.\n\n"
        "Args:\n  data: ragged.\n"
        "  segment_ids: the number of every row, or of every value: int32 or int64, dense or\n"
        "    ragged; its shape is a prefix of that of `data`.\n"
        "  num_segments: how many numbers there are.\n  name: of the scope.\n\n"
        "Returns:\n  A tensor with a row for each number, as long as the longest row with it.\n\n"
        "Raises:\n  ValueError: if the numbers are of another type or shape."
    )
    return function


segment_sum = _segment_function("The sums", "RaggedSegmentSum", segments.unsorted_segment_sum)
segment_prod = _segment_function(
    "The products", "RaggedSegmentProd", segments.unsorted_segment_prod
)
segment_min = _segment_function("The minima", "RaggedSegmentMin", segments.unsorted_segment_min)
segment_max = _segment_function("The maxima", "RaggedSegmentMax", segments.unsorted_segment_max)


def _ones_in_rows_of(data: Any) -> RaggedTensor:
    ones = ones_like(data.flat_values)
    return RaggedTensor.from_nested_row_splits(ones, data.nested_row_splits, validate=False)


def _divided_segments(scope: str, divisor: Callable[[Tensor], Tensor]) -> Reduce:
    """Return sums over segments, divided by a function of the number of elements of each sum."""

    def function(
        data: Any, segment_ids: Any, num_segments: Any, name: str | None = None
    ) -> RaggedTensor:
        with name_scope(name, scope, [data, segment_ids, num_segments]):
            total = segment_sum(data, segment_ids, num_segments)
            count = segment_sum(_ones_in_rows_of(data), segment_ids, num_segments)
            if is_ragged(total):
                return total.with_flat_values(total.flat_values / divisor(count.flat_values))
            return total / divisor(count)

    function.__doc__ = (segment_sum.__doc__ or "").replace("The sums", "The scaled sums")
    return function


segment_mean = _divided_segments("RaggedSegmentMean", lambda count: count)
segment_sqrt_n = _divided_segments("RaggedSegmentSqrtN", sqrt)


# ---- Along dimensions


def _reduced(
    reduce: Reduce, combine: Reduce, x: Any, axis: Any, keepdims: Any, name: str | None = None
) -> Any:
    """Reduce dimensions, from the innermost on.

    `reduce` is for dense tensors, `combine` for rows with the same number. `axis` is a Python int,
    several, or a tensor of known value.
    """
    if not is_ragged(x):
        return reduce(x, axis, name=name)
    if keepdims:
        raise ValueError("keepdims=True is not supported for RaggedTensors.")
    if isinstance(axis, Tensor):
        axis = static_value(axis)
        if axis is None:
            raise ValueError("axis must be known at graph construction time.")
    if isinstance(axis, np.ndarray):
        axis = axis.tolist()
    if axis is None:
        return reduce(x.flat_values, None, name=name)
    with name_scope(name, "RaggedReduce", [x, axis]):
        if isinstance(axis, (tuple, list)):
            if not axis:
                return x
            if len(axis) > 1:
                *outer, last = sorted(positive_axis(item, x.shape.ndims) for item in axis)
                inner = _reduced(reduce, combine, x, last, keepdims)
                return _reduced(reduce, combine, inner, outer, keepdims)
            axis = axis[0]
        x = convert_to_tensor_or_ragged_tensor(x, name="rt_input")
        axis = positive_axis(axis, x.shape.ndims)
        if axis > 1:
            return x.with_values(_reduced(reduce, combine, x.values, axis - 1, keepdims))
        if axis == 1:
            count = shape(x.row_splits)[0] - 1
            ids = row_splits_to_segment_ids(x.row_splits)
        else:
            lengths = x.row_splits[1:] - x.row_splits[:-1]
            count = maximum(dense.reduce_max(lengths), 0)
            ids = ragged_range(lengths).values
        return _aggregate(combine, x.values, ids, count)


def _reduction(what: str, scope: str, reduce: Reduce, combine: Reduce) -> Reduce:
    def function(
        input_tensor: Any, axis: Any = None, keepdims: Any = None, name: str | None = None
    ) -> Tensor | RaggedTensor:
        return _reduced(reduce, combine, input_tensor, axis, keepdims, name or scope)

    function.__doc__ = (
        f"{what} along dimensions of a ragged tensor.\n\n"
        "Args:\n  input_tensor: ragged.\n"
        "  axis: a Python int, several, or a tensor of known value; by default all dimensions.\n"
        "  keepdims: must be false.\n  name: of the scope.\n\n"
        "Returns:\n  A tensor without these dimensions.\n\n"
        "Raises:\n  ValueError: if `axis` is not known, or `keepdims` is asked for."
    )
    return function


reduce_sum = _reduction(
    "The sum", "RaggedReduceSum", dense.reduce_sum, segments.unsorted_segment_sum
)
reduce_prod = _reduction(
    "The product", "RaggedReduceProd", dense.reduce_prod, segments.unsorted_segment_prod
)
reduce_min = _reduction(
    "The minimum", "RaggedReduceMin", dense.reduce_min, segments.unsorted_segment_min
)
reduce_max = _reduction(
    "The maximum", "RaggedReduceMax", dense.reduce_max, segments.unsorted_segment_max
)


def reduce_mean(
    input_tensor: Any, axis: Any = None, keepdims: Any = None, name: str | None = None
) -> Tensor | RaggedTensor:
    """Return the mean along dimensions of a ragged tensor; see `reduce_sum`."""
    with name_scope(name, "RaggedReduceMean", [input_tensor, axis]):
        total = reduce_sum(input_tensor, axis, keepdims)
        is_one = _ones_in_rows_of if is_ragged(input_tensor) else ones_like
        count = reduce_sum(is_one(input_tensor), axis, keepdims)
        if not is_ragged(total):
            return total / count
        means = total.flat_values / count.flat_values
        return RaggedTensor.from_nested_row_splits(means, total.nested_row_splits, validate=False)


def _of_bools(scope: str, reduce: Reduce) -> Reduce:
    def function(
        input_tensor: Any, axis: Any = None, keepdims: Any = None, name: str | None = None
    ) -> Tensor:
        with name_scope(name, scope, [input_tensor, axis]):
            numbers = map_flat_values(cast, input_tensor, dtypes.int32)
            return map_flat_values(cast, reduce(numbers, axis, keepdims), dtypes.bool)

    function.__doc__ = reduce.__doc__
    return function


reduce_all = _of_bools("RaggedReduceAll", reduce_prod)
reduce_any = _of_bools("RaggedReduceAny", reduce_sum)


def reduce_join(
    inputs: Any, axis: Any = None, keepdims: Any = None, separator: str = "",
    name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the strings along dimensions of a ragged tensor joined by a separator."""
    reduce = partial(dense_reduce_join, separator=separator)
    combine = partial(unsorted_segment_join, separator=separator)
    return _reduced(reduce, combine, inputs, axis, keepdims, name or "RaggedSegmentJoin")
