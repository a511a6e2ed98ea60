"""`tf.keras.Model`."""

from __future__ import annotations

import contextlib
from typing import Any

import numpy as np

import stillflow as tf
from stillflow import nest
from stillflow.graph.eager_mode import executing_eagerly_outside_functions
from stillflow.graph.export import export
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.backend.variables import is_placeholder
from stillflow.keras.engine.compiling import Compiling
from stillflow.keras.engine.feeding import Feeding
from stillflow.keras.engine.model_inputs import ModelInputs
from stillflow.keras.engine.network import Network
from stillflow.keras.engine.steps import Steps
from stillflow.keras.engine.training import Training
from stillflow.layers.learning_phase import learning_phase
from stillflow.layers.node import int_shape
from stillflow.platform import tf_logging as logging
from stillflow.train.tracking.base import no_automatic_dependency_tracking


@export("keras.Model", "keras.models.Model")
class Model(Compiling, Feeding, Steps, Training, Network):
    """A network that can be trained.

    Args:
      inputs, outputs: tensors between which the layers lie; a subclass that defines `call` gives
        none.
      name: of the model.
      trainable: whether its variables are trained.
    """

    def get_weights(self) -> list[Any]:
        """Return the values of `weights`; replicas' own values are aggregated."""
        strategy = self._distribution_strategy
        with strategy.scope() if strategy else contextlib.nullcontext():
            return super().get_weights()

    @property
    def _object_identifier(self) -> str:
        """The identifier of this kind of object in SavedModels."""
        return f"_tf_keras_{'sequential' if type(self).__name__ == 'Sequential' else 'model'}"

    def _described(self) -> dict[str, Any]:
        """Return the description of the model in SavedModels, by name."""
        from stillflow.keras.saving.description import describe

        return {**super()._described(), **describe(self)}

    @property
    def _default_save_signature(self) -> Any:
        """The default signature for `tf.saved_model.save`; None if the inputs are not known yet."""
        from stillflow.keras.saving.serving import serving_function

        if self.inputs:
            return serving_function(self)
        logging.warning(
            f"Skipping full serialization of Keras model {self}, because its inputs are not "
            "defined."
        )
        return None

    def _called_on(self, inputs: Any, outputs: Any) -> None:
        if not self.inputs:
            self._set_inputs(inputs, outputs)

    def _set_inputs(self, inputs: Any, outputs: Any = None, training: Any = None) -> None:
        """Set inputs, or placeholders for them, as the feeds of training."""
        inputs = self._set_input_attributes(inputs)
        if outputs is None:
            kwargs = {}
            if training is None and not executing_eagerly_outside_functions():
                training = learning_phase()
            if self._expects("training") and training is not None:
                kwargs["training"] = training
            try:
                outputs = self(inputs, **kwargs)
            except NotImplementedError:
                outputs = None
        self._set_output_attributes(outputs)

    @no_automatic_dependency_tracking
    def _set_input_attributes(self, inputs: Any) -> Any:
        if self.inputs:
            raise ValueError("Model inputs are already set.")
        if type(self).__name__ == "Sequential" and not self.built:
            takes_features = getattr(self.layers[0], "_is_feature_layer", False)
            self._build_input_shape = _shape_of_examples(inputs, takes_features)
        given = ModelInputs(inputs)
        inputs = given.get_symbolic_inputs()
        self.inputs = given.get_symbolic_inputs(return_single_as_list=True)
        self.input_names = given.names
        fed = [(name, x) for name, x in given.items() if is_placeholder(x)]
        self._feed_input_names = [name for name, _ in fed]
        self._feed_inputs = [x for _, x in fed]
        self._feed_input_shapes = [int_shape(x) for _, x in fed]
        return inputs

    @no_automatic_dependency_tracking
    def _set_output_attributes(self, outputs: Any) -> None:
        self.outputs = nest.flatten(outputs)
        self.output_names = [f"output_{i + 1}" for i in range(len(self.outputs))]
        self.built = True


def _shape_of_examples(inputs: Any, takes_features: bool) -> tuple[Any, ...]:
    if isinstance(inputs, dict):
        if takes_features:
            return (None,)
        raise ValueError(
            "Passing a dictionary input to a Sequential Model which doesn't have FeatureLayer as "
            "the first layer is an error."
        )
    shape = inputs if isinstance(inputs, TensorShape) else np.shape(inputs)
    if tf.is_tensor(inputs):
        shape = inputs.shape
    return (None, *(shape.as_list() if isinstance(shape, TensorShape) else shape)[1:])
