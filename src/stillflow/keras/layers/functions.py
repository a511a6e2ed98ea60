"""`tf.keras.layers.Lambda`."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow import nest
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import Dimension, TensorShape
from stillflow.keras.backend.initialization import track_variable
from stillflow.keras.utils.generic import func_dump, func_load
from stillflow.keras.utils.objects import deserialize_keras_object
from stillflow.layers.base_layer import Layer
from stillflow.layers.shape_inference import inferred_output_shape
from stillflow.util import tf_inspect
from stillflow.variables.creation import variable_creator_scope


@export("keras.layers.Lambda")
class Lambda(Layer):
    """A function as a layer.

    Args:
      function: of the inputs; may take `mask` and `training`.
      output_shape: of an example, or `f(input shape)`.
      mask: the mask of the outputs, or `f(inputs, mask)`.
      arguments: others of the function.
    """

    _variable_dict: dict[str, Any]

    def __init__(
        self,
        function: Callable[..., Any],
        output_shape: Any = None,
        mask: Any = None,
        arguments: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.function, self.mask = function, mask
        self.arguments = arguments or {}
        self.supports_masking = mask is not None
        self._output_shape = output_shape
        self.__dict__["_variable_dict"] = {}
        taken = tf_inspect.getfullargspec(function).args
        self._takes = [name for name in ("mask", "training") if name in taken]

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the shape that was told, else what the function makes of placeholders.

        Raises:
          NotImplementedError: if there was none, and the function takes no placeholders.
        """
        told = self._output_shape
        if told is None:
            try:
                return inferred_output_shape(self, input_shape)
            except NotImplementedError as error:
                raise NotImplementedError(
                    "We could not automatically infer the shape of the Lambda's output. Please "
                    "specify `output_shape` for this Lambda."
                ) from error
        if callable(told):
            return _shapes(told(input_shape))
        given = nest.flatten(_shapes(input_shape)) if input_shape else [TensorShape([None])]
        batch = given[0].as_list()[:1]
        return nest.map_structure(lambda x: TensorShape([*batch, *x.as_list()]), _shapes(told))

    def call(self, inputs: Any, mask: Any = None, training: Any = None) -> Tensor:
        """Return the result of the function."""
        given = {"mask": mask, "training": training}
        arguments = {**self.arguments, **{name: given[name] for name in self._takes}}
        with variable_creator_scope(self._create_variable):
            return self.function(inputs, **arguments)

    def _create_variable(self, next_creator: Callable[..., Any], **kwargs: Any) -> Any:
        """Return the layer's variable of a name, made when the function first asks for it."""
        name = kwargs["name"]
        if name not in self._variable_dict:
            variable = next_creator(**kwargs)
            self._variable_dict[name] = variable
            own = self._trainable_weights if variable.trainable else self._non_trainable_weights
            own.append(variable)
            track_variable(variable)
        return self._variable_dict[name]

    def compute_mask(self, inputs: Any, mask: Any = None) -> Any:
        """Return the mask that was told."""
        return self.mask(inputs, mask) if callable(self.mask) else self.mask

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments, including the code of functions."""
        config = super().get_config()
        parts = {"function": self.function, "output_shape": self._output_shape}
        if self.mask is not None:
            parts["mask"] = self.mask
        for name, value in parts.items():
            content, kind, module = _described(value)
            prefix = "" if name == "function" else f"{name}_"
            config[name], config[f"{name}_type"] = content, kind
            config[f"{prefix}module"] = module
        return {**config, "arguments": self.arguments}

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> Lambda:
        """Return the layer of a `config`. Code in it is run: trust it first."""
        config = dict(config)
        for name in ("function", "output_shape", "mask"):
            prefix = "" if name == "function" else f"{name}_"
            module, kind = config.pop(f"{prefix}module", None), config.pop(f"{name}_type", "raw")
            if name in config:
                config[name] = _restored(config[name], kind, module, custom_objects or {})
        for key, value in (config.get("arguments") or {}).items():
            if isinstance(value, dict) and value.get("type") == "ndarray":
                config["arguments"][key] = np.array(value["value"])
        return cls(**config)


def _shapes(structure: Any) -> Any:
    """Tuples and lists of numbers in a structure as shapes."""
    if isinstance(structure, TensorShape):
        return structure
    if isinstance(structure, dict):
        return {key: _shapes(value) for key, value in structure.items()}
    if not isinstance(structure, (list, tuple)):
        return TensorShape(structure)
    if all(size is None or isinstance(size, (int, np.integer, Dimension)) for size in structure):
        return TensorShape(structure)
    return type(structure)(_shapes(item) for item in structure)


def _described(value: Any) -> tuple[Any, str, Any]:
    """(content, "lambda", "function" or "raw", the module's name)."""
    if isinstance(value, types.FunctionType):
        return func_dump(value), "lambda", value.__module__
    if callable(value):
        return value.__name__, "function", value.__module__
    return value, "raw", None


def _restored(content: Any, kind: str, module: Any, custom_objects: dict[str, Any]) -> Any:
    scope = {**vars(sys.modules.get(module, types)), **custom_objects}
    if kind == "raw":
        return content
    if kind == "function":
        return deserialize_keras_object(content, scope, custom_objects, "function in Lambda layer")
    if kind != "lambda":
        raise TypeError("Unknown function type:", kind)
    return func_load(content, globs=scope)
