"""Losses over a sample of the classes: noise-contrastive estimation, sampled softmax."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.nn.embedding import as_list, embedding_lookup
from stillflow.nn.losses import sigmoid_cross_entropy_with_logits
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones, ones_like, zeros_like
from stillflow.ops.arrays.shape import expand_dims, reshape, shape
from stillflow.ops.arrays.slicing import slice_
from stillflow.ops.arrays.stack import stack
from stillflow.ops.control_flow.identity_and_group import stop_gradient
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.math.binary import multiply
from stillflow.ops.math.cast import cast
from stillflow.ops.math.unary import log
from stillflow.ops.nn.cross_entropy import softmax_cross_entropy_with_logits_v2
from stillflow.ops.random.candidates import (
    compute_accidental_hits,
    log_uniform_candidate_sampler,
)
from stillflow.ops.sparse.dense import sparse_to_dense_op


def _sum_rows(x: Tensor) -> Tensor:
    """Return the sum of every row, by a product with ones."""
    columns = shape(x)[1]
    return reshape(matmul(x, ones(stack([columns, 1]), x.dtype)), [-1])


def _true_logits(inputs: Tensor, true_w: Tensor, num_true: int) -> Tensor:
    """Return the products of every input with the weights of its own classes, [batch, num_true]."""
    width = shape(true_w)[1:2]
    by_example = concat([[-1, num_true], width], 0)
    products = multiply(expand_dims(inputs, 1), reshape(true_w, by_example))
    flat = concat([[-1], width], 0)
    sums = _sum_rows(reshape(products, flat))
    return reshape(sums, [-1, num_true])


def _mask_hits(
    labels: Tensor, sampled: Tensor, num_true: int, num_sampled: int, logits: Tensor
) -> Tensor:
    """Logits with those of sampled classes that are an example's own made very small."""
    examples, ids, small = compute_accidental_hits(labels, sampled, num_true=num_true)
    columns = [reshape(examples, [-1, 1]), reshape(cast(ids, dtypes.int32), [-1, 1])]
    places = concat(columns, 1, "sparse_indices")
    size = concat([shape(labels)[:1], expand_dims(num_sampled, 0)], 0)
    masked = sparse_to_dense_op(
        places, size, _of_type(small, logits.dtype), 0.0, validate_indices=False
    )
    return logits + masked


def _of_type(tensor: Tensor, dtype: Any) -> Tensor:
    return tensor if tensor.dtype == dtype else cast(tensor, dtype)


def compute_sampled_logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    subtract_log_q: bool = True,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str | None = None,
    seed: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return logits and labels of an example's own classes and of sampled ones.

    Arguments are those of `nce_loss`; `subtract_log_q` corrects for how often a class is drawn.
    Both are [batch, num_true + num_sampled].
    """
    weights = as_list(weights)
    with name_scope(name, "compute_sampled_logits", [*weights, biases, inputs, labels]):
        labels = _of_type(labels, dtypes.int64)
        own_ids = reshape(labels, [-1])
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                labels, num_true, num_sampled, True, num_classes, seed
            )
        sampled, *counts = map(stop_gradient, sampled_values)
        sampled = cast(sampled, dtypes.int64)
        ids = concat([own_ids, sampled], 0)

        def looked_up(table: Any) -> Tensor:
            rows = embedding_lookup(table, ids, partition_strategy=partition_strategy)
            return _of_type(rows, inputs.dtype)

        rows = looked_up(weights)
        own_rows = slice_(rows, [0, 0], stack([shape(own_ids)[0], -1]))
        others = slice_(rows, stack([shape(own_ids)[0], 0]), [-1, -1])
        products = matmul(inputs, others, transpose_b=True)
        biases = looked_up(biases)
        own_bias = slice_(biases, [0], shape(own_ids))
        bias = slice_(biases, shape(own_ids), [-1])
        own: Any = _true_logits(inputs, own_rows, num_true)
        parts = [own + reshape(own_bias, [-1, num_true]), products + bias]
        if remove_accidental_hits:
            parts[1] = _mask_hits(labels, sampled, num_true, num_sampled, parts[1])
        if subtract_log_q:
            parts = [part - log(count) for part, count in zip(parts, counts, strict=True)]
        logits = concat(parts, 1)
        return logits, concat([ones_like(parts[0]) / num_true, zeros_like(parts[1])], 1)


@export("nn.nce_loss")
def nce_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:
    """Return the noise-contrastive training loss: an example's classes against sampled ones.

    Args:
      weights: [num_classes, dim], or a list of parts.
      biases: [num_classes].
      labels: class numbers, int64 [batch, num_true].
      inputs: [batch, dim].
      num_sampled: how many classes are drawn for the batch.
      sampled_values: what a `*_candidate_sampler` gave; by default from the log-uniform one.
      remove_accidental_hits: whether sampled classes that are an example's own are left out.
      partition_strategy: see `embedding_lookup`.

    Returns:
      The loss of every example, [batch].

    Example:
      >>> weights, biases, inputs = tf.ones([100, 4]), tf.zeros([100]), tf.ones([2, 4])
      >>> labels = tf.constant([[3], [8]], tf.int64)
      >>> tf.nn.nce_loss(weights, biases, labels, inputs, num_sampled=5, num_classes=100)
      <tf.Tensor 'Reshape:0' shape=(2,) dtype=float32>
    """
    logits, truth = compute_sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values,
        True, remove_accidental_hits, partition_strategy, name,
    )  # fmt: skip
    losses = sigmoid_cross_entropy_with_logits(None, truth, logits, "sampled_losses")
    return _sum_rows(losses)


@export("nn.sampled_softmax_loss")
def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """Softmax cross entropy over an example's classes and sampled ones.

    Arguments and result are those of `nce_loss`; `seed` is the sampler's.
    """
    logits, labels = compute_sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true=num_true,
        sampled_values=sampled_values, subtract_log_q=True,
        remove_accidental_hits=remove_accidental_hits, partition_strategy=partition_strategy,
        name=name, seed=seed,
    )  # fmt: skip
    labels = stop_gradient(labels, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
