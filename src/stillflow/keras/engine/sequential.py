"""`tf.keras.Sequential`."""

from __future__ import annotations

import copy
from typing import Any

from stillflow import nest
from stillflow.graph.arrays import Array
from stillflow.graph.export import export
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.engine.input_layer import Input, InputLayer, get_source_inputs
from stillflow.keras.engine.model import Model
from stillflow.keras.engine.network import first_input_shape, refuse_legacy_layers
from stillflow.layers.base_layer import Layer, only_for_users
from stillflow.layers.input_spec import InputSpec
from stillflow.platform import tf_logging as logging
from stillflow.train.tracking.base import no_automatic_dependency_tracking
from stillflow.util import tf_inspect


@export("keras.Sequential", "keras.models.Sequential")
class Sequential(Model):
    """A model of layers one after another.

    Args:
      layers: to be added at once.
      name: of the model.
    """

    @no_automatic_dependency_tracking
    def __init__(self, layers: Any = None, name: Any = None) -> None:
        super().__init__(name=name)
        self.supports_masking = self._compute_output_and_mask_jointly = True
        self._build_input_shape: Any = None
        self._layer_call_argspecs: dict[Any, Any] = {}
        if layers:
            layers = list(layers) if isinstance(layers, (list, tuple)) else [layers]
            refuse_legacy_layers(layers)
            for layer in layers:
                self.add(layer)

    @property
    def layers(self) -> list[Any]:
        """The layers, without that of the input."""
        layers = super().layers
        return layers[1:] if layers and isinstance(layers[0], InputLayer) else layers

    @property
    def dynamic(self) -> bool:
        return any(layer.dynamic for layer in self.layers)

    @property  # type: ignore[misc]  # that of the first layer
    def input_spec(self) -> InputSpec | None:
        return getattr(self.layers[0], "input_spec", None) if self.layers else None

    @no_automatic_dependency_tracking
    def add(self, layer: Any) -> None:
        """Add a layer at the end.

        Raises:
          TypeError: if it is no layer.
          ValueError: if it has several outputs.
        """
        source = getattr(getattr(layer, "_keras_history", None), "layer", None)
        added = source if isinstance(source, InputLayer) else layer
        if not isinstance(added, Layer):
            raise TypeError(f"The added layer must be an instance of class Layer. Found: {added}")
        refuse_legacy_layers([added])
        self.built = False
        knows_inputs = bool(self._is_graph_network)
        if not self._layers:
            knows_inputs |= self._begin_with(added)
        elif self.outputs:
            self._continue_with(added)
        self.built = bool(self.outputs)
        if knows_inputs:
            self._init_graph_network(self.inputs, self.outputs, name=self.name)
        else:
            self._layers.append(added)
        self._track_layers(self._layers)
        self._layer_call_argspecs[added] = tf_inspect.getfullargspec(added.call)

    def _continue_with(self, layer: Any) -> None:
        output = layer(self.outputs[0])
        if len(nest.flatten(output)) != 1:
            raise TypeError(_ONE_OUTPUT)
        self.outputs = [output]

    def _begin_with(self, layer: Any) -> bool:
        """Set the inputs of the first layer, if it knows them."""
        if not isinstance(layer, InputLayer):
            shape, dtype = first_input_shape(layer)
            if not shape:
                return False
            layer(Input(batch_shape=shape, dtype=dtype, name=f"{layer.name}_input"))
        outputs = nest.flatten(layer._inbound_nodes[-1].output_tensors)
        if len(outputs) != 1:
            raise ValueError(_ONE_OUTPUT)
        self.outputs = outputs
        self.inputs = get_source_inputs(outputs[0])
        return True

    @no_automatic_dependency_tracking
    def pop(self) -> None:
        """Remove the last layer.

        Raises:
          TypeError: if there is none.
        """
        if not self.layers:
            raise TypeError("There are no layers in the model.")
        del self._layer_call_argspecs[self._layers.pop()]
        last = self.layers[-1] if self.layers else None
        if last is None:
            self.built, self.outputs, self.inputs = False, None, None
        elif self._is_graph_network:
            last._outbound_nodes = []
            self.outputs = [last.output]
            self._init_graph_network(self.inputs, self.outputs, name=self.name)
            self.built = True

    @only_for_users
    def build(self, input_shape: Any = None) -> None:
        """Make the variables for inputs of a shape.

        Raises:
          ValueError: if there is no shape.
        """
        if self._is_graph_network:
            self._init_graph_network(self.inputs, self.outputs, name=self.name)
        elif input_shape is None:
            raise ValueError("You must provide an `input_shape` argument.")
        else:
            self._build_input_shape = tuple(input_shape)
            super().build(self._build_input_shape)
        self.built = True

    def call(self, inputs: Any, training: Any = None, mask: Any = None) -> Any:
        """Call the layers one after another."""
        if self._is_graph_network:
            if not self.built:
                self._init_graph_network(self.inputs, self.outputs, name=self.name)
            return super().call(inputs, training=training, mask=mask)
        for layer in self.layers:
            arguments = self._layer_call_argspecs[layer].args
            given = {"mask": mask, "training": training}
            inputs = layer(inputs, **{k: v for k, v in given.items() if k in arguments})
            mask = inputs._keras_mask
        return inputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """Return the shape of the last layer's output."""
        for layer in self.layers:
            input_shape = layer.compute_output_shape(input_shape)
        return input_shape

    def compute_mask(self, inputs: Any, mask: Any) -> Any:
        """Return the mask of the last layer's output."""
        return self.call(inputs, mask=mask)._keras_mask

    def predict_proba(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Array:
        """Return the same as `predict`, with a warning if values are no probabilities."""
        predictions = self.predict(x, batch_size, verbose)
        if predictions.min() < 0.0 or predictions.max() > 1.0:
            logging.warning(
                "Network returning invalid probability values. The last layer might not normalize "
                "predictions into probabilities (like softmax or sigmoid would)."
            )
        return predictions

    def predict_classes(self, x: Any, batch_size: int = 32, verbose: int = 0) -> Array:
        """Return the class of the largest prediction, or whether the only one is above one half."""
        predictions = self.predict(x, batch_size, verbose)
        if predictions.shape[-1] > 1:
            return predictions.argmax(axis=-1)
        return (predictions > 0.5).astype("int32")

    def get_config(self) -> dict[str, Any]:
        """Return the layers."""
        layers = [
            {"class_name": type(layer).__name__, "config": layer.get_config()}
            for layer in self.layers
        ]
        knows_input = self._is_graph_network and layers and isinstance(self._layers[0], InputLayer)
        if knows_input and "batch_input_shape" not in layers[0]["config"]:
            layers[0]["config"]["batch_input_shape"] = self._layers[0]._batch_input_shape
        config = {"name": self.name, "layers": copy.deepcopy(layers)}
        if self._build_input_shape:
            config["build_input_shape"] = self._build_input_shape
        return config

    @classmethod
    def from_config(cls, config: Any, custom_objects: Any = None) -> Sequential:
        """Return the model that `get_config` made `config` of; a list of layers is one too."""
        from stillflow.keras.layers.serialization import deserialize

        if not isinstance(config, dict):
            config = {"name": None, "layers": config}
        model = cls(name=config.get("name"))
        for layer in config["layers"]:
            model.add(deserialize(layer, custom_objects=custom_objects))
        if not model.inputs and config.get("build_input_shape"):
            model.build(config["build_input_shape"])
        return model


_ONE_OUTPUT = (
    "All layers in a Sequential model should have a single output tensor. For multi-output layers, "
    "use the functional API."
)
