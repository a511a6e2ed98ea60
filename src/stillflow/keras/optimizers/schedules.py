"""`tf.keras.optimizers.schedules` by name, and as dictionaries."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.keras.utils.objects import deserialize_keras_object, serialize_keras_object
from stillflow.train import schedules
from stillflow.train.schedules import LearningRateSchedule as LearningRateSchedule

_KNOWN = {
    name: value
    for name, value in vars(schedules).items()
    if isinstance(value, type) and issubclass(value, LearningRateSchedule)
}


@export("keras.optimizers.schedules.serialize")
def serialize(learning_rate_schedule: Any) -> dict[str, dict[str, Any] | str]:
    """{"class_name": ..., "config": ...} of a schedule."""
    return serialize_keras_object(learning_rate_schedule)


@export("keras.optimizers.schedules.deserialize")
def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Return the schedule that `serialize` made `config` of."""
    return deserialize_keras_object(config, _KNOWN, custom_objects, "decay")
