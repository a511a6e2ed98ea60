"""Keeping values, and norms of tensors, within bounds."""

from __future__ import annotations

import collections.abc
from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.api import colocate_with, name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.arrays import fill as fills
from stillflow.ops.arrays import select as selects
from stillflow.ops.arrays import sequences
from stillflow.ops.arrays import shape as shapes
from stillflow.ops.arrays import stack as joins
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.math.binary import maximum, maximum_op, minimum, minimum_op
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import is_finite
from stillflow.ops.math.kernels import ANY_NUMBER, NUMPY_TYPES, invalid, through_numpy
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.math.unary import rsqrt, sqrt
from stillflow.ops.nn import l2_loss as losses
from stillflow.ops.samples import Sample, Samples

clip_by_value_op = op(f"""
    ClipByValue(t: T, clip_value_min: T, clip_value_max: T) -> output: T
    T: {ANY_NUMBER}
""")


@clip_by_value_op.shape
def clip_by_value_shape(node: Node) -> OutputDims:
    return node.dims(0)


def _clip(t: Any, low: Any, high: Any) -> torch.Tensor:
    for bound in (low, high):
        if bound.dim() and bound.shape != t.shape:
            raise invalid(
                "clip_value_min and clip_value_max must be either of the same shape as input, "
                f"or a scalar. input shape: {_sizes(t)}clip_value_min shape: "
                f"{_sizes(low)}clip_value_max shape: {_sizes(high)}"
            )
    if not t.is_floating_point() or not bool(low.isnan().any() | high.isnan().any()):
        return torch.maximum(torch.minimum(t, high), low)
    # A bound that is not a number bounds nothing.
    upper = torch.where(high.isnan(), t, torch.minimum(t, high))
    return torch.where(low.isnan(), upper, torch.maximum(upper, low))


def _sizes(x: Any) -> str:
    return dims.to_string(tuple(x.shape))


@clip_by_value_op.kernel
def clip_by_value_kernel(node: Node) -> Kernel:
    if node.T.is_complex:
        raise ValueError("ClipByValue is not defined for complex numbers")
    if node.T in NUMPY_TYPES:
        return through_numpy(lambda t, low, high: np.maximum(np.minimum(t, high), low), node.T)
    return node.call(_clip, *node.inputs)


@clip_by_value_op.samples
def clip_by_value_samples() -> Samples:
    x = np.array([[-3.0, 0.5], [2.0, 9.0]], np.float32)
    yield Sample(x, np.float32(-1.0), np.float32(3.0), grad=False)
    yield Sample(x, x - 1.0, x + 1.0, grad=False)


def _values(t: Any, name: str) -> Tensor:
    return convert_to_tensor(t.values if isinstance(t, IndexedSlices) else t, name=name)


def _like(t: Any, values: Tensor) -> Any:
    """Return `values` in the form of `t`: slices with the same indices, or a tensor."""
    if isinstance(t, IndexedSlices):
        return IndexedSlices(values, t.indices, t.dense_shape)
    return values


@export("clip_by_value")
@dispatchable
def clip_by_value(
    t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None
) -> Tensor:
    """`t` with every element moved into the range between two bounds.

    Args:
      t: a tensor or `IndexedSlices`.
      clip_value_min, clip_value_max: bounds that broadcast to the shape of `t`.
      name: of the operation.

    Raises:
      ValueError: if a bound would enlarge the shape of `t`.

    Example:
      >>> print(tf.Session().run(tf.clip_by_value([-3, 0, 7], -1, 1)))
      [-1  0  1]
    """
    with name_scope(name, "clip_by_value", [t, clip_value_min, clip_value_max]) as scope:
        values = _values(t, "t")
        below = minimum(values, clip_value_max)
        values.shape.merge_with(below.shape)
        within = maximum(below, clip_value_min, name=scope)
        values.shape.merge_with(within.shape)
        return _like(t, within)


@export("clip_by_norm")
@dispatchable
def clip_by_norm(
    t: Any, clip_norm: Any, axes: Any = None, name: str | None = None
) -> Tensor | IndexedSlices:
    """`t` scaled down where its L2 norm is above a maximum.

    Args:
      t: a tensor or `IndexedSlices`.
      clip_norm: the largest norm.
      axes: the axes over which a norm is taken; by default all of them.
      name: of the operation.

    Example:
      >>> print(tf.Session().run(tf.clip_by_norm([6.0, 8.0], 5.0)))
      [3. 4.]
    """
    with name_scope(name, "clip_by_norm", [t, clip_norm]) as scope:
        values = _values(t, "t")
        total = reduce_sum(values * values, axes, keepdims=True)
        positive = total > 0
        # The square root has no gradient at 0.
        safe = selects.where(positive, total, fills.ones_like(total))
        norm = selects.where(positive, sqrt(safe), total)
        intermediate = values * clip_norm
        values.shape.merge_with(intermediate.shape)
        clipped = identity(intermediate / maximum(norm, clip_norm), name=scope)
        return _like(t, clipped)


def _check_sequence(t_list: Any) -> list[Any]:
    if not isinstance(t_list, collections.abc.Sequence) or isinstance(t_list, str):
        raise TypeError("t_list should be a sequence")
    return list(t_list)


def _all_values(t_list: Sequence[Any]) -> list[Tensor | None]:
    return [None if t is None else _values(t, f"t_{i}") for i, t in enumerate(t_list)]


@export("linalg.global_norm", "global_norm")
@dispatchable
def global_norm(t_list: Any, name: str | None = None) -> Tensor:
    """Return the square root of the sum of squares of all elements of several tensors.

    Args:
      t_list: tensors, `IndexedSlices` or None.
      name: of the scope.

    Raises:
      TypeError: if `t_list` is no sequence.
    """
    t_list = _check_sequence(t_list)
    with name_scope(name, "global_norm", t_list):
        halves = []
        for value in _all_values(t_list):
            if value is not None:
                with colocate_with(value):
                    halves.append(losses.l2_loss_op(value))
        half = reduce_sum(joins.stack(halves))
        return sqrt(half * constant(2.0, dtype=half.dtype), name="global_norm")


@export("clip_by_global_norm")
@dispatchable
def clip_by_global_norm(
    t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """Several tensors scaled by one factor so that their global norm is not above a maximum.

    Args:
      t_list: tensors, `IndexedSlices` or None.
      clip_norm: the largest norm.
      use_norm: their norm, if it is known already; else `global_norm(t_list)`.
      name: of the scope.

    Returns:
      The scaled tensors (all NaN if the norm is not finite) and the norm before.

    Raises:
      TypeError: if `t_list` is no sequence.

    Example:
      >>> gradients = [tf.constant([6.0]), tf.constant([8.0])]
      >>> clipped, norm = tf.clip_by_global_norm(gradients, clip_norm=5.0)
      >>> print(*tf.Session().run([*clipped, norm]))
      [3.] [4.] 10.0
    """
    t_list = _check_sequence(t_list)
    if use_norm is None:
        use_norm = global_norm(t_list, name)
    with name_scope(name, "clip_by_global_norm", [*t_list, clip_norm]) as scope:
        finite_scale = clip_norm * minimum(
            1.0 / use_norm, constant(1.0, dtype=use_norm.dtype) / clip_norm
        )
        scale = selects.where(
            is_finite(use_norm), finite_scale, constant(float("nan"), dtype=use_norm.dtype)
        )
        clipped: list[Any] = []
        for i, (t, value) in enumerate(zip(t_list, _all_values(t_list))):
            if value is None:
                clipped.append(None)
                continue
            with colocate_with(value):
                clipped.append(_like(t, identity(value * scale, name=f"{scope}_{i}")))
        return clipped, use_norm


@export("clip_by_average_norm")
@dispatchable
def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """`t` scaled down where its L2 norm divided by its number of elements is above a maximum."""
    with name_scope(name, "clip_by_average_norm", [t, clip_norm]) as scope:
        t = convert_to_tensor(t, name="t")
        count = cast(shapes.size(t), dtypes.float32)
        inverse = rsqrt(reduce_sum(t * t, sequences.range(shapes.rank(t))))
        return identity(
            t * clip_norm * minimum(inverse * count, constant(1.0) / clip_norm), name=scope
        )


@export("dtypes.saturate_cast", "saturate_cast")
@dispatchable
def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Tensor:
    """Convert `value` to `dtype`, with out-of-range values replaced by the nearest limit."""
    with name_scope(name, "saturate_cast", [value]) as scope:
        value = convert_to_tensor(value, name="value")
        dtype = dtypes.as_dtype(dtype).base_dtype
        if value.dtype.min < dtype.min:
            low = convert_to_tensor(dtype.min, dtype=value.dtype, name="min")
            value = maximum_op(value, low)
        if value.dtype.max > dtype.max:
            high = convert_to_tensor(dtype.max, dtype=value.dtype, name="max")
            value = minimum_op(value, high)
        return cast(value, dtype, name=scope)
