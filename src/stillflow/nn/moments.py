"""Means and variances, and normalizing by them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.fill import zeros_like
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.shape import shape, squeeze
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import stop_gradient
from stillflow.ops.math.binary import add, maximum, multiply, squared_difference, subtract
from stillflow.ops.math.cast import cast
from stillflow.ops.math.reductions import reduce_mean, reduce_prod, reduce_sum
from stillflow.ops.math.unary import reciprocal, rsqrt, square
from stillflow.util.deprecation import deprecated_args
from stillflow.util.renamed import renamed_argument


@export("math.l2_normalize", "linalg.l2_normalize", "nn.l2_normalize")
@deprecated_args(None, "dim is deprecated, use axis instead", "dim")
def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Tensor:
    """`x` divided by its length along `axis`.

    Args:
      axis: an integer or a list of them; None takes all axes together.
      epsilon: the smallest square of a length that is divided by.
      dim: the old name of `axis`.
    """
    axis = renamed_argument("axis", axis, "dim", dim)
    with name_scope(name, "l2_normalize", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        total = reduce_sum(square(x), axis, keepdims=True)
        return multiply(x, rsqrt(maximum(total, epsilon)), name=scope)


@export("nn.sufficient_statistics")
def sufficient_statistics(
    x: Any,
    axes: Sequence[int],
    shift: Any = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Any]:
    """Return the sums from which mean and variance of `x` along `axes` can be computed.

    Args:
      shift: a value near the mean that is subtracted first, for precision.
      keepdims, keep_dims: whether the reduced axes stay, with size 1.

    Returns:
      (number of elements, sum, sum of squares, shift).
    """
    axes = list(set(axes))
    keep = renamed_argument("keepdims", keepdims, "keep_dims", keep_dims) or False
    with name_scope(name, "sufficient_statistics", [x, shift]):
        x = convert_to_tensor(x, name="x")
        counts = _count(x, axes)
        if shift is not None:
            shift = convert_to_tensor(shift, name="shift")
            m_ss, v_ss = subtract(x, shift), squared_difference(x, shift)
        else:
            m_ss, v_ss = x, square(x)
        m_ss = reduce_sum(m_ss, axes, keepdims=keep, name="mean_ss")
        v_ss = reduce_sum(v_ss, axes, keepdims=keep, name="var_ss")
    return counts, m_ss, v_ss, shift


def _count(x: Tensor, axes: Sequence[int]) -> Tensor:
    """Return the number of elements that are reduced to one."""
    sizes = x._dims
    if sizes is not None and all(sizes[axis] is not None for axis in axes):
        count = 1
        for axis in axes:
            count *= sizes[axis]  # type: ignore[operator]
        return constant(count, dtype=x.dtype)
    return reduce_prod(gather(cast(shape(x), x.dtype), axes), name="count")


@export("nn.normalize_moments")
def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return mean and variance from the result of `sufficient_statistics`."""
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor = reciprocal(counts, name="divisor")
        if shift is not None:
            shifted = multiply(mean_ss, divisor, name="shifted_mean")
            mean = add(shifted, shift, name="mean")
        else:
            shifted = mean = multiply(mean_ss, divisor, name="mean")
        variance = subtract(multiply(variance_ss, divisor), square(shifted), name="variance")
    return mean, variance


@export("nn.moments")
def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance of `x` along `axes`.

    Args:
      shift: ignored; kept for old programs.
      keepdims, keep_dims: whether the reduced axes stay, with size 1.
    """
    keep = renamed_argument("keepdims", keepdims, "keep_dims", keep_dims) or False
    with name_scope(name, "moments", [x, axes]):
        half = x.dtype == dtypes.float16
        y = cast(x, dtypes.float32) if half else x
        mean = reduce_mean(y, axes, keepdims=True, name="mean")
        difference = squared_difference(y, stop_gradient(mean))
        variance = reduce_mean(difference, axes, keepdims=True, name="variance")
        if not keep:
            mean, variance = squeeze(mean, axes), squeeze(variance, axes)
        if half:
            return cast(mean, dtypes.float16), cast(variance, dtypes.float16)
        return mean, variance


@export("nn.weighted_moments")
def weighted_moments(
    x: Any,
    axes: Any,
    frequency_weights: Any,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance of `x` along `axes`, every element counted as often as its weight says.

    Args:
      frequency_weights: of a shape that `x` can be multiplied with.
      keepdims, keep_dims: whether the reduced axes stay, with size 1.
    """
    keep = renamed_argument("keepdims", keepdims, "keep_dims", keep_dims) or False
    with name_scope(name, "weighted_moments", [x, frequency_weights, axes]):
        x = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(frequency_weights, name="frequency_weights")
        half = x.dtype == dtypes.float16
        if half:
            x = cast(x, dtypes.float32)
        if weights.dtype != x.dtype:
            weights = cast(weights, x.dtype)
        total = reduce_sum(weights * x, axes, name="weighted_input_sum", keepdims=True)
        broadcast = weights + zeros_like(x)
        count = reduce_sum(broadcast, axes, name="sum_of_weights", keepdims=True)
        divisor = reciprocal(count, name="inv_weight_sum")
        mean = multiply(total, divisor)
        squares = reduce_sum(
            weights * squared_difference(x, mean), axes, name="weighted_distsq", keepdims=True
        )
        variance = multiply(squares, divisor)
        if not keep:
            mean, variance = squeeze(mean, axis=axes), squeeze(variance, axis=axes)
        if half:
            return cast(mean, dtypes.float16), cast(variance, dtypes.float16)
        return mean, variance
