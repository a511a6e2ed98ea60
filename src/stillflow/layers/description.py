"""Mixin: description of a layer in SavedModels besides its variables."""

from __future__ import annotations

import json
from typing import Any

from stillflow import nest


class Description:
    """Description of a layer in SavedModels, as TensorFlow writes it."""

    name: Any
    trainable: Any
    dtype: Any
    input_spec: Any
    activity_regularizer: Any
    get_config: Any
    _expects: Any

    @property
    def _object_identifier(self) -> str:
        """The identifier of this kind of object in SavedModels."""
        return "_tf_keras_layer"

    @property
    def _expects_training_arg(self) -> bool:
        """True if calls have the argument `training`."""
        return bool(self._expects("training"))

    def _described(self) -> dict[str, Any]:
        """Return the description of the layer, by name."""
        from stillflow.keras.utils.objects import serialize_keras_object

        described = {
            "class_name": type(self).__name__, "name": self.name, "trainable": self.trainable,
            "expects_training_arg": self._expects("training"), "dtype": self.dtype,
            "batch_input_shape": getattr(self, "_batch_input_shape", None),
        }  # fmt: skip
        try:
            described["config"] = self.get_config()
        except NotImplementedError:  # its class does not say with which arguments it was made
            pass
        spec = self.input_spec
        if spec is not None:
            spec = nest.map_structure(lambda x: x and serialize_keras_object(x), spec)
        described["input_spec"] = spec
        regularizer = self.activity_regularizer
        known = hasattr(regularizer, "get_config")
        described["activity_regularizer"] = serialize_keras_object(regularizer) if known else None
        return described

    @property
    def _tracking_metadata(self) -> str:
        """The description of the layer in SavedModels, as JSON."""
        from stillflow.keras.engine.network_config import get_json_type

        return json.dumps(self._described(), default=get_json_type)
