"""Gradients by formula against gradients by differences."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.default_session import get_default_session
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.gradients.gradients import gradients

_FLOATS = (
    dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.complex64,
    dtypes.complex128,
)  # fmt: skip


def _size(shape: Any) -> int:
    return shape if isinstance(shape, int) else math.prod(shape)


def _analytic(
    x: Any, x_shape: Any, data: Any, dy: Any, dy_shape: Any, dx: Any, feeds: Any
) -> Array:
    """Return the Jacobian by the gradient graph, one output element at a time."""
    if x.dtype.is_complex:
        x_shape = (*x_shape, 2)
    rows, row_size = _size(x_shape), _size(x_shape[1:])
    columns = _size(dy_shape) * (2 if dy.dtype.is_complex else 1)
    jacobian = np.zeros((rows, columns), dtype=x.dtype.real_dtype.as_numpy_dtype)
    dy_data = np.zeros(dy_shape, dtype=dy.dtype.base_dtype.as_numpy_dtype)
    flat = dy_data.ravel().view(dy.dtype.real_dtype.as_numpy_dtype)
    session = get_default_session()
    for column in range(columns):
        flat[column] = 1
        found = session.run(dx, feed_dict={**feeds, x: data, dy: dy_data})
        if isinstance(dx, IndexedSlices):
            for index, value in zip(found.indices, found.values, strict=True):
                jacobian[index * row_size : (index + 1) * row_size, column] += value.flat
        else:
            jacobian[:, column] = found.ravel().view(jacobian.dtype)
        flat[column] = 0
    if not columns:
        found = session.run(dx, feed_dict={**feeds, x: data, dy: dy_data})
        if found.shape != data.shape:
            raise ValueError(
                f"Empty gradient has wrong shape: expected {data.shape}, got {found.shape}"
            )
        if np.any(found):
            raise ValueError("Empty tensor with nonzero gradients")
    return jacobian


def _numeric(
    x: Any, x_shape: Any, data: Any, y: Any, y_shape: Any, delta: float, feeds: Any
) -> Array:
    """Return the Jacobian by central differences."""
    rows = _size(x_shape) * (2 if x.dtype.is_complex else 1)
    columns = _size(y_shape) * (2 if y.dtype.is_complex else 1)
    x_kind, y_kind = x.dtype.real_dtype.as_numpy_dtype, y.dtype.real_dtype.as_numpy_dtype
    data = np.asarray(data, dtype=x.dtype.base_dtype.as_numpy_dtype)
    scale = np.asarray(2 * delta, dtype=y_kind)[()]
    jacobian = np.zeros((rows, columns), dtype=x_kind)
    for row in range(rows):
        above, below = data.copy(), data.copy()
        above.reshape(-1).view(x_kind)[row] += delta
        below.reshape(-1).view(x_kind)[row] -= delta
        difference = y.eval(feed_dict={**feeds, x: above}) - y.eval(feed_dict={**feeds, x: below})
        jacobian[row, :] = np.asarray(difference / scale).ravel().view(y_kind)
    return jacobian


def _gradient_of(x: Any, y: Any, y_shape: Any) -> tuple[Any, Any]:
    with x.graph.as_default():
        original = constant(1.0, shape=y_shape, dtype=y.dtype.base_dtype)
        dy = identity(original)
    dx = gradients(y, x, dy)[0]
    if dx is None:
        raise AssertionError("dx = None")
    return dx, original


def _jacobians(
    x: Any, x_shape: Any, y: Any, y_shape: Any, pair: Any, initial: Any, delta: float, feeds: Any
) -> tuple[Any, Any]:
    dx, dy = pair
    for name, tensor in (("x", x), ("y", y)):
        if tensor.dtype.base_dtype not in _FLOATS:
            raise AssertionError(f"Don't support type {tensor.dtype.name} for {name}")
    if initial is None:
        initial = np.random.random_sample(x_shape).astype(x.dtype.base_dtype.as_numpy_dtype)
        if x.dtype.is_complex:
            initial.imag = np.random.random_sample(x_shape)
    elif list(x_shape) != list(initial.shape):
        raise AssertionError(f"x_shape = {x_shape}, init_data shape = {list(initial.shape)}")
    return (
        _analytic(x, x_shape, initial, dy, y_shape, dx, feeds),
        _numeric(x, x_shape, initial, y, y_shape, delta, feeds),
    )


@export("test.compute_gradient")
def compute_gradient(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> Any:
    """Return the Jacobians of y with respect to x, by formula and by differences.

    Args:
      x: a tensor, or a list of them (then the next argument and `x_init_value` are lists too).
      x_shape: its dimensions.
      y: a tensor that depends on x.
      y_shape: its dimensions.
      x_init_value: where to differentiate; random by default.
      delta: the step of the differences.
      init_targets: operations to run first.
      extra_feed_dict: values of other tensors.

    Returns:
      Two arrays of shape [size of x, size of y], or a list of such pairs.
    """
    feeds = extra_feed_dict or {}
    many = isinstance(x, list)
    xs, shapes = (x, x_shape) if many else ([x], [x_shape])
    pairs = [_gradient_of(item, y, y_shape) for item in xs]
    for target in init_targets or ():
        target.run()
    initials = x_init_value if many and x_init_value is not None else [x_init_value] * len(xs)
    result = [
        _jacobians(item, shape, y, y_shape, pair, initial, delta, feeds)
        for item, shape, pair, initial in zip(xs, shapes, pairs, initials, strict=True)
    ]
    return result if many else result[0]


@export("test.compute_gradient_error")
def compute_gradient_error(
    x: Any,
    x_shape: Any,
    y: Any,
    y_shape: Any,
    x_init_value: Any = None,
    delta: float = 1e-3,
    init_targets: Any = None,
    extra_feed_dict: Any = None,
) -> float:
    """Return the largest difference between the two Jacobians of `compute_gradient`."""
    found = compute_gradient(
        x, x_shape, y, y_shape, x_init_value, delta, init_targets, extra_feed_dict
    )
    pairs = [found] if isinstance(found, tuple) else found
    errors = [np.float64(np.fabs(a - b).max()) for a, b in pairs if a.size or b.size]
    return max(errors, default=0)
