"""`tf.keras.layers.LayerNormalization`."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.layers.core import Elementwise
from stillflow.layers.identifiers import (
    constraint_of,
    initializer_of,
    regularizer_of,
    serialized,
)


@export("keras.layers.LayerNormalization")
class LayerNormalization(Elementwise):
    """Normalizes each example by its own mean and variance (Ba et al., 2016).

    Args:
      axis: the axis, or the axes, along which they are taken.
      epsilon: added to variances.
      center, scale: whether `beta` is added and `gamma` multiplied with.
      ..._initializer, ..._regularizer, ..._constraint: of the variables.
      trainable: whether the variables are trained.

    Raises:
      ValueError: if `axis` is nothing of the kind.
    """

    _config = ("axis", "epsilon", "center", "scale")

    def __init__(
        self,
        axis: Any = -1,
        epsilon: float = 1e-3,
        center: bool = True,
        scale: bool = True,
        beta_initializer: Any = "zeros",
        gamma_initializer: Any = "ones",
        beta_regularizer: Any = None,
        gamma_regularizer: Any = None,
        beta_constraint: Any = None,
        gamma_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, trainable=trainable, **kwargs)
        if not isinstance(axis, (list, tuple, int)):
            raise ValueError(
                "Expected an int or a list/tuple of ints for the argument 'axis', but received "
                f"instead: {axis}"
            )
        self.axis: Any = axis if isinstance(axis, int) else axis[:]
        self.epsilon, self.center, self.scale = epsilon, center, scale
        self.beta_initializer = initializer_of(beta_initializer)
        self.gamma_initializer = initializer_of(gamma_initializer)
        self.beta_regularizer = regularizer_of(beta_regularizer)
        self.gamma_regularizer = regularizer_of(gamma_regularizer)
        self.beta_constraint = constraint_of(beta_constraint)
        self.gamma_constraint = constraint_of(gamma_constraint)
        self.supports_masking = True

    def build(self, input_shape: Any) -> None:
        """Make `gamma` and `beta`, with the sizes of the axes."""
        sizes = TensorShape(input_shape).as_list()
        rank = len(sizes)
        axes = [self.axis] if isinstance(self.axis, int) else list(self.axis)
        self.axis = [rank + axis if axis < 0 else axis for axis in axes]
        for axis in self.axis:
            if not 0 <= axis < rank:
                raise ValueError(f"Invalid axis: {axis}")
        if len(self.axis) != len(set(self.axis)):
            raise ValueError(f"Duplicate axis: {tuple(self.axis)}")
        shape = [sizes[axis] for axis in self.axis]
        self.gamma = self._add("gamma", shape) if self.scale else None
        self.beta = self._add("beta", shape) if self.center else None
        self.built = True

    def _add(self, name: str, shape: list[Any]) -> Any:
        return self.add_weight(
            name=name, shape=shape, initializer=getattr(self, f"{name}_initializer"),
            regularizer=getattr(self, f"{name}_regularizer"),
            constraint=getattr(self, f"{name}_constraint"), trainable=True,
            experimental_autocast=False,
        )  # fmt: skip

    def call(self, inputs: Any) -> Tensor:
        """Return the normalized examples."""
        shape = inputs.shape
        rank = len(shape)
        mean, variance = tf.nn.moments(inputs, self.axis, keep_dims=True)
        sizes = [shape.as_list()[i] if i in self.axis else 1 for i in range(rank)]

        def fitting(v: Any) -> Any:
            last = self.axis == [rank - 1]
            return v if v is None or len(v.shape) == rank or last else tf.reshape(v, sizes)

        scale, offset = fitting(self.gamma), fitting(self.beta)
        outputs = tf.nn.batch_normalization(
            inputs, mean, variance, offset=offset, scale=scale, variance_epsilon=self.epsilon
        )
        outputs.set_shape(shape)
        return outputs

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        config = super().get_config()
        for variable in ("beta", "gamma"):
            for kind in ("initializer", "regularizer", "constraint"):
                name = f"{variable}_{kind}"
                config[name] = serialized(f"{kind}s", getattr(self, name))
        return config
