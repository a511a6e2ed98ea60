"""All metrics of Keras by name, and as dictionaries."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.keras.losses.classes import FUNCTIONS_BY_NAME
from stillflow.keras.metrics import base, classes, confusion, functions, tensors
from stillflow.keras.utils.objects import deserialize_keras_object, serialize_keras_object

_FUNCTIONS = (
    functions.accuracy, functions.binary_accuracy, functions.categorical_accuracy,
    functions.sparse_categorical_accuracy, functions.top_k_categorical_accuracy,
    functions.sparse_top_k_categorical_accuracy,
)  # fmt: skip


def _known() -> dict[str, Any]:
    found = {name: fn for name, fn in FUNCTIONS_BY_NAME.items() if name not in _LOSSES_ONLY}
    found["cosine"] = FUNCTIONS_BY_NAME["cosine_proximity"]
    found.update((function.__name__, function) for function in _FUNCTIONS)
    for module in (base, classes, confusion, tensors):
        for name, value in vars(module).items():
            if isinstance(value, type) and issubclass(value, base.Metric):
                found[name] = value
    return found


_LOSSES_ONLY = ("huber_loss",)
_KNOWN = _known()


@export("keras.metrics.serialize")
def serialize(metric: Any) -> Any:
    """Return a metric's name, or {"class_name": ..., "config": ...}."""
    return serialize_keras_object(metric)


@export("keras.metrics.deserialize")
def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Return the metric of a name, or that `serialize` made `config` of."""
    return deserialize_keras_object(config, _KNOWN, custom_objects, "metric function")


@export("keras.metrics.get")
def get(identifier: Any) -> Any:
    """Return the metric of a name or dictionary; callables unchanged.

    Raises:
      ValueError: if it is nothing of the kind.
    """
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret metric function identifier: {identifier}")
