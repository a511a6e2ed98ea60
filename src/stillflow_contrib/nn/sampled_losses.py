"""Softmax losses over a sample of classes: by class numbers, by the most likely of a sample."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.nn.embedding import embedding_lookup_and_transform
from stillflow.nn.sampled import compute_sampled_logits


@export("contrib.nn.sampled_sparse_softmax_loss")
def sampled_sparse_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_sparse_softmax_loss",
) -> Tensor:
    """`tf.nn.sampled_softmax_loss` of one class an example, by sparse cross entropy.

    Args:
      labels: class numbers, int64 [batch, 1].
      weights, biases, ...: as of `tf.nn.sampled_softmax_loss`.

    Returns:
      The loss of every example, [batch].
    """
    logits, _ = compute_sampled_logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true=1,
        sampled_values=sampled_values, subtract_log_q=True,
        remove_accidental_hits=remove_accidental_hits, partition_strategy=partition_strategy,
        name=name,
    )  # fmt: skip
    # The example's own class comes first.
    own = tf.zeros([tf.shape(logits)[0], 1], dtype=tf.int64)
    return tf.nn.sparse_softmax_cross_entropy_with_logits(labels=tf.squeeze(own), logits=logits)


@export("contrib.nn.rank_sampled_softmax_loss")
def rank_sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_resampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    resampling_temperature: Any,
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str | None = None,
) -> Tensor:
    """Return `tf.nn.sampled_softmax_loss` over the sampled classes most likely for the batch.

    Args:
      weights: [num_classes, dim], or a list of parts.
      biases: [num_classes].
      labels: class numbers, int64 [batch, num_true].
      inputs: [batch, dim].
      num_sampled: how many classes are drawn for the batch.
      num_resampled: how many of them are kept.
      num_classes: how many there are.
      num_true: how many of them an example has.
      sampled_values: what a `*_candidate_sampler` gave; the learned unigram one's if None.
      resampling_temperature: divisor of logits in the choice of the most likely ones.
      remove_accidental_hits: whether sampled classes that are an example's own are left out.
      partition_strategy: "div" or "mod"; see `tf.nn.embedding_lookup`.
      name: of the scope.

    Returns:
      The loss of every example, [batch].

    Raises:
      ValueError: if more classes are drawn than there are, or kept than drawn; for other
        strategies.
    """
    problem = ""
    if num_sampled > num_classes:
        problem = f"num_sampled ({num_sampled}) cannot be greater than num_classes ({num_classes})"
    elif num_sampled <= num_resampled:
        problem = f"num_resampled ({num_resampled}) must be less than num_sampled ({num_sampled})"
    elif partition_strategy not in ("div", "mod"):
        problem = f"unsupported partition_strategy ({partition_strategy})"
    if problem:
        raise ValueError(problem)
    model = {
        "weights": weights, "biases": biases, "inputs": inputs,
        "partition_strategy": partition_strategy,
    }  # fmt: skip
    values = [weights, biases, labels, inputs, sampled_values, resampling_temperature]
    with tf.name_scope(name, "rank_sampled_softmax_loss", values) as scope:
        if not sampled_values:
            sampled_values = tf.nn.learned_unigram_candidate_sampler(
                true_classes=labels, num_true=num_true, num_sampled=num_sampled, unique=True,
                range_max=num_classes,
            )  # fmt: skip
        kept = _most_likely(
            sampled_values=sampled_values, count=num_resampled, temperature=resampling_temperature,
            **model,
        )  # fmt: skip
        return tf.nn.sampled_softmax_loss(
            labels=labels, num_sampled=num_resampled, num_classes=num_classes, num_true=num_true,
            sampled_values=kept, remove_accidental_hits=remove_accidental_hits, name=scope, **model,
        )  # fmt: skip


def _most_likely(
    weights: Any, biases: Any, inputs: Any, sampled_values: Any, count: int, temperature: Any,
    partition_strategy: str,
) -> tuple[Any, Any, Any]:  # fmt: skip
    """Return the sampled classes of the largest logits for the batch as a whole."""
    sampled, true_count, sampled_count = sampled_values
    sampled = tf.cast(tf.stop_gradient(sampled), tf.int64)
    true_count, sampled_count = tf.stop_gradient(true_count), tf.stop_gradient(sampled_count)
    cooled = inputs / temperature

    def logits_of(embeddings: Any) -> Tensor:
        products = tf.matmul(embeddings, cooled, transpose_b=True)
        return tf.reduce_logsumexp(products, axis=1, keepdims=False)

    logits = embedding_lookup_and_transform(
        weights, sampled, partition_strategy, transform_fn=logits_of
    )
    of_classes = tf.nn.embedding_lookup(biases, sampled, partition_strategy)
    logits += tf.reshape(of_classes, [-1]) / temperature
    _, places = tf.nn.top_k(logits, k=count, sorted=False)
    return (
        tf.gather(sampled, indices=places),
        true_count,
        tf.gather(sampled_count, indices=places),
    )
