"""The hinge loss of many classes."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor


@export("contrib.kernel_methods.sparse_multiclass_hinge_loss")
def sparse_multiclass_hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = tf.GraphKeys.LOSSES,
    reduction: str = tf.losses.Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the maximum amount by which the label's logit fails to exceed each other by 1.

    Args:
      labels: numbers of classes, int32 or int64, `[batch]` or `[batch, 1]`.
      logits: float32 or float64 `[batch, classes]`.
      weights: a scalar, or `[batch]` or `[batch, 1]`.
      scope: a name for the operations.
      loss_collection: where the loss is collected.
      reduction: how losses are reduced, one of `tf.losses.Reduction`.

    Returns:
      The weighted loss: `[batch]` if nothing is reduced, otherwise a scalar.

    Raises:
      ValueError: for other ranks or types, or if the shapes do not fit.
    """
    with tf.name_scope(scope, "sparse_multiclass_hinge_loss", (logits, labels)) as scope:
        rank = logits.get_shape().ndims
        if rank != 2:
            raise ValueError(
                f"logits should have rank 2 ([batch_size, num_classes]). Given rank is {rank}"
            )
        shape = tf.shape(logits)
        batch_size, num_classes = shape[0], shape[1]
        logits = tf.cast(logits, tf.float32)
        given_rank = labels.get_shape().ndims
        labels = _flat_labels(labels, num_classes)
        weights = _flat_weights(weights, labels, given_rank)
        margin = tf.nn.relu(_margins(labels, logits, batch_size, num_classes))
        loss = tf.reduce_max(margin, axis=1)
        return tf.losses.compute_weighted_loss(
            loss, weights, scope, loss_collection, reduction=reduction
        )


def _flat_labels(labels: Any, num_classes: Any) -> Tensor:
    if labels.dtype != tf.int32 and labels.dtype != tf.int64:
        raise ValueError(
            f"Invalid dtype for labels: {labels.dtype}. Acceptable dtypes: int32 and int64"
        )
    rank = labels.get_shape().ndims
    if rank not in (1, 2):
        raise ValueError(
            f"labels should have rank 1 ([batch_size]) or 2 ([batch_size, 1]). Given rank is {rank}"
        )
    checked = tf.assert_less(labels, tf.cast(num_classes, labels.dtype))
    with tf.control_dependencies([checked]):
        return tf.reshape(labels, shape=[-1])


def _flat_weights(weights: Any, labels: Any, labels_rank: int) -> Tensor:
    weights = tf.convert_to_tensor(weights)
    rank = weights.get_shape().ndims
    if rank == 0:
        return weights
    if rank not in (1, 2):
        # The rank that TensorFlow names here is that of the labels.
        raise ValueError(
            "non-scalar weights should have rank 1 ([batch_size]) or 2 ([batch_size, 1]). "
            f"Given rank is {labels_rank}"
        )
    weights = tf.reshape(weights, shape=[-1])
    weights.get_shape().assert_is_compatible_with(labels.get_shape())
    return weights


def _margins(labels: Any, logits: Any, batch_size: Any, num_classes: Any) -> Tensor:
    """Return the margins of each logit plus 1 over the label's logit."""
    rows = tf.reshape(tf.range(batch_size), shape=[batch_size, 1])
    columns = tf.reshape(tf.cast(labels, rows.dtype), shape=[batch_size, 1])
    indices = tf.concat([rows, columns], axis=1)
    of_labels = tf.reshape(tf.gather_nd(params=logits, indices=indices), shape=[batch_size, 1])
    others = tf.one_hot(indices=labels, depth=num_classes, on_value=0.0, off_value=1.0)
    return logits - of_labels + others
