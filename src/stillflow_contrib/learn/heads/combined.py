"""Heads of several heads, and heads that have a loss alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow_contrib.learn.heads.base import (
    Head,
    add_loss_summary,
    check_mode,
    old_head,
    require_train_op,
)
from stillflow_contrib.learn.mode_keys import ModeKeys
from stillflow_contrib.learn.model_fn_ops import ModelFnOps


class _LossOnlyHead(Head):
    """A loss that needs no logits."""

    def __init__(self, loss_fn: Callable[[], Any], head_name: str | None = None) -> None:
        self._loss_fn = loss_fn
        self.head_name = head_name or "loss_only_head"

    @property
    def logits_dimension(self) -> int:
        """None."""
        return 0

    def create_model_fn_ops(
        self,
        features: Any,
        mode: str,
        labels: Any = None,
        train_op_fn: Any = None,
        logits: Any = None,
        logits_input: Any = None,
        scope: Any = None,
    ) -> ModelFnOps:
        """Build the loss: see `Head`."""
        check_mode(mode)
        loss = train_op = None
        if mode != ModeKeys.INFER:
            with tf.variable_scope(scope, default_name=self.head_name):
                loss = self._loss_fn()
                if isinstance(loss, list):
                    loss = tf.add_n(loss)
                add_loss_summary(loss, self.head_name)
                if mode == ModeKeys.TRAIN:
                    require_train_op(train_op_fn)
                    with tf.name_scope(None, "train_op", (loss,)):
                        train_op = train_op_fn(loss)
        return ModelFnOps(
            mode=mode, loss=loss, train_op=train_op, predictions={}, eval_metric_ops={}
        )


class _MultiHead(Head):
    """Several heads, whose losses are added."""

    def __init__(self, heads: Any, loss_merger: Callable[[list[Any]], Any]) -> None:
        for head in heads:
            if not head.head_name:
                raise ValueError("Members of MultiHead must have names.")
        self._heads = heads
        self._loss_merger = loss_merger

    @property
    def logits_dimension(self) -> int:
        """Those of the heads together."""
        return sum(head.logits_dimension for head in self._heads)

    def create_model_fn_ops(
        self,
        features: Any,
        mode: str,
        labels: Any = None,
        train_op_fn: Any = None,
        logits: Any = None,
        logits_input: Any = None,
        scope: Any = None,
    ) -> ModelFnOps:
        """Build the model: see `Head`. `logits` may be a dict, by the heads' names."""
        check_mode(mode)
        given = {"features": features, "mode": mode, "labels": labels, "scope": scope}
        given["train_op_fn"] = no_op_train_fn
        if logits is None:
            models = [
                head.create_model_fn_ops(logits_input=logits_input, **given) for head in self._heads
            ]
        else:
            models = [
                head.create_model_fn_ops(logits=each, **given)
                for head, each in zip(self._heads, self._logits_of_heads(logits))
            ]
        if mode == ModeKeys.TRAIN:
            require_train_op(train_op_fn, ".")
            return self._merge_train(models, train_op_fn)
        return self._merge_infer(models) if mode == ModeKeys.INFER else self._merge_eval(models)

    def _logits_of_heads(self, logits: Any) -> list[Any]:
        if isinstance(logits, dict):
            return [
                None if isinstance(head, _LossOnlyHead) else logits[head.head_name]
                for head in self._heads
            ]
        parts, begin = [], 0
        for head in self._heads:
            parts.append(tf.slice(logits, [0, begin], [-1, head.logits_dimension]))
            begin += head.logits_dimension
        return parts

    def _predictions(self, models: list[ModelFnOps]) -> dict[Any, Any]:
        return {
            (head.head_name, key): value
            for head, model in zip(self._heads, models)
            for key, value in model.predictions.items()
        }

    def _merge_train(self, models: list[ModelFnOps], train_op_fn: Any) -> ModelFnOps:
        loss = self._loss_merger([model.loss for model in models])
        train_op = tf.group(train_op_fn(loss), *[model.train_op for model in models])
        return ModelFnOps(
            mode=ModeKeys.TRAIN, loss=loss, train_op=train_op, eval_metric_ops=_metrics(models)
        )

    def _merge_infer(self, models: list[ModelFnOps]) -> ModelFnOps:
        outputs = {
            head.head_name: model.output_alternatives[head.head_name]
            for head, model in zip(self._heads, models)
            if not isinstance(head, _LossOnlyHead)
        }
        return ModelFnOps(
            mode=ModeKeys.INFER, predictions=self._predictions(models), output_alternatives=outputs
        )

    def _merge_eval(self, models: list[ModelFnOps]) -> ModelFnOps:
        return ModelFnOps(
            mode=ModeKeys.EVAL,
            predictions=self._predictions(models),
            loss=self._loss_merger([model.loss for model in models]),
            eval_metric_ops=_metrics(models),
        )


def _metrics(models: list[ModelFnOps]) -> dict[str, Any]:
    return {key: value for model in models for key, value in model.eval_metric_ops.items()}


@old_head
def loss_only_head(loss_fn: Callable[[], Any], head_name: str | None = None) -> Head:
    """Return a head with a loss and no logits; for `multi_head`.

    Args:
      loss_fn: gives a scalar, or a list of them.
      head_name: its name.
    """
    return _LossOnlyHead(loss_fn, head_name=head_name)


@export("contrib.learn.multi_head")
@old_head
def multi_head(heads: Any, loss_weights: Any = None) -> Head:
    """Return a head of several heads.

    Args:
      heads: heads, each with a name.
      loss_weights: factors of their losses.

    Raises:
      ValueError: if there is another number of factors, or a head has no name.
    """
    if loss_weights and len(loss_weights) != len(heads):
        raise ValueError("heads and loss_weights must have same size")

    def merged(losses: list[Any]) -> Tensor:
        if loss_weights:
            losses = [tf.multiply(loss, weight) for loss, weight in zip(losses, loss_weights)]
        return tf.add_n(losses)

    return _MultiHead(heads, loss_merger=merged)


@export("contrib.learn.no_op_train_fn")
def no_op_train_fn(loss: Any) -> Operation:
    """Make no training operation of a loss."""
    return tf.no_op()
