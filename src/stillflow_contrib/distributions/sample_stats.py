"""Statistics of samples: percentiles and correlations of a series with itself."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.distributions.layout import (
    pad,
    prefer_static_rank,
    prefer_static_shape,
    rotate_transpose,
)
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.ops.control_flow.identity_and_group import with_dependencies

_ROUNDING = {"lower": tf.ceil, "higher": tf.floor, "nearest": tf.round}


@export("contrib.distributions.auto_correlation")
def auto_correlation(
    x: Any,
    axis: int = -1,
    max_lags: Any = None,
    center: bool = True,
    normalize: bool = True,
    name: str = "auto_correlation",
) -> Tensor:
    """Return the correlation of each series with itself, shifted by 0, 1, ... steps.

    Args:
      x: floating-point or complex series along `axis`.
      axis: an integer.
      max_lags: the largest shift; all of them if None.
      center: whether the mean of a series is taken off first.
      normalize: whether results are divided by that of no shift, the variance.
      name: of the scope.

    Returns:
      a tensor of the type and shape of `x` with the shifts along `axis`.

    Raises:
      TypeError: if `x` is of neither floating-point nor complex type.
    """
    with tf.name_scope(name, values=[x]):
        x = convert_to_tensor(x, name="x")
        rank = _wide(prefer_static_rank(x))
        shift = rank - 1 - (rank + axis if axis < 0 else axis)
        series = rotate_transpose(x, shift)
        if center:
            series -= tf.reduce_mean(series, axis=-1, keepdims=True)
        length = prefer_static_shape(series)[-1]
        products = tf.cast(_shifted_products(series, length), x.dtype)
        products, last = _first_lags(products, series, length, max_lags)
        real = x.dtype.real_dtype
        count = tf.cast(length, real)
        last = tf.cast(last, real)
        # So many products stand behind each sum.
        terms = tf.cast(count - tf.range(0.0, last + 1.0), x.dtype)
        result = products / terms
        if normalize:
            result /= result[..., :1]
        return rotate_transpose(result, -shift)


def _wide(number: Any) -> Any:
    """Return a number that is known in 64 bits, in which NumPy 1 adds Python's integers to it."""
    return np.int64(number) if isinstance(number, (np.generic, np.ndarray)) else number


def _shifted_products(series: Any, length: Any) -> Tensor:
    """Return the autocorrelation sums of a series, by shift, for the last axis; complex."""
    exact = tf.cast(length, np.float64)
    # A power of two, for speed, of at least twice the length: the transform's ends must not meet.
    power = tf.ceil(tf.log(exact * 2) / np.log(2.0))
    padded_length = tf.pow(np.float64(2.0), power)
    count = tf.cast(padded_length - exact, np.int32)
    padded = pad(series, axis=-1, back=True, count=count)
    dtype = series.dtype
    if not dtype.is_complex:
        if not dtype.is_floating:
            raise TypeError(f"Argument x must have either float or complex dtype found: {dtype}")
        padded = tf.complex(padded, dtype.real_dtype.as_numpy_dtype(0.0))
    transformed = tf.fft(padded)
    return tf.ifft(transformed * tf.conj(transformed))


def _first_lags(products: Any, series: Any, length: Any, max_lags: Any) -> tuple[Any, Any]:
    """Return the products of shifts up to the largest one wanted, and that shift."""
    known, length = series.shape.is_fully_defined(), _wide(length)
    if max_lags is None:
        last = length - 1
    else:
        max_lags = convert_to_tensor(max_lags, name="max_lags")
        static = static_value(max_lags)
        known = known and static is not None
        last = min(length - 1, static) if known else tf.minimum(length - 1, max_lags)
    chopped = products[..., : last + 1]
    if known:
        chopped.set_shape([*series.shape.as_list()[:-1], min(length, last + 1)])
    return chopped, last


@export("contrib.distributions.percentile")
def percentile(
    x: Any,
    q: Any,
    axis: Any = None,
    interpolation: str | None = None,
    keep_dims: bool = False,
    validate_args: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the `q`th percentile of the numbers of `x`: one of the numbers.

    Args:
      x: a numeric tensor.
      q: a scalar from 0 to 100.
      axis: constant axes, along which numbers belong together; all of them if None.
      interpolation: "nearest" (by default), "lower" or "higher": which of two numbers is taken
        where `q` falls between them.
      keep_dims: whether the axes stay, of size one.
      validate_args: whether the graph checks `q`.
      name: of the scope.

    Raises:
      ValueError: for other interpolations, ranks that do not fit, axes out of range or not known.
    """
    if interpolation is None:
        interpolation = "nearest"
    elif interpolation not in _ROUNDING:
        raise ValueError(
            f"Argument 'interpolation' must be in {set(_ROUNDING)}.  Found {interpolation}"
        )
    with tf.name_scope(name or "percentile", values=[x, q]):
        x = convert_to_tensor(x, name="x")
        q = tf.cast(q, tf.float64, name="q")
        _checked_ndims(q, exactly=0)
        if validate_args:
            q = with_dependencies(_checks_of_percentage(q), q)
        if axis is None:
            y = tf.reshape(x, [-1])
        else:
            axis = convert_to_tensor(axis, name="axis")
            axis = _known_axes(axis, x)
            y = _with_axes_last(x, axis)
        above = 1.0 - q / 100.0
        count = tf.cast(tf.shape(y)[-1], tf.float64)
        index = _ROUNDING[interpolation]((count - 1) * above)
        size = tf.shape(y)[-1]
        index = tf.clip_by_value(tf.cast(index, tf.int32), 0, size - 1)
        # Sorted downwards.
        result = tf.nn.top_k(y, k=tf.shape(y)[-1])[0][..., index]
        result.set_shape(y.shape[:-1])
        return _with_kept_dims(result, x, axis) if keep_dims else result


def _checks_of_percentage(q: Any) -> list[Any]:
    return [
        tf.assert_rank(q, 0),
        tf.assert_greater_equal(q, tf.cast(0.0, tf.float64)),
        tf.assert_less_equal(q, tf.cast(100.0, tf.float64)),
    ]


def _checked_ndims(
    x: Any, exactly: int | None = None, at_least: int | None = None, at_most: int | None = None
) -> int | None:
    """Return the rank, None if it is not known.

    Raises:
      ValueError: if it is another than those allowed.
    """
    ndims: int | None = x.shape.ndims
    if ndims is None:
        shape = static_value(tf.shape(x))
        ndims = None if shape is None else shape.ndim
    if ndims is None:
        return None
    for wrong, words in (
        (exactly is not None and ndims != exactly, f"{exactly}"),
        (at_least is not None and ndims < at_least, f">= {at_least}"),
        (at_most is not None and ndims > at_most, f"<= {at_most}"),
    ):
        if wrong:
            raise ValueError(f"Expected argument 'x' to have ndims {words}.  Found tensor {x}")
    return ndims


def _known_ndims(x: Any, **allowed: int) -> int:
    ndims = _checked_ndims(x, **allowed)
    if ndims is None:
        raise ValueError("Expected argument 'x' to have statically defined 'ndims'.  Found: ")
    return ndims


def _known_axes(axis: Any, x: Any) -> list[int]:
    tf.assert_integer(axis)
    scalar = _known_ndims(axis, at_most=1) == 0
    known = static_value(axis)
    if known is None:
        raise ValueError(f"Expected argument 'axis' to be statically available.  Found: {axis}")
    ndims = _known_ndims(x, at_least=1)
    axes = []
    for each in [int(number) for number in ([known] if scalar else known)]:
        if each >= ndims:
            raise ValueError(f"dim {each} not in the interval [0, {ndims - 1}].")
        if each < -ndims:
            raise ValueError(f"Negatively indexed dim {each} not in the interval [-{ndims}, -1]")
        axes.append(each if each >= 0 else ndims + each)
    return axes


def _with_axes_last(x: Any, axes: list[int]) -> Tensor:
    """Return `x` with one axis at the end instead of the given ones."""
    front = sorted(set(range(x.shape.ndims)).difference(axes))
    moved = tf.transpose(x, perm=front + axes)
    if x.shape.is_fully_defined():
        sizes = x.shape.as_list()
        shape: Any = [sizes[i] for i in front] + [np.prod([sizes[i] for i in axes])]
    else:
        outer = tf.shape(moved)[: x.shape.ndims - len(axes)]
        shape = tf.concat([outer, [-1]], axis=0)
    return tf.reshape(moved, shape=shape)


def _with_kept_dims(result: Any, x: Any, axes: list[int] | None) -> Tensor:
    if axes is None:
        ndims = _checked_ndims(x)
        ones = tf.ones(shape=[tf.rank(x) if ndims is None else ndims], dtype=tf.int32)
        return result * tf.ones(ones, dtype=x.dtype)
    for axis in sorted(axes):
        result = tf.expand_dims(result, axis=axis)
    return result
