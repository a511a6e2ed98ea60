"""The optimizers of Keras by name, and as dictionaries."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.keras.backend.initialization import track_tf_optimizer
from stillflow.keras.optimizers.adam import Adam, Adamax, Nadam
from stillflow.keras.optimizers.adaptive import Adadelta, Adagrad
from stillflow.keras.optimizers.base import OptimizerV2
from stillflow.keras.optimizers.classic import Optimizer as ClassicOptimizer
from stillflow.keras.optimizers.ftrl import Ftrl
from stillflow.keras.optimizers.gradient_descent import SGD
from stillflow.keras.optimizers.rmsprop import RMSprop
from stillflow.keras.optimizers.tf_optimizer import TFOptimizer
from stillflow.keras.utils.objects import deserialize_keras_object, serialize_keras_object
from stillflow.train.optimizer import Optimizer

_KNOWN = {
    kind.__name__.lower(): kind
    for kind in (Adadelta, Adagrad, Adam, Adamax, Nadam, RMSprop, SGD, Ftrl)
}


@export(
    "keras.optimizers.serialize",
    "contrib.keras.optimizers.serialize",
    "contrib.keras.api.keras.optimizers.serialize",
)
def serialize(optimizer: Any) -> Any:
    """{"class_name": ..., "config": ...} of an optimizer."""
    return serialize_keras_object(optimizer)


@export(
    "keras.optimizers.deserialize",
    "contrib.keras.optimizers.deserialize",
    "contrib.keras.api.keras.optimizers.deserialize",
)
def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Return the optimizer that `serialize` made `config` of; its class's name in any case."""
    if config["class_name"].lower() in _KNOWN:
        config["class_name"] = config["class_name"].lower()
    return deserialize_keras_object(config, _KNOWN, custom_objects, "optimizer")


@export(
    "keras.optimizers.get",
    "contrib.keras.optimizers.get",
    "contrib.keras.api.keras.optimizers.get",
)
def get(identifier: Any) -> Any:
    """Return the optimizer of a name or dictionary.

    One of Keras as it is, one of `tf.train` wrapped.

    Raises:
      ValueError: if it is nothing of the kind.
    """
    if isinstance(identifier, (OptimizerV2, ClassicOptimizer, TFOptimizer)):
        return identifier
    if isinstance(identifier, Optimizer):
        wrapped = TFOptimizer(identifier)
        track_tf_optimizer(wrapped)
        return wrapped
    if isinstance(identifier, dict):
        return deserialize(identifier)
    if isinstance(identifier, str):
        return deserialize({"class_name": str(identifier), "config": {}})
    raise ValueError("Could not interpret optimizer identifier:", identifier)
