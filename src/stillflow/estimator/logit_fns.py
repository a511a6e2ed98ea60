"""Functions from features to logits, with any arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.util.function_utils import fn_args


@export("estimator.experimental.call_logit_fn", "contrib.estimator.call_logit_fn")
def call_logit_fn(
    logit_fn: Callable[..., Any], features: Any, mode: Any, params: Any, config: Any
) -> Any:
    """Call a function of logits with those arguments that it takes.

    Args:
      logit_fn: takes `features` and, if it likes, the rest.
      features, mode, params, config: as a model function is given them.

    Returns:
      The logits: a tensor, or tensors by name.

    Raises:
      ValueError: if it returns something else.
    """
    offered = {"mode": mode, "params": params, "config": config}
    taken = fn_args(logit_fn)
    logits = logit_fn(
        features=features, **{name: value for name, value in offered.items() if name in taken}
    )
    by_name = isinstance(logits, dict) and all(
        isinstance(key, str) and isinstance(value, Tensor) for key, value in logits.items()
    )
    if not (by_name or isinstance(logits, Tensor)):
        raise ValueError(
            "logit_fn should return a Tensor or a dictionary mapping strings to Tensors.  logit_fn "
            f"returned: {logits}"
        )
    return logits
