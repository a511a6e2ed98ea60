"""Counting: bins, histograms, buckets."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.arrays import shape as shapes
from stillflow.ops.constants import constant
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.kernels import torch_type
from stillflow.ops.math.binary import maximum_op, minimum_op
from stillflow.ops.math.cast import cast
from stillflow.ops.math.clip import clip_by_value
from stillflow.ops.math.division import truediv
from stillflow.ops.math.kernels import invalid
from stillflow.ops.math.reductions import reduce_max, reduce_prod
from stillflow.ops.math.segment import unsorted_segment_sum_op
from stillflow.ops.math.unary import floor
from stillflow.ops.samples import Bad, Sample, Samples

# ---- how often each number occurs

bincount_op = op(
    """
    Bincount(arr: int32, size: int32, weights: T) -> bins: T
    T: {int32, int64, float, double}
""",
    numbers=("size",),
)


@bincount_op.shape
def bincount_shape(node: Node) -> OutputDims:
    dims.with_rank(node.dims(1), 0)
    size = node.value(1)
    if size is None:
        return (None,)
    if size < 0:
        raise ValueError(f"size ({int(size)}) must be non-negative")
    return (int(size),)


@bincount_op.kernel
def bincount_kernel(node: Node) -> Kernel:
    kind = torch_type(node.T)

    def count(numbers: Any, size: Any, weights: Any) -> Any:
        bins = int(size)
        if bins < 0:
            raise invalid(f"size ({bins}) must be non-negative")
        numbers, weights = numbers.reshape(-1), weights.reshape(-1)
        if numbers.numel() and int(numbers.min()) < 0:
            raise invalid("Input arr must be non-negative!")
        if 0 < weights.numel() < numbers.numel():
            raise invalid(
                "If weights are passed, there must be as many of them as numbers in arr, not "
                f"{weights.numel()} and {numbers.numel()}"
            )
        kept = numbers.clamp(max=bins)  # larger numbers are counted apart
        if not weights.numel():
            return torch.bincount(kept, minlength=bins + 1)[:bins].to(kind)
        out = torch.zeros(bins + 1, dtype=kind, device=numbers.device)
        return out.index_add_(0, kept, weights[: numbers.numel()])[:bins]

    return count


@bincount_op.samples
def bincount_samples() -> Samples:
    yield Sample(
        np.array([1, 1, 3, 7], np.int32), np.int32(4), np.array([], np.float32), fixed=(1,)
    )
    yield Sample(
        np.array([1, 1, 3], np.int32), np.int32(4), np.array([0.5, 2, 3], np.float32), fixed=(1,)
    )
    yield Bad(
        np.array([-1], np.int32),
        np.int32(4),
        np.array([], np.float32),
        match="must be non-negative",
    )


@export("math.bincount", "bincount")
@dispatchable
def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dtypes.int32,
) -> Tensor:
    """Count the occurrences of each number from 0.

    Args:
      arr: an int32 tensor of numbers that are not negative.
      weights: what each counts, by default 1.
      minlength: the least length of the result.
      maxlength: its largest length; larger numbers are not counted.
      dtype: of the counts, without weights.

    Returns:
      A vector of counts, up to the largest number.
    """
    return named_bincount(arr, weights, minlength, maxlength, dtype, None)


def named_bincount(
    arr: Any, weights: Any, minlength: Any, maxlength: Any, dtype: Any, name: str | None
) -> Tensor:
    """`bincount` in a scope of a name."""
    with name_scope("bincount" if name is None else name):
        arr = convert_to_tensor(arr, name="arr", dtype=dtypes.int32)
        is_any = reduce_prod(shapes.shape(arr)) > 0
        size = cast(is_any, dtypes.int32) * (reduce_max(arr) + 1)
        bounds = ("minlength", minlength, maximum_op), ("maxlength", maxlength, minimum_op)
        for argument, bound, bounded in bounds:
            if bound is not None:
                size = bounded(convert_to_tensor(bound, dtypes.int32, argument), size)
        if weights is None:
            return bincount_op(arr, size, constant([], dtype))
        return unsorted_segment_sum_op(convert_to_tensor(weights, name="weights"), arr, size)


# ---- histograms

histogram_fixed_width_op = op(
    """
    HistogramFixedWidth(values: T, value_range: T, nbins: int32) -> out: dtype
    T: {int32, int64, float, double}
    dtype: {int32, int64} = int32
""",
    differentiable=False,
    numbers=("nbins",),
    cost=Cost(counts="first input"),
)


@histogram_fixed_width_op.shape
def histogram_fixed_width_shape(node: Node) -> OutputDims:
    if not node.planning:
        dims.with_value(dims.with_rank(node.dims(1), 1)[0], 2)
        dims.with_rank(node.dims(2), 0)
    bins = node.value(2)
    if bins is None:
        return (None,)
    if bins <= 0:
        if node.planning:
            raise ValueError(f"nbins should be a positive number, but got '{int(bins)}'")
        raise ValueError(f"Requires nbins > 0: {int(bins)}")
    return (int(bins),)


@histogram_fixed_width_op.kernel
def histogram_fixed_width_kernel(node: Node) -> Kernel:
    kind = torch_type(node.op.attrs["dtype"])

    def histogram(values: Any, value_range: Any, nbins: Any) -> torch.Tensor:
        bins = int(nbins)
        if tuple(value_range.shape) != (2,):
            raise invalid("value_range should be a vector of 2 elements.")
        low, high = value_range.tolist()
        if low >= high:
            raise invalid(
                "value_range should satisfy value_range[0] < value_range[1], but got "
                f"'[{low:g}, {high:g}]'"
            )
        if bins <= 0:
            raise invalid(f"nbins should be a positive number, but got '{bins}'")
        width = (high - low) / bins
        shifted = (values.reshape(-1).clamp(min=low) - value_range[0]).double()
        numbers = (shifted / width).clamp_(0, bins - 1).nan_to_num_(0.0).long()
        return torch.bincount(numbers, minlength=bins).to(kind)

    return histogram


@histogram_fixed_width_op.samples
def histogram_fixed_width_samples() -> Samples:
    x = np.array([-1.0, 0.0, 1.5, 2.0, 5.0, 15.0], np.float32)
    yield Sample(x, np.array([0.0, 5.0], np.float32), np.int32(5), fixed=(2,))
    yield Bad(x, np.array([5.0, 0.0], np.float32), np.int32(5), match="value_range should satisfy")


@export("histogram_fixed_width")
@dispatchable
def histogram_fixed_width(
    values: Any,
    value_range: Any,
    nbins: Any = 100,
    dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Return the number of values in each of several equally wide bins.

    Args:
      values: a tensor of numbers.
      value_range: the lower end of the first and the upper end of the last bin; values outside
        count in these bins.
      nbins: how many bins there are.
      dtype: of the counts.
      name: of the operation.
    """
    with name_scope(name, "histogram_fixed_width", [values, value_range, nbins]) as scope:
        return histogram_fixed_width_op(values, value_range, nbins, dtype=dtype, name=scope)


@export("histogram_fixed_width_bins")
@dispatchable
def histogram_fixed_width_bins(
    values: Any,
    value_range: Any,
    nbins: Any = 100,
    dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """Return the bin that each value falls into; see `histogram_fixed_width`.

    Returns:
      An int32 tensor of the shape of `values`.
    """
    del dtype  # as in TF, which takes it and gives int32
    with name_scope(name, "histogram_fixed_width_bins", [values, value_range, nbins]):
        given = convert_to_tensor(values, name="values")
        shape, flat = shapes.shape(given), shapes.reshape(given, [-1])
        limits: Any = convert_to_tensor(value_range, name="value_range")
        count = cast(convert_to_tensor(nbins, dtypes.int32, "nbins"), flat.dtype)
        places = truediv(flat - limits[0], limits[1] - limits[0], name="scaled_values")
        bins = clip_by_value(floor(count * places, name="indices"), 0, count - 1)
        return shapes.reshape(cast(bins, dtypes.int32), shape)


# ---- buckets

bucketize_op = op("""
    Bucketize(input: T) -> output: int32
    T: {int32, int64, float, double}
    boundaries: list(float)
""")


@bucketize_op.check
def bucketize_check(node: Node) -> None:
    if node.planning and list(node.boundaries) != sorted(node.boundaries):
        raise ValueError("Expected sorted boundaries")


@bucketize_op.shape
def bucketize_shape(node: Node) -> OutputDims:
    return node.dims(0)


@bucketize_op.kernel
def bucketize_kernel(node: Node) -> Kernel:
    boundaries = torch.tensor(node.boundaries, dtype=torch.float32, device=node.device)
    return node.call(torch.bucketize, node.inputs[0], boundaries, out_int32=True, right=True)


@bucketize_op.samples
def bucketize_samples() -> Samples:
    x = np.array([[-1.0, 0.0], [1.5, 9.0]], np.float32)
    yield Sample(x, boundaries=[0.0, 2.0, 5.0], grad=False)
    yield Bad(x, boundaries=[3.0, 2.0], match="Expected sorted boundaries")


def bucketize(input: Any, boundaries: Any, name: str | None = None) -> Tensor:
    """Return each number's bucket: the count of sorted `boundaries` that are not above it."""
    return bucketize_op(input, boundaries=boundaries, name=name)
