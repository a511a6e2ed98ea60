"""Differences of `tf.compat.v2` from `tf`: scopes, seeds, checks without a result."""

from __future__ import annotations

from typing import Any

from stillflow.graph import api, dtypes, random_seed
from stillflow.graph.device import DeviceSpecV2
from stillflow.graph.export import export, export_value
from stillflow.graph.lazy import LazyModule
from stillflow.graph.operation import Tensor

# By path, since public functions of the packages hide modules of their names.
numerics: Any = LazyModule("stillflow.ops.debugging.numerics")
types: Any = LazyModule("stillflow.ops.debugging.types")
ranks: Any = LazyModule("stillflow.ops.debugging.ranks")
counting: Any = LazyModule("stillflow.ops.math.counting")

export_value("compat.v2.DeviceSpec", DeviceSpecV2)


@export("compat.v2.name_scope", "compat.v2.keras.backend.name_scope")
class name_scope:  # noqa: N801
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


@export("compat.v2.random.set_seed")
def set_seed(seed: Any) -> None:
    """See `tf.set_random_seed`."""
    random_seed.set_random_seed(seed)


@export("compat.v2.debugging.assert_all_finite")
def assert_all_finite(x: Any, message: Any, name: str | None = None) -> Tensor:
    """See `tf.debugging.assert_all_finite`."""
    checked: Tensor = numerics.verify_tensor_all_finite(x=x, message=message, name=name)
    return checked


@export("compat.v2.debugging.assert_integer")
def assert_integer(x: Any, message: str | None = None, name: str | None = None) -> None:
    """See `tf.debugging.assert_integer`; gives nothing."""
    types.assert_integer(x, message=message, name=name)


@export("compat.v2.debugging.assert_type")
def assert_type(
    tensor: Any, tf_type: Any, message: str | None = None, name: str | None = None
) -> None:
    """See `tf.debugging.assert_type`; gives nothing."""
    types.assert_type(tensor, tf_type, message=message, name=name)


@export("compat.v2.debugging.assert_scalar")
def assert_scalar(tensor: Any, message: str | None = None, name: str | None = None) -> None:
    """See `tf.debugging.assert_scalar`; gives nothing."""
    ranks.assert_scalar(tensor, message=message, name=name)


@export("compat.v2.math.bincount")
def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = dtypes.int32,
    name: str | None = None,
) -> Tensor:
    """See `tf.math.bincount`.

    Args:
      name: of the scope.
    """
    counts: Tensor = counting.named_bincount(arr, weights, minlength, maxlength, dtype, name)
    return counts
