"""The area under a ROC curve, from histograms of scores."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow_contrib.framework.tensors import remove_squeezable_dimensions


@export("contrib.metrics.auc_using_histogram", "contrib.slim.metrics.auc_using_histogram")
def auc_using_histogram(
    boolean_labels: Any,
    scores: Any,
    score_range: Any,
    nbins: int = 100,
    collections: Any = None,
    check_shape: bool = True,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return the area under the ROC curve, as exact as the histograms are fine.

    Args:
      boolean_labels: the truth, bool `[batch]`.
      scores: numbers `[batch]`.
      score_range: the least and the greatest score, of the type of `scores`.
      nbins: of the histograms.
      collections: of the variables; local variables by default.
      check_shape: whether operations that check the ranks are made; none of the others waits for
        them.
      name: of the variables' scope.

    Returns:
      The area, a float32 scalar, and the operation that updates the histograms.

    Raises:
      ValueError: if the labels are not bool.
    """
    if collections is None:
        collections = [GraphKeys.LOCAL_VARIABLES]
    inputs = [boolean_labels, scores, score_range]
    with tf.variable_scope(name, "auc_using_histogram", inputs):
        scores, boolean_labels = remove_squeezable_dimensions(scores, boolean_labels)
        score_range = tf.convert_to_tensor(score_range, name="score_range")
        boolean_labels, scores = _checked(boolean_labels, scores, check_shape)
        batch = _histograms(boolean_labels, scores, score_range, nbins)
        true, false, update = _accumulated(batch, nbins, collections)
        return _area(true, false, nbins), update


def _assert_rank_1(tensor: Any, what: str) -> Operation:
    return tf.Assert(
        tf.equal(1, tf.rank(tensor)),
        [f"Argument {what} should have rank 1.  Found: ", tensor.name, tf.shape(tensor)],
    )


def _checked(labels: Any, scores: Any, check_shape: bool) -> tuple[Any, Any]:
    with tf.name_scope("_check_labels_and_scores", values=[labels, scores]):
        given = {"boolean_labels": labels, "scores": scores}
        tensors = {name: tf.convert_to_tensor(value, name=name) for name, value in given.items()}
        labels, scores = tensors.values()
        if labels.dtype != tf.bool:
            raise ValueError(
                "Argument boolean_labels should have dtype bool.  Found: %s", labels.dtype
            )
        for name, tensor in tensors.items() if check_shape else ():
            _assert_rank_1(tensor, name)
        return labels, scores


def _histograms(labels: Any, scores: Any, score_range: Any, nbins: int) -> list[Any]:
    """Histograms of the scores where the label is yes, and where it is no."""

    def histogram(chosen: Any, name: str) -> Tensor:
        values = tf.boolean_mask(scores, chosen)
        return tf.histogram_fixed_width(values, score_range, nbins, tf.int64, name)

    with tf.variable_scope(None, "make_auc_histograms", [labels, scores, nbins]):
        return [
            histogram(labels, "hist_true"),
            histogram(tf.logical_not(labels), "hist_false"),
        ]


def _accumulated(batch: list[Any], nbins: int, collections: Any) -> list[Any]:
    """Return the histograms of all batches, and the operation that adds one's."""
    with tf.variable_scope(None, "hist_accumulate", batch):
        totals = [
            tf.get_variable(
                name,
                shape=[nbins],
                dtype=counts.dtype,
                initializer=tf.zeros_initializer(),
                collections=collections,
                trainable=False,
            )
            for name, counts in zip(("hist_true_acc", "hist_false_acc"), batch, strict=True)
        ]
        added = [total.assign_add(counts) for total, counts in zip(totals, batch, strict=True)]
        return [*totals, tf.group(*added, name="update_op")]


def _area(true: Any, false: Any, nbins: int) -> Tensor:
    """Return the sum of the curve's trapezoids; it starts at the highest scores."""
    shares = [tf.truediv(counts, tf.reduce_sum(counts)) for counts in (true, false)]
    rise = tf.reverse(shares[0], [0], name="delta_y_t")
    run = tf.reverse(shares[1], [0], name="delta_x_t")
    rise, run = tf.cast(rise, tf.float32), tf.cast(run, tf.float32)
    height: Any = sums_so_far(rise, nbins)
    first = run[0] * height[0] / 2.0
    others = run[1:] * (height[1:] + height[: nbins - 1]) / 2.0
    return tf.add(first, tf.reduce_sum(others), name="auc")


def sums_so_far(steps: Any, length: int) -> Tensor:
    """Return running sums: a convolution with ones, as in the original graph."""
    with tf.name_scope("strict_1d_cumsum", values=[steps]):
        if length == 0:
            return tf.constant([])
        padded = tf.pad(steps, [[length - 1, 0]])
        ones = tf.ones_like(padded)
        with tf.name_scope("strict_conv1d", values=[padded, ones]):
            image = tf.reshape(padded, (1, -1, 1, 1))
            kernel = tf.reshape(ones, (-1, 1, 1, 1))
            sums: Any = tf.reshape(tf.nn.conv2d(image, kernel, [1, 1, 1, 1], "SAME"), [-1])
        return sums[:length]
