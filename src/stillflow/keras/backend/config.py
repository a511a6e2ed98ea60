"""Keras' settings: the default dtype, the fuzz factor, where images have their channels."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export

_floatx = "float32"
_epsilon = 1e-7
_image_data_format = "channels_last"


@export("keras.backend.floatx")
def floatx() -> str:
    """Return the name of the default dtype."""
    return _floatx


@export("keras.backend.set_floatx")
def set_floatx(value: Any) -> None:
    """Set the default dtype: "float16", "float32" or "float64".

    Raises:
      ValueError: if it is another.
    """
    global _floatx
    if value not in {"float16", "float32", "float64"}:
        raise ValueError(f"Unknown floatx type: {value}")
    _floatx = str(value)


@export("keras.backend.epsilon")
def epsilon() -> float:
    """Return the small number that is added to divisors."""
    return _epsilon


@export("keras.backend.set_epsilon")
def set_epsilon(value: float) -> None:
    """Set the small number that is added to divisors."""
    global _epsilon
    _epsilon = value


@export("keras.backend.image_data_format")
def image_data_format() -> str:
    """Return the default data format: "channels_last" or "channels_first"."""
    return _image_data_format


@export("keras.backend.set_image_data_format")
def set_image_data_format(data_format: Any) -> None:
    """Set the default data format.

    Raises:
      ValueError: if it is unknown.
    """
    global _image_data_format
    if data_format not in {"channels_last", "channels_first"}:
        raise ValueError(f"Unknown data_format: {data_format}")
    _image_data_format = str(data_format)
