"""`tf.keras.regularizers`."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.export import export
from stillflow.keras.backend.config import floatx
from stillflow.keras.utils.objects import deserialize_keras_object, serialize_keras_object
from stillflow.ops.constants import constant
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.math.unary import abs as absolute
from stillflow.ops.math.unary import square


@export("keras.regularizers.Regularizer")
class Regularizer:
    """The base of regularizers: functions that give a variable's loss."""

    def __call__(self, x: Any) -> float:
        return 0.0

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Regularizer:
        """Return the regularizer with these arguments."""
        return cls(**config)


@export("keras.regularizers.L1L2")
class L1L2(Regularizer):
    """`l1 * sum(abs(x)) + l2 * sum(x ** 2)`."""

    def __init__(self, l1: float = 0.0, l2: float = 0.0) -> None:
        self.l1 = np.asarray(l1, dtype=floatx())
        self.l2 = np.asarray(l2, dtype=floatx())

    def __call__(self, x: Any) -> Any:
        if not (self.l1 or self.l2):
            return constant(0.0, dtype=floatx())
        parts = ((self.l1, absolute), (self.l2, square))
        return sum((factor * reduce_sum(of(x)) for factor, of in parts if factor), 0.0)

    def get_config(self) -> dict[str, float]:
        """Return the constructor's arguments."""
        return {"l1": float(self.l1), "l2": float(self.l2)}


@export("keras.regularizers.l1")
def l1(l: float = 0.01) -> L1L2:
    """`l * sum(abs(x))`."""
    return L1L2(l1=l)


@export("keras.regularizers.l2")
def l2(l: float = 0.01) -> L1L2:
    """`l * sum(x ** 2)`."""
    return L1L2(l2=l)


@export("keras.regularizers.l1_l2")
def l1_l2(l1: float = 0.01, l2: float = 0.01) -> L1L2:
    """`l1 * sum(abs(x)) + l2 * sum(x ** 2)`."""
    return L1L2(l1=l1, l2=l2)


_FUNCTIONS = {"l1": l1, "l2": l2, "l1_l2": l1_l2}
_KNOWN = {**_FUNCTIONS, "Regularizer": Regularizer, "L1L2": L1L2}


@export("keras.regularizers.serialize")
def serialize(regularizer: Any) -> dict[str, dict[str, float] | str]:
    """{"class_name": ..., "config": ...} of a regularizer."""
    return serialize_keras_object(regularizer)


@export("keras.regularizers.deserialize")
def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Return the regularizer of a name, or that `serialize` made `config` of."""
    return deserialize_keras_object(config, _KNOWN, custom_objects, "regularizer")


@export("keras.regularizers.get")
def get(identifier: Any) -> Any:
    """Return the regularizer of a name or dictionary; None and callables unchanged.

    Raises:
      ValueError: if it is nothing of the kind.
    """
    if identifier is None:
        return None
    if isinstance(identifier, str) and identifier in _FUNCTIONS:
        return deserialize({"class_name": identifier, "config": {}})
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError("Could not interpret regularizer identifier:", identifier)
