"""`tf.keras.experimental.LinearModel`."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.engine.model import Model
from stillflow.keras.layers.core import Dense
from stillflow.layers.base_layer import Layer
from stillflow.layers.identifiers import activation_of, initializer_of, regularizer_of, serialized
from stillflow.ops.nn.bias import bias_add

_ROLES = ("kernel_initializer", "bias_initializer", "kernel_regularizer", "bias_regularizer")


@export("keras.experimental.LinearModel")
class LinearModel(Model):
    """A sum of products, of one or more inputs, with a bias.

    Args:
      units: the size of the output.
      activation: of the sum.
      use_bias: whether there is a bias.
      kernel_initializer, bias_initializer: give the first values.
      kernel_regularizer, bias_regularizer: give losses.
    """

    def __init__(
        self,
        units: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        **kwargs: Any,
    ) -> None:
        self.units, self.use_bias = units, use_bias
        self.activation = activation_of(activation)
        self.kernel_initializer = initializer_of(kernel_initializer)
        self.bias_initializer = initializer_of(bias_initializer)
        self.kernel_regularizer = regularizer_of(kernel_regularizer)
        self.bias_regularizer = regularizer_of(bias_regularizer)
        super().__init__(**kwargs)

    def build(self, input_shape: Any) -> None:
        """Make a layer for each input, and `bias` [units]."""
        shapes = input_shape if isinstance(input_shape, list) else [input_shape]
        self.dense_layers = [
            Dense(
                units=self.units, use_bias=False, kernel_initializer=self.kernel_initializer,
                kernel_regularizer=self.kernel_regularizer, input_shape=shape,
            )
            for shape in shapes
        ]  # fmt: skip
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", shape=self.units, initializer=self.bias_initializer,
                regularizer=self.bias_regularizer, dtype=self.dtype, trainable=True,
            )  # fmt: skip

    def call(self, inputs: Any) -> Tensor:
        """Return the output for [batch, ...] or a list of these.

        Raises:
          ValueError: if there are more or less inputs than before.
        """
        inputs = inputs if isinstance(inputs, (tuple, list)) else [inputs]
        if len(inputs) != len(self.dense_layers):
            raise ValueError(
                f"Expected {len(self.dense_layers)} inputs, but got {len(inputs)} inputs"
            )
        first, *others = (layer(x) for layer, x in zip(self.dense_layers, inputs, strict=True))
        result = first
        for other in others:
            result += other
        if self.use_bias:
            result = bias_add(result, self.bias)
        return self.activation(result)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        roles = {role: serialized(f"{role.split('_')[1]}s", getattr(self, role)) for role in _ROLES}
        return {
            **Layer.get_config(self),
            "units": self.units,
            "activation": serialized("activations", self.activation),
            "use_bias": self.use_bias,
            **roles,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: Any = None) -> LinearModel:
        """Return the model with these constructor's arguments."""
        return cls(**config)
