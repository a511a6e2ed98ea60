"""tf.estimator.MultiHead: several heads on one model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow.estimator.canned.keys import MetricKeys, ServingKeys
from stillflow.estimator.head.base import (
    Head,
    summarize_losses,
    train_operation,
    with_regularization,
)
from stillflow.estimator.mode_keys import ModeKeys
from stillflow.estimator.spec import EstimatorSpec
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.saved_model.export_outputs import PredictOutput
from stillflow.saved_model.names import DEFAULT_SERVING_SIGNATURE_DEF_KEY


@export("estimator.MultiHead")
class MultiHead(Head):
    """Several heads, whose losses are added up.

    Args:
      heads: heads with names.
      head_weights: a number for each loss; 1 if None.

    Raises:
      ValueError: if there are no heads, one has no name, or the weights are of another number.
    """

    def __init__(self, heads: Sequence[Any], head_weights: Any = None) -> None:
        if not heads:
            raise ValueError(f"Must specify heads. Given: {heads}")
        if head_weights and len(head_weights) != len(heads):
            raise ValueError(
                "heads and head_weights must have the same size. Given len(heads): "
                f"{len(heads)}. Given len(head_weights): {len(head_weights)}."
            )
        for head in heads:
            if head.name is None:
                raise ValueError(f"All given heads must have name specified. Given: {head}")
        self._heads = tuple(heads)
        self._head_weights = tuple(head_weights or ())

    @property
    def name(self) -> str:
        """The names of the heads, joined."""
        return "_".join(head.name for head in self._heads)

    @property
    def logits_dimension(self) -> int:
        """The sum of those of the heads."""
        return sum(head.logits_dimension for head in self._heads)

    @property
    def loss_reduction(self) -> Any:
        """The reduction of all heads.

        Raises:
          ValueError: if they have several.
        """
        reductions = [head.loss_reduction for head in self._heads]
        if len(set(reductions)) > 1:
            raise ValueError(
                f"The loss_reduction must be the same for different heads. Given: {reductions}"
            )
        return reductions[0]

    def _of_heads(self, logits: Any, labels: Any = None) -> dict[str, Any]:
        """Return {head: logits}; ValueError unless labels and logits are those of the heads."""
        names = {head.name for head in self._heads}
        if not isinstance(logits, dict):
            logits = split_logits(self._heads, logits)
        elif names - set(logits):
            missing = list(names - set(logits))
            raise ValueError(f"logits has missing values for head(s): {missing}")
        if labels is not None:
            if not isinstance(labels, dict):
                raise ValueError(f"labels must be a dict. Given: {labels}")
            if names - set(labels):
                missing = list(names - set(labels))
                raise ValueError(f"labels has missing values for head(s): {missing}")
        found: dict[str, Any] = logits
        return found

    def loss(
        self, labels: Any, logits: Any, features: Any = None, mode: Any = None,
        regularization_losses: Any = None,
    ) -> Tensor:  # fmt: skip
        """Return the sum of the losses, times the weights of the heads."""
        of_heads = self._of_heads(logits, labels)
        losses = [
            head.loss(
                logits=of_heads[head.name], labels=labels[head.name], features=features, mode=mode
            )
            for head in self._heads
        ]
        with tf.name_scope(None, "merge_losses", (*losses, *self._head_weights)):
            if self._head_weights:
                weighted = zip(losses, self._head_weights, strict=True)
                losses = [tf.multiply(loss, weight) for loss, weight in weighted]
            return with_regularization(tf.add_n(losses), regularization_losses)

    def predictions(self, logits: Any, keys: Any = None) -> dict[Any, Any]:
        """{(head, name): prediction}."""
        of_heads = self._of_heads(logits)
        with tf.name_scope("merge_pred"):
            return {
                (head.name, key): value for head in self._heads
                for key, value in head.predictions(logits=of_heads[head.name]).items()
            }  # fmt: skip

    def metrics(self, regularization_losses: Any = None) -> dict[str, Any]:
        """Return the mean loss of each head; those of the heads come with the first update."""
        mean, metrics = tf.keras.metrics.Mean, {}
        if regularization_losses is not None:
            key = MetricKeys.LOSS_REGULARIZATION
            metrics[self._summary_key(key)] = mean(name=key)
        with tf.name_scope("merge_eval"):
            for head in self._heads:
                key = f"{MetricKeys.LOSS}/{head.name}"
                metrics[key] = mean(name=key)
        return metrics

    def update_metrics(  # as TF's, it takes no mode
        self, eval_metrics: dict[str, Any], features: Any, logits: Any, labels: Any,
        regularization_losses: Any = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Return the metrics and those of the heads, after they were updated by a batch."""
        of_heads = self._of_heads(logits, labels)
        if regularization_losses is not None:
            key = self._summary_key(MetricKeys.LOSS_REGULARIZATION)
            eval_metrics[key].update_state(values=tf.add_n(regularization_losses))
        for head in self._heads:
            own_logits, own_labels = of_heads[head.name], labels[head.name]
            loss = head.loss(logits=own_logits, labels=own_labels, features=features)
            eval_metrics[f"{MetricKeys.LOSS}/{head.name}"].update_state(values=loss)
            updated = head.update_metrics(head.metrics(), features, own_logits, own_labels)
            eval_metrics.update(updated or {})
        return eval_metrics

    def create_estimator_spec(
        self, features: Any, mode: Any, logits: Any, labels: Any = None, optimizer: Any = None,
        trainable_variables: Any = None, train_op_fn: Any = None, update_ops: Any = None,
        regularization_losses: Any = None,
    ) -> EstimatorSpec:  # fmt: skip
        """Return the `EstimatorSpec` for a model function; see `Head`."""
        with tf.name_scope(self.name, "multi_head"):
            specs = self._specs(features, mode, logits, labels)
            predictions = self.predictions(logits)
            if mode == ModeKeys.PREDICT:
                outputs = merged_outputs(specs)
                return EstimatorSpec(mode, predictions=predictions, export_outputs=outputs)
            loss = self.loss(labels, logits, features, mode, regularization_losses)
            if mode == ModeKeys.EVAL:
                metrics = self.metrics(regularization_losses)
                metrics = self.update_metrics(
                    metrics, features, logits, labels, regularization_losses=regularization_losses
                )
                return EstimatorSpec(
                    mode, predictions=predictions, loss=loss, eval_metric_ops=metrics
                )
            if mode != ModeKeys.TRAIN:
                raise ValueError(f"mode={mode} unrecognized")
            train_op = train_operation(
                loss, optimizer, trainable_variables, train_op_fn, update_ops
            )
            summarize_losses(loss, regularization_losses)
            return EstimatorSpec(mode, predictions=predictions, loss=loss, train_op=train_op)

    def _specs(self, features: Any, mode: Any, logits: Any, labels: Any) -> dict[str, Any]:
        """Return {head: its own spec}; in training their steps do nothing."""
        of_heads = self._of_heads(logits, labels)
        return {
            head.name: head.create_estimator_spec(
                features=features, mode=mode, logits=of_heads[head.name],
                labels=labels[head.name] if labels else None,
                train_op_fn=lambda _: tf.no_op(),
            )
            for head in self._heads
        }  # fmt: skip


def split_logits(heads: Sequence[Any], logits: Any) -> dict[str, Any]:
    """Return the logits of each head by its name, out of those of all."""
    sizes = [head.logits_dimension for head in heads]
    with tf.name_scope(None, "split_logits", [logits]):
        logits = tf.convert_to_tensor(logits)
        static = logits.shape.as_list()
        if static[-1] not in (None, sum(sizes)):
            # TensorFlow says both numbers in this order.
            raise ValueError(
                f"Could not split logits of shape {static!r} among the heads with individual "
                f"logits dimensions: {sizes!r}. The last dimension of the logits tensor should "
                f"equal {static[-1]} but is {sum(sizes)}."
            )
        batch_shape = tf.shape(logits)[:-1]
        zeros, minus_ones = tf.zeros_like(batch_shape), -1 * tf.ones_like(batch_shape)
        found, begin = {}, 0
        for head, size in zip(heads, sizes, strict=True):
            start = tf.concat([zeros, [begin]], axis=0)
            width = tf.concat([minus_ones, [size]], axis=0)
            found[head.name] = tf.slice(logits, begin=start, size=width)
            begin += size
        return found


def merged_outputs(specs: dict[str, Any], package: str = "tf.estimator") -> dict[str, Any]:
    """Return all heads' exported outputs, under their names; the default is the first's.

    `package` is the one of heads to advise if the first, of {head: spec}, has no default.
    """
    default = DEFAULT_SERVING_SIGNATURE_DEF_KEY
    first = next(iter(specs))
    outputs = {default: _default_output(specs[first].export_outputs, first, package)}
    predicted = {}
    for name, spec in specs.items():
        for key, output in spec.export_outputs.items():
            outputs[name if key == default else f"{name}/{key}"] = output
            if key == ServingKeys.PREDICT and isinstance(output, PredictOutput):
                for part, value in output.outputs.items():
                    predicted[f"{name}/{part}"] = value
    return {**outputs, ServingKeys.PREDICT: PredictOutput(predicted)}


def _default_output(outputs: dict[str, Any], head: str, package: str) -> Any:
    if len(outputs) == 1:
        return next(iter(outputs.values()))
    if DEFAULT_SERVING_SIGNATURE_DEF_KEY not in outputs:
        raise ValueError(
            f"{head} did not specify default export_outputs. Given: {outputs} Suggested fix: Use "
            f"one of the heads in {package}, or include key "
            f"{DEFAULT_SERVING_SIGNATURE_DEF_KEY} in export_outputs."
        )
    return outputs[DEFAULT_SERVING_SIGNATURE_DEF_KEY]
