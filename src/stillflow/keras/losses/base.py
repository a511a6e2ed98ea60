"""Losses as objects: a function of targets and predictions, and how it is reduced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.distribute.context import has_strategy
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.session import eval_
from stillflow.keras.losses.alignment import weigh
from stillflow.layers.symbolic_graph import graph_of_symbolic


@export("compat.v2.keras.losses.Reduction")
class Reduction:
    """Reduction of the examples' losses."""

    AUTO = "auto"
    NONE = "none"
    SUM = "sum"
    SUM_OVER_BATCH_SIZE = "sum_over_batch_size"

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Every reduction."""
        return cls.AUTO, cls.NONE, cls.SUM, cls.SUM_OVER_BATCH_SIZE

    @classmethod
    def validate(cls, key: Any) -> None:
        """Raise an error for a key that is not a reduction.

        Raises:
          ValueError: if `key` is none of them.
        """
        if key not in cls.all():
            raise ValueError(f"Invalid Reduction Key {key}.")


def reduce_weighted_loss(
    weighted_losses: Any, reduction: str = Reduction.SUM_OVER_BATCH_SIZE
) -> Tensor:
    """Losses as one number."""
    if reduction == Reduction.NONE:
        return weighted_losses
    loss = tf.reduce_sum(weighted_losses)
    if reduction != Reduction.SUM_OVER_BATCH_SIZE:
        return loss
    with name_scope("num_elements") as scope:
        count = tf.cast(tf.size(weighted_losses, name=scope), dtype=weighted_losses.dtype)
    return tf.math.divide_no_nan(tf.reduce_sum(loss), count, name="value")


def compute_weighted_loss(
    losses: Any,
    sample_weight: Any = None,
    reduction: str = Reduction.SUM_OVER_BATCH_SIZE,
    name: Any = None,
) -> Tensor:
    """Return losses times weights, 1 by default, reduced as one of `Reduction` says.

    ValueError if there is no such reduction.
    """
    Reduction.validate(reduction)
    if reduction == Reduction.AUTO:
        reduction = Reduction.SUM_OVER_BATCH_SIZE
    with name_scope(name or "weighted_loss"):
        tf.get_default_graph()._last_loss_reduction = reduction
        losses = convert_to_tensor(losses)
        weighted = weigh(losses, 1.0 if sample_weight is None else sample_weight)
        return tf.cast(reduce_weighted_loss(weighted, reduction), losses.dtype)


@export("keras.losses.Loss")
class Loss:
    """A loss; a subclass defines `call(y_true, y_pred)`, the loss of each example.

    Args:
      reduction: one of `Reduction`.
      name: of the operations.

    Raises:
      ValueError: if there is no such reduction.
    """

    def __init__(self, reduction: str = Reduction.AUTO, name: str | None = None) -> None:
        Reduction.validate(reduction)
        self.reduction, self.name = reduction, name

    def __call__(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> Tensor:
        """Return the loss.

        Args:
          y_true: the targets.
          y_pred: the predictions.
          sample_weight: of each example, or finer.
        """
        scope = "lambda" if self.name == "<lambda>" else self.name
        symbolic = graph_of_symbolic(y_true, y_pred, sample_weight)
        with name_scope(scope or type(self).__name__), symbolic:
            losses = self.call(y_true, y_pred)
            return compute_weighted_loss(losses, sample_weight, reduction=self._get_reduction())

    def _get_reduction(self) -> str:
        """Return the reduction.

        ValueError if it is by the size of a batch that only a replica knows.
        """
        by_size = self.reduction in (Reduction.AUTO, Reduction.SUM_OVER_BATCH_SIZE)
        if by_size and has_strategy():
            raise ValueError(
                "Please use `tf.keras.losses.Reduction.SUM` or `tf.keras.losses.Reduction.NONE` "
                "for loss reduction when losses are used with `tf.distribute.Strategy` outside of "
                "the built-in training loops. You can implement "
                "`tf.keras.losses.Reduction.SUM_OVER_BATCH_SIZE` using global batch size like:\n"
                "```\nwith strategy.scope():\n    loss_obj = "
                "tf.keras.losses.CategoricalCrossentropy("
                "reduction=tf.keras.losses.Reduction.NONE)\n....\n    loss = "
                "tf.reduce_sum(loss_obj(labels, predictions)) * (1. / global_batch_size)\n```\n"
                "Please see https://www.tensorflow.org/alpha/tutorials/distribute/training_loops "
                "for more details."
            )
        return self.reduction

    def call(self, y_true: Any, y_pred: Any) -> Any:
        """Return the loss of each example."""
        raise NotImplementedError("Must be implemented in subclasses.")

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """Return the loss with these constructor's arguments."""
        return cls(**config)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {"reduction": self.reduction, "name": self.name}


class LossFunctionWrapper(Loss):
    """A function of targets and predictions as a loss.

    Args:
      fn: `f(y_true, y_pred, **kwargs)` gives the loss of each example.
      reduction, name: see `Loss`.
      **kwargs: arguments of the function.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        reduction: str = Reduction.AUTO,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(reduction=reduction, name=name)
        self.fn, self._fn_kwargs = fn, kwargs

    def call(self, y_true: Any, y_pred: Any) -> Tensor:
        """Return the function's value."""
        return self.fn(y_true, y_pred, **self._fn_kwargs)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments, without the function."""
        kwargs = {k: eval_(v) if tf.is_tensor(v) else v for k, v in self._fn_kwargs.items()}
        return {**super().get_config(), **kwargs}
