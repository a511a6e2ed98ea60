"""Several heads of `tf.contrib.estimator` on one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow.estimator.canned.head import Head, LossSpec
from stillflow.estimator.canned.keys import MetricKeys, key_of_head
from stillflow.estimator.head.multi_head import merged_outputs, split_logits
from stillflow.estimator.mode_keys import ModeKeys
from stillflow.estimator.spec import EstimatorSpec
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.train.global_step import get_global_step


@export("contrib.estimator.multi_head")
def multi_head(heads: Sequence[Any], head_weights: Any = None) -> Head:
    """Return a head of several others, whose losses are added up.

    Args:
      heads: heads with names.
      head_weights: a number for each loss; 1 if None.

    Raises:
      ValueError: if there are no heads, one has no name, or the weights are of another number.
    """
    weights = tuple(head_weights or ())
    if weights and len(weights) != len(heads):
        raise ValueError(
            f"heads and head_weights must have the same size. Given len(heads): {len(heads)}. "
            f"Given len(head_weights): {len(weights)}."
        )
    if not heads:
        raise ValueError(f"Must specify heads. Given: {heads}")
    nameless = [head for head in heads if not head.name]
    if nameless:
        raise ValueError(f"All given heads must have name specified. Given: {nameless[0]}")
    return _MultiHead(tuple(heads), weights)


class _MultiHead(Head):
    """Several heads; labels and, if they are not split, logits are dicts by their names."""

    def __init__(self, heads: tuple[Any, ...], head_weights: tuple[Any, ...]) -> None:
        super().__init__(sum(head.logits_dimension for head in heads))
        self._heads, self._head_weights = heads, head_weights

    @property
    def name(self) -> str:
        """The names of the heads, joined."""
        return "_".join(head.name for head in self._heads)

    def _of_heads(self, logits: Any) -> dict[str, Any]:
        return logits if isinstance(logits, dict) else split_logits(self._heads, logits)

    def _merged(self, losses: Sequence[Any]) -> Tensor:
        with tf.name_scope("merge_losses", values=[*losses, *self._head_weights]):
            if not self._head_weights:
                return tf.add_n(losses)
            pairs = zip(losses, self._head_weights, strict=True)
            return tf.add_n([tf.multiply(loss, weight) for loss, weight in pairs])

    def create_loss(self, features: Any, mode: Any, logits: Any, labels: Any) -> LossSpec:
        """Return the sum of the heads' losses; the other parts are dicts by their names."""
        of_heads = self._of_heads(logits)
        unreduced, weights, processed, losses = {}, {}, {}, []
        for i, head in enumerate(self._heads):
            name = head.name
            loss = head.create_loss(features, mode, of_heads[name], labels[name])
            losses.append(loss.training_loss)
            unreduced[name], weights[name] = loss.unreduced_loss, loss.weights
            processed[name] = loss.processed_labels
            if self._head_weights:
                factor = self._head_weights[i]
                unreduced[name] = tf.multiply(loss.unreduced_loss, factor)
                weights[name] = tf.multiply(loss.weights, factor)
        return LossSpec(self._merged(losses), unreduced, weights, processed)

    def create_estimator_spec(  # as TF's, it takes no regularization
        self, features: Any, mode: Any, logits: Any, labels: Any = None, optimizer: Any = None,
        train_op_fn: Any = None,
    ) -> EstimatorSpec:  # fmt: skip
        """Return the `EstimatorSpec` for a model function; see `Head`.

        Raises:
          ValueError: if labels are no dict, for other modes, or if both or neither of optimizer
            and `train_op_fn` are given in training.
        """
        of_heads = self._of_heads(logits)
        if labels and not isinstance(labels, dict):
            raise ValueError(f"labels must be a dict. Given: {labels}")
        specs = {
            head.name: head.create_estimator_spec(
                features=features, mode=mode, logits=of_heads[head.name],
                labels=labels[head.name] if labels else None,
                train_op_fn=lambda _: tf.no_op(),
            )
            for head in self._heads
        }  # fmt: skip
        predictions = {
            (name, key): value
            for name, spec in specs.items()
            for key, value in spec.predictions.items()
        }
        if mode == ModeKeys.TRAIN:
            return self._trained(specs, predictions, optimizer, train_op_fn)
        if mode == ModeKeys.PREDICT:
            outputs = merged_outputs(specs, "tf.contrib.estimator")
            return EstimatorSpec(mode, predictions=predictions, export_outputs=outputs)
        if mode == ModeKeys.EVAL:
            return self._evaluated(specs, predictions)
        raise ValueError(f"mode={mode} unrecognized")

    def _trained(
        self, specs: dict[str, Any], predictions: Any, optimizer: Any, train_op_fn: Any
    ) -> EstimatorSpec:
        loss = self._merged([spec.loss for spec in specs.values()])
        if optimizer is not None and train_op_fn is not None:
            raise ValueError("train_op_fn and optimizer cannot both be set.")
        if optimizer is not None:
            train_op = optimizer.minimize(loss, global_step=get_global_step())
        elif train_op_fn is not None:
            train_op = train_op_fn(loss)
        else:
            raise ValueError("train_op_fn and optimizer cannot both be None.")
        metrics = {
            key: metric
            for spec in specs.values()
            for key, metric in (spec.eval_metric_ops or {}).items()
        }
        with tf.name_scope(""):
            tf.summary.scalar(MetricKeys.LOSS, loss)
        return EstimatorSpec(
            ModeKeys.TRAIN, loss=loss, train_op=train_op, predictions=predictions,
            eval_metric_ops=metrics,
        )  # fmt: skip

    def _evaluated(self, specs: dict[str, Any], predictions: Any) -> EstimatorSpec:
        metrics = {}
        with tf.name_scope("merge_eval"):
            for name, spec in specs.items():
                key = key_of_head(name, MetricKeys.LOSS)
                metrics[key] = tf.metrics.mean(spec.loss, name=key)
                metrics.update(spec.eval_metric_ops or {})
            loss = self._merged([spec.loss for spec in specs.values()])
        return EstimatorSpec(
            ModeKeys.EVAL, predictions=predictions, loss=loss, eval_metric_ops=metrics
        )
