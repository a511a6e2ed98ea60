"""Models and layers made of the functions that a SavedModel has of them, not of their class."""

from __future__ import annotations

import json
from typing import Any

from stillflow.keras.backend.initialization import track_variable
from stillflow.keras.engine.model import Model
from stillflow.layers.base_layer import Layer
from stillflow.layers.learning_phase import learning_phase
from stillflow.ops.control_flow.cond import smart_cond
from stillflow.train.tracking.base import no_automatic_dependency_tracking


class _Revived:
    """What layers and models have in common: variables, and a function that stands for `call`."""

    _saved: Any
    _takes_training: bool
    add_loss: Any

    def call(self, inputs: Any, training: Any = None) -> Any:
        """The outputs, by the function that was saved; adds the losses that it gives."""
        run = self._saved.keras_api.call_and_return_conditional_losses
        if self._takes_training:
            training = learning_phase() if training is None else training
            outputs, losses = smart_cond(
                training,
                lambda: run(inputs, training=True),
                lambda: run(inputs, training=False),
            )
        else:
            outputs, losses = run(inputs)
        self.add_loss(losses, inputs=True)
        return outputs

    def get_config(self) -> Any:
        """Not there: the class that would know it was not saved."""
        raise NotImplementedError


def _take(revived: Any, saved: Any, described: dict[str, Any], variables: list[Any]) -> None:
    """Gives a layer or model what was saved of it."""
    revived._saved = saved
    revived._takes_training = bool(described.get("expects_training_arg"))
    revived._trainable_weights = [v for v in variables if v.trainable]
    revived._non_trainable_weights = [v for v in variables if not v.trainable]
    for variable in variables:
        track_variable(variable)
    revived.trainable = described.get("trainable", True)
    revived.built = True


class RevivedLayer(_Revived, Layer):
    """A layer made of what `tf.saved_model.load` gives for it; its own layers are inside of it.

    Args:
      saved: the object.
      described: what was said of the layer.
    """

    @no_automatic_dependency_tracking
    def __init__(self, saved: Any, described: dict[str, Any]) -> None:
        super().__init__(name=described["name"], dtype=described.get("dtype"))
        _take(self, saved, described, list(saved.keras_api.variables))


class RevivedModel(_Revived, Model):
    """A model made of what `tf.saved_model.load` gives for it.

    Args:
      saved: the object.
      described: what was said of the model.
    """

    @no_automatic_dependency_tracking
    def __init__(self, saved: Any, described: dict[str, Any]) -> None:
        super().__init__(name=described["name"])
        self._layers = [
            RevivedLayer(part, json.loads(part._saved_metadata)) for part in saved.keras_api.layers
        ]
        inside = {id(v) for layer in self._layers for v in layer.variables}
        own = [v for v in saved.keras_api.variables if id(v) not in inside]
        _take(self, saved, described, own)
        for loss in saved.regularization_losses:
            self.add_loss(loss)
        signature = saved._default_save_signature.input_signature
        if signature:
            self._set_inputs(signature[0])


def revive(saved: Any, described: dict[str, Any]) -> RevivedModel:
    """A model of the name of the class that was saved.

    Args:
      saved: what `tf.saved_model.load` gives.
      described: what was said of the model.

    Raises:
      NotImplementedError: if its functions were not saved with it.
    """
    if not hasattr(getattr(saved, "keras_api", None), "call_and_return_conditional_losses"):
        raise NotImplementedError(
            f"keras.models.load_model: the SavedModel holds a model of the class "
            f"{described['class_name']} without get_config() and without the functions that "
            "TensorFlow saves of models; tf.saved_model.load reads its graph"
        )
    kind = type(described["class_name"], (RevivedModel,), {})
    model: RevivedModel = kind(saved, described)
    return model
