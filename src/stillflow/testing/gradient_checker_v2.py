"""Gradients of Python functions of tensors, by formula and by differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow.eager.backprop import GradientTape
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.default_session import get_default_session
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlicesValue
from stillflow.graph.operation import Tensor
from stillflow.ops.constants import placeholder
from stillflow.ops.gradients.gradients import gradients
from stillflow.testing.eager_values import value_now

_FLOATS = (
    dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.complex64,
    dtypes.complex128,
)  # fmt: skip


def _dense(value: Any) -> np.ndarray:
    if isinstance(value, IndexedSlicesValue):
        result = np.zeros(value.dense_shape)
        for index, row in zip(value.indices, value.values, strict=True):
            result[index] += row
        return result
    return np.asarray(value)


def to_numpy(value: Any) -> Any:
    """Return a fetch or a tensor as an array; anything else unchanged."""
    if isinstance(value, Tensor):
        return value_now(value) if executing_eagerly() else get_default_session().run(value)
    return _dense(value) if isinstance(value, IndexedSlicesValue) else value


class _Function:
    """`f` built once on placeholders, and its gradients, to be called with arrays."""

    def __init__(self, f: Callable[..., Any], kinds: Sequence[Any]) -> None:
        self.xs = [placeholder(kind) for kind in kinds]
        self.y = f(*self.xs)
        self.x_types, self.y_type = [x.dtype for x in self.xs], self.y.dtype

    def __call__(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        feeds = dict(zip(self.xs, arrays, strict=True))
        return _dense(get_default_session().run(self.y, feed_dict=feeds))

    def gradient_by(self, param: int) -> Callable[..., np.ndarray]:
        """Return a function from arguments and the gradient of y to that of an argument."""
        dy = placeholder(self.y_type)
        grad = gradients(self.y, self.xs[param], dy)[0]

        def find(arrays: Sequence[np.ndarray], given: np.ndarray) -> np.ndarray:
            feeds = dict(zip(self.xs, arrays, strict=True))
            return _dense(get_default_session().run(grad, feed_dict={**feeds, dy: given}))

        return find

    def jacobian(self, param: int, arrays: Sequence[np.ndarray], y: np.ndarray) -> np.ndarray:
        """One column per element of y, by the gradient's formula."""
        x, find = arrays[param], self.gradient_by(param)
        real_x = self.x_types[param].real_dtype.as_numpy_dtype
        real_y = self.y_type.real_dtype.as_numpy_dtype
        columns = y.size * (2 if self.y_type.is_complex else 1)
        result = np.zeros((x.size * (2 if np.iscomplexobj(x) else 1), columns), dtype=real_x)
        dy_data = np.zeros(y.shape, dtype=y.dtype)
        flat = dy_data.reshape(-1).view(real_y)
        for column in range(columns):
            flat[column] = 1
            found = find(arrays, dy_data)
            result[:, column] = np.ascontiguousarray(found, x.dtype).reshape(-1).view(real_x)
            flat[column] = 0
        if not columns:
            found = find(arrays, dy_data)
            if found.shape != x.shape:
                raise ValueError(
                    f"Empty gradient has wrong shape: expected {x.shape}, got {found.shape}"
                )
            if np.any(found):
                raise ValueError("Empty tensor with nonzero gradients")
        return result

    def differences(
        self, param: int, arrays: Sequence[np.ndarray], y: np.ndarray, delta: float
    ) -> np.ndarray:
        """One row per element of x, by central differences."""
        x = arrays[param]
        real_x = self.x_types[param].real_dtype.as_numpy_dtype
        real_y = self.y_type.real_dtype.as_numpy_dtype
        rows = x.size * (2 if np.iscomplexobj(x) else 1)
        columns = y.size * (2 if self.y_type.is_complex else 1)
        result = np.zeros((rows, columns), dtype=real_x)
        scale = np.asarray(2 * delta, dtype=real_y)[()]
        for row in range(rows):
            pair = []
            for step in (delta, -delta):
                moved = [array.copy() for array in arrays]
                moved[param].reshape(-1).view(real_x)[row] += step
                pair.append(self(moved))
            result[row, :] = ((pair[0] - pair[1]) / scale).reshape(-1).view(real_y)
        return result


class _ImmediateFunction(_Function):
    """`f` where operations run when they are called, and its gradients by a tape."""

    def __init__(self, f: Callable[..., Any], tensors: Sequence[Any]) -> None:
        self._f = f
        self.x_types = [tensor.dtype for tensor in tensors]
        self.y_type = f(*tensors).dtype

    def _tensors(self, arrays: Sequence[np.ndarray]) -> list[Tensor]:
        return [convert_to_tensor(a, dtype=t) for a, t in zip(arrays, self.x_types, strict=True)]

    def __call__(self, arrays: Sequence[np.ndarray]) -> np.ndarray:
        return _dense(value_now(self._f(*self._tensors(arrays))))

    def gradient_by(self, param: int) -> Callable[..., np.ndarray]:
        def find(arrays: Sequence[np.ndarray], given: np.ndarray) -> np.ndarray:
            xs = self._tensors(arrays)
            with GradientTape() as tape:
                tape.watch(xs[param])
                y = self._f(*xs)
            dy = convert_to_tensor(given, dtype=self.y_type)
            grad = tape.gradient(y, xs[param], output_gradients=dy)
            return np.zeros_like(arrays[param]) if grad is None else _dense(value_now(grad))

        return find


@export("compat.v2.test.compute_gradient")
def compute_gradient(
    f: Callable[..., Any], x: list[Any], delta: float = 1e-3
) -> tuple[tuple[Array, ...], tuple[Array, ...]]:
    """Return the Jacobians of `f(*x)` with respect to each x, by formula and by differences.

    Args:
      f: a function of tensors.
      x: a list of arrays or tensors of known value.
      delta: the step of the differences.

    Returns:
      Two tuples of arrays of shape [size of x, size of y].

    Raises:
      ValueError: if `x` is no list.
    """
    if not isinstance(x, list):
        raise ValueError(f"`x` must be a list of Tensors (arguments to `f`), not a {type(x)}")
    tensors = [convert_to_tensor(item) for item in x]
    for param, tensor in enumerate(tensors):
        if tensor.dtype.base_dtype not in _FLOATS:
            raise AssertionError(
                f"Cannot compute gradient for unsupported type {tensor.dtype.name} of argument "
                f"{param}"
            )
    function: _Function
    if executing_eagerly():
        arrays = [np.array(value_now(tensor)) for tensor in tensors]
        function = _ImmediateFunction(f, tensors)
    else:
        arrays = [np.array(value) for value in get_default_session().run(tensors)]
        function = _Function(f, [tensor.dtype for tensor in tensors])
    y = function(arrays)
    formula = [function.jacobian(i, arrays, y) for i in range(len(arrays))]
    numeric = [function.differences(i, arrays, y, delta) for i in range(len(arrays))]
    return tuple(formula), tuple(numeric)


def max_error(grad1: Sequence[np.ndarray], grad2: Sequence[np.ndarray]) -> float:
    """Return the largest difference between two lists of Jacobians."""
    pairs = zip(grad1, grad2, strict=False)
    errors = [np.float64(np.fabs(a - b).max()) for a, b in pairs if a.size or b.size]
    return max(errors, default=0)
