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
    names, problem = set(fn_args(model_fn)), None
    if "features" not in names:
        problem = "must include features argument."
    elif params is not None and "params" not in names:
        problem = f"does not include params argument, but params ({params}) is passed to Estimator."
    elif unknown := sorted(names - _MODEL_FN_ARGS):
        problem = f"has following not expected args: {unknown}"
    if params is None and names >= {"features", "params"}:
        logging.warning(
            "Estimator's model_fn (%s) includes params argument, but params are not passed to "
            "Estimator.", model_fn,
        )  # fmt: skip
    if problem:
        raise ValueError(f"model_fn ({model_fn}) {problem}")


def _all_of(kind: type, message: str, values: Any) -> list[Any]:
    values = list(values or ())
    for value in values:
        if not isinstance(value, kind):
            raise TypeError(f"{message}{value}")
    return values


def hook_list(hooks: Any) -> list[Any]:
    """Return hooks as a list; TypeError if one is no `SessionRunHook`."""
    return _all_of(SessionRunHook, "Hooks must be a SessionRunHook, given: ", hooks)


def listener_list(listeners: Any) -> list[Any]:
    """Return listeners as a list."""
    message = "saving_listeners must be a list of CheckpointSaverListener, given: "
    return _all_of(CheckpointSaverListener, message, listeners)
