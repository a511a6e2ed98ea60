"""Functions of `keras_applications`, which TensorFlow 1.15 hands on as well, with this Keras."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

_DOC = """Call `keras_applications.{}.{}` with the backend, layers, models and utils of `tf.keras`.

Args:
  *args, **kwargs: the arguments of that function.

Returns:
  Its result: a `tf.keras.Model`, arrays or predictions.

Raises:
  ImportError: if keras-applications is not installed.
"""


def function(module: str, name: str) -> Callable[..., Any]:
    """Return the function of `keras_applications` of a name, imported with the first call.

    Where the library is not installed, it raises an `ImportError` that says so.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            library = importlib.import_module(f"keras_applications.{module}")
        except ImportError as error:
            raise ImportError(
                f"tf.keras.applications.{module}.{name} needs keras-applications: "
                "pip install stillflow[keras]"
            ) from error
        import stillflow as tf

        given = {part: getattr(tf.keras, part) for part in ("backend", "layers", "models", "utils")}
        return getattr(library, name)(*args, **{**given, **kwargs})

    call.__name__ = call.__qualname__ = name
    call.__doc__ = _DOC.format(module, name)
    return call
