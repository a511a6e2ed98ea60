"""Means and variances, and normalizing by them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dims import is_known
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
from stillflow.util.renamed import renamed_argument


@export("math.l2_normalize", "linalg.l2_normalize", "nn.l2_normalize")
def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Tensor:
    """`x` divided by its length along `axis`.

    Args:
      axis: an integer or a list of them; None takes all axes together.
      epsilon: the smallest square of a length that is divided by.
      dim: the old name of `axis`.

    Example:
      >>> print(tf.Session().run(tf.nn.l2_normalize([[3.0, 4.0]], axis=1)).round(3))
      [[0.6 0.8]]
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
    reduced = None if sizes is None else tuple(sizes[axis] for axis in axes)
    if is_known(reduced):
        return constant(math.prod(reduced), dtype=x.dtype)
    return reduce_prod(gather(cast(shape(x), x.dtype), axes), name="count")


@export("nn.normalize_moments")
def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return mean and variance from the result of `sufficient_statistics`."""
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor = reciprocal(counts, name="divisor")
        name_of_mean = "mean" if shift is None else "shifted_mean"
        distance = mean = multiply(mean_ss, divisor, name=name_of_mean)
        if shift is not None:
            mean = add(distance, shift, name="mean")
        mean_square = multiply(variance_ss, divisor)
        return mean, subtract(mean_square, square(distance), name="variance")


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

    Example:
      >>> mean, variance = tf.nn.moments(tf.constant([[1.0, 2.0], [3.0, 6.0]]), axes=[0])
      >>> print(*tf.Session().run([mean, variance]))
      [2. 4.] [1. 4.]
    """
    keep = renamed_argument("keepdims", keepdims, "keep_dims", keep_dims) or False
    with name_scope(name, "moments", [x, axes]):
        y = _widened(x)
        mean = reduce_mean(y, axes, keepdims=True, name="mean")
        difference = squared_difference(y, stop_gradient(mean))
        variance = reduce_mean(difference, axes, keepdims=True, name="variance")
        return _reduced(mean, variance, axes, keep, x.dtype)


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
        given = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(frequency_weights, name="frequency_weights")
        x = _widened(given)
        if weights.dtype != x.dtype:
            weights = cast(weights, x.dtype)

        def summed(values: Any, name: str) -> Tensor:
            return reduce_sum(values, axes, name=name, keepdims=True)

        total = summed(weights * x, "weighted_input_sum")
        count = summed(weights + zeros_like(x), "sum_of_weights")
        divisor = reciprocal(count, name="inv_weight_sum")
        mean = multiply(total, divisor)
        squares = summed(weights * squared_difference(x, mean), "weighted_distsq")
        return _reduced(mean, multiply(squares, divisor), axes, keep, given.dtype)


def _widened(x: Tensor) -> Tensor:
    """Return `x`, as float32 if it is float16, whose sums are not precise enough."""
    return cast(x, dtypes.float32) if x.dtype == dtypes.float16 else x


def _reduced(
    mean: Tensor, variance: Tensor, axes: Any, keep: bool, dtype: Any
) -> tuple[Tensor, Tensor]:
    """Return mean and variance, without the reduced axes unless `keep`, in their final type."""
    moments = (mean, variance) if keep else (squeeze(mean, axes), squeeze(variance, axes))
    if dtype != dtypes.float16:
        return moments
    return cast(moments[0], dtype), cast(moments[1], dtype)
