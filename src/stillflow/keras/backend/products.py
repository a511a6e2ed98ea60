"""Matrix products, norms and normalization."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.session import is_sparse


def _sizes(x: Any) -> tuple[Any, ...]:
    """Return the sizes, as tensors where they are not known."""
    parts = tf.unstack(tf.shape(x))
    known = x.shape.as_list()
    return tuple(part if n is None else n for n, part in zip(known, parts, strict=True))


@export("keras.backend.dot")
def dot(x: Any, y: Any) -> Tensor:
    """Return the product along the last axis of `x` and the last but one of `y`."""
    rank = x.shape.ndims
    if rank is not None and (rank > 2 or y.shape.ndims > 2):
        x_sizes, y_sizes = _sizes(x), _sizes(y)
        order = list(range(y.shape.ndims))
        order = [order.pop(-2), *order]
        rows = tf.reshape(x, [-1, x_sizes[-1]])
        columns = tf.reshape(tf.transpose(y, perm=order), [y_sizes[-2], -1])
        sizes = x_sizes[:-1] + y_sizes[:-2] + y_sizes[-1:]
        return tf.reshape(tf.matmul(rows, columns), sizes)
    if is_sparse(x):
        return tf.sparse_tensor_dense_matmul(x, y)
    return tf.matmul(x, y)


@export("keras.backend.batch_dot")
def batch_dot(x: Any, y: Any, axes: Any = None) -> Tensor:
    """Return the products of the examples of two batches.

    Args:
      x, y: [batch, ...].
      axes: the axis of each to sum over; one number for both.
    """
    if isinstance(axes, int):
        axes = (axes, axes)
    x_rank, y_rank = x.shape.ndims, y.shape.ndims
    if axes is None:
        axes = [x_rank - 1, y_rank - 2]
    more = abs(x_rank - y_rank)
    if x_rank > y_rank:
        y = tf.reshape(y, tf.concat([tf.shape(y), [1] * more], axis=0))
    elif y_rank > x_rank:
        x = tf.reshape(x, tf.concat([tf.shape(x), [1] * more], axis=0))
    out = _batch_product(x, y, axes)
    if more:
        first = x_rank + y_rank - 3 if x_rank > y_rank else x_rank - 1
        out = tf.squeeze(out, list(range(first, first + more)))
    return tf.expand_dims(out, 1) if out.shape.ndims == 1 else out


def _batch_product(x: Any, y: Any, axes: Any) -> Tensor:
    if x.shape.ndims == 2 and y.shape.ndims == 2:
        if axes[0] == axes[1]:
            return tf.reduce_sum(tf.multiply(x, y), axes[0])
        return tf.reduce_sum(tf.multiply(tf.transpose(x, [1, 0]), y), axes[1])
    adjoint_x = None if axes[0] == x.shape.ndims - 1 else True
    adjoint_y = True if axes[1] == y.shape.ndims - 1 else None
    return tf.matmul(x, y, adjoint_a=adjoint_x, adjoint_b=adjoint_y)


@export("keras.backend.l2_normalize")
def l2_normalize(x: Any, axis: Any = None) -> Any:
    """Divided by the length along an axis."""
    return tf.nn.l2_normalize(x, axis=axis)


@export("keras.backend.in_top_k")
def in_top_k(predictions: Any, targets: Any, k: int) -> Any:
    """Return True if each target is among the k largest predictions."""
    return tf.nn.in_top_k(predictions, targets, k)


@export("keras.backend.normalize_batch_in_training")
def normalize_batch_in_training(
    x: Any, gamma: Any, beta: Any, reduction_axes: Any, epsilon: float = 1e-3
) -> tuple[Any, Any, Any]:
    """Return the batch normalized by its own moments, and these: (normalized, mean, variance)."""
    axes, rank = list(reduction_axes), x.shape.ndims
    if rank == 4 and axes == [0, 1, 2]:
        gamma = tf.constant(1.0, dtype=x.dtype, shape=[x.shape[3]]) if gamma is None else gamma
        beta = tf.constant(0.0, dtype=x.dtype, shape=[x.shape[3]]) if beta is None else beta
        return tf.nn.fused_batch_norm(x, gamma, beta, epsilon=epsilon, data_format="NHWC")
    mean, variance = tf.nn.moments(x, axes, None, None, False)
    if sorted(axes) == list(range(rank))[:-1]:
        return tf.nn.batch_normalization(x, mean, variance, beta, gamma, epsilon), mean, variance
    target = tf.stack([1 if axis in axes else tf.shape(x)[axis] for axis in range(rank)])
    shaped = [None if v is None else tf.reshape(v, target) for v in (mean, variance, gamma, beta)]
    normed = tf.nn.batch_normalization(x, shaped[0], shaped[1], shaped[3], shaped[2], epsilon)
    return normed, mean, variance


@export("keras.backend.batch_normalization")
def batch_normalization(
    x: Any, mean: Any, var: Any, beta: Any, gamma: Any, axis: int = -1, epsilon: float = 1e-3
) -> Any:
    """Return the batch normalized by given moments."""
    if x.shape.ndims != 4:
        return tf.nn.batch_normalization(x, mean, var, beta, gamma, epsilon)
    data_format = {1: "NCHW", -3: "NCHW", 3: "NHWC", -1: "NHWC"}.get(axis)
    if data_format == "NHWC":
        mean, var = _vector(mean), _vector(var)
        beta = tf.zeros_like(mean) if beta is None else _vector(beta)
        gamma = tf.ones_like(mean) if gamma is None else _vector(gamma)
    normed, _, _ = tf.nn.fused_batch_norm(
        x, gamma, beta, epsilon=epsilon, mean=mean, variance=var, data_format=data_format,
        is_training=False,
    )  # fmt: skip
    return normed


def _vector(x: Any) -> Any:
    return tf.reshape(x, [-1]) if x.shape.ndims > 1 else x
