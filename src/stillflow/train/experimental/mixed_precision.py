"""Training in mixed precision by rewriting graphs."""

from __future__ import annotations

import importlib
from typing import Any

from stillflow.graph.export import export
from stillflow.platform import tf_logging as logging
from stillflow.platform.config import set_optimizer_experimental_options
from stillflow.runtime.session import mixed_precision_state as state
from stillflow.train.experimental.loss_scale_optimizer import MixedPrecisionLossScaleOptimizer
from stillflow.train.optimizer import Optimizer

_TWO_WAYS = """\
The mixed precision graph rewrite cannot be enabled, because a keras mixed precision Policy has \
been set. At most, one of the following functions can be called:

  1. tf.keras.mixed_precision.experimental.set_policy() (You called this first)
  2. tf.train.experimental.enable_mixed_precision_graph_rewrite() (You called this second)

You called both functions, which is an error, because both functions enable you to use mixed \
precision. If in doubt which function to use, use the second, as it is currently more complete \
and easy to use. The second function enables mixed precision in the graph with a graph rewrite. \
However it is currently not very customizable, and does not support eager."""


@export("train.experimental.enable_mixed_precision_graph_rewrite")
def enable_mixed_precision_graph_rewrite(
    opt: Any, loss_scale: Any = "dynamic"
) -> MixedPrecisionLossScaleOptimizer:
    """Allow sessions made from now on to compute in half precision where it is safe.

    As in TF 1.15, a machine without a GPU computes in single precision nevertheless.

    Args:
      opt: the optimizer of the training.
      loss_scale: a `LossScale`, a number or "dynamic".

    Returns:
      An optimizer that scales the loss; use it instead of `opt`.

    Raises:
      ValueError: if `opt` is no optimizer, or scales the loss already.
    """
    if not state.using_default_mixed_precision_policy:
        raise ValueError(_TWO_WAYS)
    kind = "MixedPrecisionLossScaleOptimizer"
    if isinstance(opt, MixedPrecisionLossScaleOptimizer):
        raise ValueError(_twice(kind, kind))
    if type(opt).__name__ == "LossScaleOptimizer":
        raise ValueError(_twice("LossScaleOptimizer", "LossScaleOptimizer"))
    if not isinstance(opt, Optimizer) and not _is_keras_optimizer(opt):
        raise ValueError(
            '"opt" must be an instance of a tf.train.Optimizer or a tf.keras.optimizers.Optimizer, '
            f"but got: {opt}"
        )
    if state.non_mixed_precision_session_created:
        logging.warn(
            "You already have existing Sessions that do not use mixed precision. "
            "enable_mixed_precision_graph_rewrite() will not affect these Sessions."
        )
    wrapped = _wrapped(opt, loss_scale)
    set_optimizer_experimental_options({"auto_mixed_precision": True})
    state.mixed_precision_graph_rewrite_is_enabled = True
    return wrapped


def _is_keras_optimizer(opt: Any) -> bool:
    return any(kind.__name__ == "OptimizerV2" for kind in type(opt).__mro__)


def _wrapped(opt: Any, loss_scale: Any) -> MixedPrecisionLossScaleOptimizer:
    if isinstance(opt, Optimizer):
        return MixedPrecisionLossScaleOptimizer(opt, loss_scale)
    keras = importlib.import_module("stillflow.keras.mixed_precision.loss_scale_optimizer")
    return keras.LossScaleOptimizer(opt, loss_scale)


@export("compat.v2.train.experimental.enable_mixed_precision_graph_rewrite")
def enable_mixed_precision_graph_rewrite_v2(opt: Any, loss_scale: Any = "dynamic") -> Any:
    """See `tf.train.experimental.enable_mixed_precision_graph_rewrite`; for Keras' optimizers.

    Raises:
      ValueError: for others.
    """
    if isinstance(opt, Optimizer) and not isinstance(opt, MixedPrecisionLossScaleOptimizer):
        raise ValueError(
            f'"opt" must be an instance of a tf.keras.optimizers.Optimizer, but got: {opt}'
        )
    return enable_mixed_precision_graph_rewrite(opt, loss_scale)


def _twice(given: str, made: str) -> str:
    return (
        f'"opt" must not already be an instance of a {given}. '
        "`enable_mixed_precision_graph_rewrite` will automatically wrap the optimizer with a "
        f"{made}."
    )


@export(
    "train.experimental.disable_mixed_precision_graph_rewrite",
    "compat.v2.train.experimental.disable_mixed_precision_graph_rewrite",
)
def disable_mixed_precision_graph_rewrite() -> None:
    """Undo `enable_mixed_precision_graph_rewrite`."""
    if not state.mixed_precision_graph_rewrite_is_enabled:
        logging.warn(
            "disable_mixed_precision_graph_rewrite() called when mixed precision is already "
            "disabled."
        )
    set_optimizer_experimental_options({"auto_mixed_precision": False})
    state.mixed_precision_graph_rewrite_is_enabled = False
