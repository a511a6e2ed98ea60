"""The module `horovod.keras`, for programs of the package keras; without it tf.keras serves."""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

import stillflow as tf
from stillflow_contrib.horovod import keras_optimizers
from stillflow_contrib.horovod.tensorflow_keras import *
from stillflow_contrib.horovod.tensorflow_keras import Compression


def load_model(  # type: ignore[no-redef]
    filepath: Any, custom_optimizers: Iterable[type] | None = None,
    custom_objects: dict[str, Any] | None = None, compression: Any = Compression.none,
) -> Any:  # fmt: skip
    """Return a saved model of the package keras; see `horovod.tensorflow.keras.load_model`."""
    try:
        keras = importlib.import_module("keras")
    except ModuleNotFoundError:
        keras = tf.keras
    return keras_optimizers.load_model(
        keras, filepath, custom_optimizers, custom_objects, compression
    )
