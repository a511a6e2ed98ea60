"""Scopes and conversions of `tf.compat.v2` that differ from those of `tf`."""

from __future__ import annotations

from typing import Any

from stillflow.graph import api, conversion
from stillflow.graph.device import DeviceSpecV2
from stillflow.graph.export import export, export_value
from stillflow.graph.operation import Tensor


@export("compat.v2.convert_to_tensor")
def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    dtype_hint: Any = None,
    name: str | None = None,
) -> Tensor:
    """See `tf.convert_to_tensor`."""
    return conversion.convert_to_tensor_public(value, dtype, name, dtype_hint=dtype_hint)


export_value("compat.v2.DeviceSpec", DeviceSpecV2)


@export("compat.v2.name_scope", "compat.v2.keras.backend.name_scope")
class name_scope:
    """A context in whose scope operations are named; it can be entered again and again.

    Args:
      name: of the scope.

    Raises:
      ValueError: if it is no string.
    """

    def __init__(self, name: str) -> None:
        if not isinstance(name, str):
            raise ValueError("name for name_scope must be a string.")
        self._name = name
        self._entered: list[Any] = []

    @property
    def name(self) -> str:
        return self._name

    def __enter__(self) -> str:
        scope = api.name_scope(self._name)
        self._entered.append(scope)
        entered: str = scope.__enter__()
        return entered

    def __exit__(self, *raised: Any) -> None:
        self._entered.pop().__exit__(*raised)


@export("compat.v2.device")
def device(device_name: Any) -> Any:
    """See `tf.device`; takes names and `DeviceSpec`s.

    Raises:
      RuntimeError: for a function.
    """
    if callable(device_name):
        raise RuntimeError("tf.device does not support functions.")
    return api.device(device_name)
