"""Training in mixed precision by rewriting graphs."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow.train.experimental.loss_scale_optimizer import MixedPrecisionLossScaleOptimizer
from stillflow.train.optimizer import Optimizer

# Whether sessions may compute parts of a graph in half precision.
graph_rewrite_is_enabled = False


@export("train.experimental.enable_mixed_precision_graph_rewrite")
def enable_mixed_precision_graph_rewrite(opt: Any, loss_scale: Any = "dynamic") -> Any:
    """Allows sessions made from now on to compute in half precision where it is safe.

    As in TF 1.15, a machine without a GPU computes in single precision nevertheless.

    Args:
      opt: the optimizer of the training.
      loss_scale: a `LossScale`, a number or "dynamic".

    Returns:
      An optimizer that scales the loss; use it in place of `opt`.

    Raises:
      ValueError: if `opt` is no optimizer, or scales the loss already.
    """
    global graph_rewrite_is_enabled
    kind = "MixedPrecisionLossScaleOptimizer"
    if isinstance(opt, MixedPrecisionLossScaleOptimizer):
        raise ValueError(_twice(kind, kind))
    if type(opt).__name__ == "LossScaleOptimizer":
        raise ValueError(_twice("LossScaleOptimizer", "LossScaleOptimizer"))
    if not isinstance(opt, Optimizer):
        raise ValueError(
            '"opt" must be an instance of a tf.train.Optimizer or a tf.keras.optimizers.Optimizer, '
            f"but got: {opt}"
        )
    wrapped = MixedPrecisionLossScaleOptimizer(opt, loss_scale)
    graph_rewrite_is_enabled = True
    return wrapped


def _twice(given: str, made: str) -> str:
    return (
        f'"opt" must not already be an instance of a {given}. '
        "`enable_mixed_precision_graph_rewrite` will automatically wrap the optimizer with a "
        f"{made}."
    )


@export("train.experimental.disable_mixed_precision_graph_rewrite")
def disable_mixed_precision_graph_rewrite() -> None:
    """Takes back what `enable_mixed_precision_graph_rewrite` allowed."""
    global graph_rewrite_is_enabled
    if not graph_rewrite_is_enabled:
        logging.warning(
            "disable_mixed_precision_graph_rewrite() called when mixed precision is already "
            "disabled."
        )
    graph_rewrite_is_enabled = False
