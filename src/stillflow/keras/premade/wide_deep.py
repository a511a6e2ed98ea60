"""`tf.keras.experimental.WideDeepModel`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.engine.model import Model
from stillflow.keras.layers.serialization import deserialize
from stillflow.keras.utils.objects import CustomObjectScope, serialize_keras_object
from stillflow.layers.base_layer import Layer
from stillflow.layers.identifiers import activation_of, serialized


@export("keras.experimental.WideDeepModel")
class WideDeepModel(Model):
    """The mean of a linear model and of a deep one, trained together (Cheng et al., 2016).

    Args:
      linear_model, dnn_model: the models; `compile` takes a list of an optimizer for each too.
      activation: of the mean.
    """

    def __init__(
        self, linear_model: Any, dnn_model: Any, activation: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.linear_model, self.dnn_model = linear_model, dnn_model
        self.activation = activation_of(activation)

    def call(self, inputs: Any) -> Tensor:
        """Return the output.

        Args:
          inputs: those of both models, or a list of two: the linear one's and the other's.
        """
        linear_inputs = dnn_inputs = inputs
        if isinstance(inputs, (tuple, list)) and len(inputs) == 2:
            linear_inputs, dnn_inputs = inputs
        linear_output = self.linear_model(linear_inputs)
        output = 0.5 * (linear_output + self.dnn_model(dnn_inputs))
        return self.activation(output)

    def _optimizers_and_weights(self) -> list[tuple[Any, Callable[[], Any]]]:
        given = self.optimizer
        several = isinstance(given, (tuple, list))
        models = (self.linear_model, self.dnn_model)
        return [
            (given[i] if several else given, partial(getattr, model, "trainable_weights"))
            for i, model in enumerate(models)
        ]

    def _apply(self, tape: Any, loss: Any) -> None:
        several = isinstance(self.optimizer, (tuple, list))
        trained = self._optimizers_and_weights() if several else [
            (self.optimizer, lambda: self.trainable_weights)
        ]  # fmt: skip
        weights = [of_model() for _, of_model in trained]
        grads = tape.gradient(loss, weights)
        for (optimizer, _), grads_of, variables in zip(trained, grads, weights, strict=True):
            optimizer.apply_gradients(zip(grads_of, variables, strict=True))

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {
            **Layer.get_config(self),
            "linear_model": serialize_keras_object(self.linear_model),
            "dnn_model": serialize_keras_object(self.dnn_model),
            "activation": serialized("activations", self.activation),
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> WideDeepModel:
        """Return the model that `get_config` made `config` of."""
        config = dict(config)
        models = {
            name: deserialize(config.pop(name), custom_objects)
            for name in ("linear_model", "dnn_model")
        }
        with CustomObjectScope(custom_objects or {}):
            return cls(**models, **config)
