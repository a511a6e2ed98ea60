"""TensorFlow 2's dtypes of layers, which programs may enable."""

from __future__ import annotations

import importlib
from typing import Any

from stillflow.eager import v2_behavior

# None for the setting of `enable_v2_behavior`. Programs set this very name.
V2_DTYPE_BEHAVIOR: bool | None = None


def v2_dtype_behavior_enabled() -> bool:
    """Return True if layers have Keras' default dtype and cast their inputs."""
    return v2_behavior.is_enabled if V2_DTYPE_BEHAVIOR is None else V2_DTYPE_BEHAVIOR


def enable_v2_dtype_behavior() -> None:
    """Make layers have Keras' default dtype and cast their inputs."""
    global V2_DTYPE_BEHAVIOR
    V2_DTYPE_BEHAVIOR = True


def disable_v2_dtype_behavior() -> None:
    """Make layers take the dtype of their first input."""
    global V2_DTYPE_BEHAVIOR
    V2_DTYPE_BEHAVIOR = False


def __getattr__(name: str) -> Any:
    """Return other names of TensorFlow's module of this name, which are elsewhere here."""
    module, _, attribute = _ELSEWHERE.get(name, "").partition(":")
    if not module:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(module), attribute)


_ELSEWHERE = {
    "create_keras_history": "stillflow.layers.history:create_history",
    "make_variable": "stillflow.layers.weights:make_variable",
    "needs_keras_history": "stillflow.layers.history:needs_history",
    "uses_keras_history": "stillflow.layers.history:uses_history",
}
