"""Checks of an estimator's arguments."""

from __future__ import annotations

from typing import Any

from stillflow.platform import tf_logging as logging
from stillflow.train.saving_hooks import CheckpointSaverListener
from stillflow.train.session_run_hook import SessionRunHook
from stillflow.util.function_utils import fn_args

_MODEL_FN_ARGS = {"features", "labels", "mode", "params", "self", "config"}


def check_model_fn(model_fn: Any, params: Any) -> None:
    """Raise ValueError for a model function with arguments that an estimator does not have."""
    names = set(fn_args(model_fn))
    if "features" not in names:
        raise ValueError(f"model_fn ({model_fn}) must include features argument.")
    if params is not None and "params" not in names:
        raise ValueError(
            f"model_fn ({model_fn}) does not include params argument, but params ({params}) is "
            "passed to Estimator."
        )
    if params is None and "params" in names:
        logging.warning(
            "Estimator's model_fn (%s) includes params argument, but params are not passed to "
            "Estimator.", model_fn,
        )  # fmt: skip
    if names - _MODEL_FN_ARGS:
        raise ValueError(
            f"model_fn ({model_fn}) has following not expected args: "
            f"{sorted(names - _MODEL_FN_ARGS)}"
        )


def hook_list(hooks: Any) -> list[Any]:
    """Return hooks as a list; TypeError if one is no `SessionRunHook`."""
    hooks = list(hooks or ())
    for hook in hooks:
        if not isinstance(hook, SessionRunHook):
            raise TypeError(f"Hooks must be a SessionRunHook, given: {hook}")
    return hooks


def listener_list(listeners: Any) -> list[Any]:
    """Return listeners as a list."""
    listeners = list(listeners or ())
    for listener in listeners:
        if not isinstance(listener, CheckpointSaverListener):
            raise TypeError(
                f"saving_listeners must be a list of CheckpointSaverListener, given: {listener}"
            )
    return listeners
