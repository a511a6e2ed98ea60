"""The functions of `tf.compat.v2.math` whose arguments differ from those of `tf.math`."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.lazy import LazyModule
from stillflow.graph.operation import Tensor

# By path, since public functions of the packages hide modules of their names.
reductions: Any = LazyModule("stillflow.ops.math.reductions")
positions: Any = LazyModule("stillflow.ops.math.argmax")
binary: Any = LazyModule("stillflow.ops.math.binary")
counting: Any = LazyModule("stillflow.ops.math.counting")


@export("compat.v2.reduce_sum", "compat.v2.math.reduce_sum")
def reduce_sum(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None,
) -> Tensor:
    """See `tf.reduce_sum`."""
    return reductions.reduce_sum(input_tensor, axis, keepdims, name)  # type: ignore[no-any-return]


@export("compat.v2.reduce_prod", "compat.v2.math.reduce_prod")
def reduce_prod(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None,
) -> Tensor:
    """See `tf.reduce_prod`."""
    return reductions.reduce_prod(input_tensor, axis, keepdims, name)  # type: ignore[no-any-return]


@export("compat.v2.reduce_max", "compat.v2.math.reduce_max")
def reduce_max(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None,
) -> Tensor:
    """See `tf.reduce_max`."""
    return reductions.reduce_max(input_tensor, axis, keepdims, name)  # type: ignore[no-any-return]


@export("compat.v2.reduce_min", "compat.v2.math.reduce_min")
def reduce_min(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None,
) -> Tensor:
    """See `tf.reduce_min`."""
    return reductions.reduce_min(input_tensor, axis, keepdims, name)  # type: ignore[no-any-return]


@export("compat.v2.reduce_mean", "compat.v2.math.reduce_mean")
def reduce_mean(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None,
) -> Tensor:
    """See `tf.reduce_mean`."""
    return reductions.reduce_mean(input_tensor, axis, keepdims, name)  # type: ignore[no-any-return]


@export("compat.v2.reduce_all", "compat.v2.math.reduce_all")
def reduce_all(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None,
) -> Tensor:
    """See `tf.reduce_all`."""
    return reductions.reduce_all(input_tensor, axis, keepdims, name)  # type: ignore[no-any-return]


@export("compat.v2.reduce_any", "compat.v2.math.reduce_any")
def reduce_any(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None,
) -> Tensor:
    """See `tf.reduce_any`."""
    return reductions.reduce_any(input_tensor, axis, keepdims, name)  # type: ignore[no-any-return]


@export("compat.v2.reduce_logsumexp", "compat.v2.math.reduce_logsumexp")
def reduce_logsumexp(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None,
) -> Tensor:
    """See `tf.reduce_logsumexp`."""
    return reductions.reduce_logsumexp(input_tensor, axis, keepdims, name)  # type: ignore[no-any-return]


@export("compat.v2.argmax", "compat.v2.math.argmax")
def argmax(
    input: Any, axis: Any = None, output_type: Any = dtypes.int64, name: str | None = None,
) -> Tensor:
    """See `tf.argmax`."""
    return positions.argmax(input, axis, name, output_type=output_type)  # type: ignore[no-any-return]


@export("compat.v2.argmin", "compat.v2.math.argmin")
def argmin(
    input: Any, axis: Any = None, output_type: Any = dtypes.int64, name: str | None = None,
) -> Tensor:
    """See `tf.argmin`."""
    return positions.argmin(input, axis, name, output_type=output_type)  # type: ignore[no-any-return]


@export("compat.v2.math.count_nonzero")
def count_nonzero(
    input: Any,
    axis: Any = None,
    keepdims: Any = None,
    dtype: Any = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """See `tf.math.count_nonzero`."""
    return reductions.count_nonzero(input, axis, bool(keepdims), dtype, name)  # type: ignore[no-any-return]


@export("compat.v2.scalar_mul", "compat.v2.math.scalar_mul")
def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Tensor:
    """See `tf.scalar_mul`."""
    return binary.scalar_mul(scalar, x, name)  # type: ignore[no-any-return]


@export("compat.v2.math.bincount")
def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """See `tf.math.bincount`.

    Args:
      name: of the scope.
    """
    counts: Tensor = counting.named_bincount(arr, weights, minlength, maxlength, dtype, name)
    return counts
