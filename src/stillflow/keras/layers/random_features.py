"""A layer whose outputs' products approximate a kernel (Rahimi and Recht, 2007)."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras import initializers
from stillflow.layers.base_layer import Layer
from stillflow.layers.input_spec import InputSpec
from stillflow.variables.initializers import Initializer

_KERNELS = ["gaussian", "laplacian"]


class RandomFourierFeatures(Layer):
    """cos(x k / scale + b) of random `k` and `b`.

    The inner products of its outputs approximate, up to a factor, a kernel of the inputs: with the
    initializer "gaussian" exp(-|x - y|^2 / (2 scale^2)), with "laplacian" exp(-|x - y|_1 / scale).

    Args:
      output_dim: how many features there are.
      kernel_initializer: "gaussian", "laplacian", or an initializer of what is not trained.
      scale: of the kernel; the square root of half the inputs' size for "gaussian" by default,
        else 1.
      trainable: whether the scale is trained.
      name: of the layer.

    Raises:
      ValueError: for numbers that are not positive, and other kernels.
    """

    def __init__(
        self,
        output_dim: int,
        kernel_initializer: Any = "gaussian",
        scale: float | None = None,
        trainable: bool = False,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        named = kernel_initializer.lower() if isinstance(kernel_initializer, str) else None
        if output_dim <= 0:
            raise ValueError(f"`output_dim` should be a positive integer. Given: {output_dim}.")
        if named not in (None, *_KERNELS):
            raise ValueError(
                f"Unsupported kernel type: '{kernel_initializer}'. Supported kernel types: "
                f"{_KERNELS}."
            )
        if not (scale is None or scale > 0.0):
            raise ValueError(f"When provided, `scale` should be a positive float. Given: {scale}.")
        super().__init__(trainable=trainable, name=name, **kwargs)
        self.output_dim, self.scale, self.kernel_initializer = output_dim, scale, kernel_initializer

    def build(self, input_shape: Any) -> None:
        """Make the variables."""
        size = self._size(TensorShape(input_shape))
        self.input_spec = InputSpec(ndim=2, axes={1: size})
        unscaled = self.add_weight(
            name="unscaled_random_features", shape=(size, self.output_dim), dtype=tf.float32,
            initializer=self._kernel(size), trainable=False,
        )  # fmt: skip
        self.bias = self.add_weight(
            name="random_features_bias", shape=(self.output_dim,), dtype=tf.float32,
            initializer=tf.random_uniform_initializer(0.0, 2 * np.pi, dtype=tf.float32),
            trainable=False,
        )  # fmt: skip
        if self.scale is None:
            self.scale = np.sqrt(size / 2.0) if self._kind() == "gaussian" else 1.0
        scale = self.add_weight(
            name="random_features_scale", shape=(1,), dtype=tf.float32,
            initializer=tf.constant_initializer(self.scale), trainable=True, constraint="NonNeg",
        )  # fmt: skip
        self.kernel = (1.0 / scale) * unscaled
        super().build(input_shape)

    @staticmethod
    def _size(shape: TensorShape) -> int:
        if shape.ndims != 2:
            raise ValueError(
                f"The rank of the input tensor should be 2. Got {shape.ndims} instead."
            )
        size: int | None = shape.as_list()[1]
        if size is None:
            raise ValueError(
                "The last dimension of the inputs to `RandomFourierFeatures` should be defined. "
                "Found `None`."
            )
        return size

    def _kind(self) -> str | None:
        """Return the name of the kernel, if it has one."""
        given = self.kernel_initializer
        return given.lower() if isinstance(given, str) else None

    def _kernel(self, size: int) -> Initializer:
        if self._kind() == "gaussian":
            return tf.random_normal_initializer(stddev=1.0)
        if self._kind() == "laplacian":  # by samples of Cauchy's distribution
            uniform = np.random.uniform(low=0.0, high=1.0, size=(size, self.output_dim))
            return tf.constant_initializer(np.tan(np.pi * (uniform - 0.5)))
        return self.kernel_initializer

    def call(self, inputs: Any) -> Tensor:
        """Return the features, float32 [examples, output_dim]."""
        inputs = tf.convert_to_tensor(inputs, dtype=self.dtype)
        inputs = tf.raw_ops.Cast(x=inputs, DstT=tf.float32)
        return tf.cos(tf.nn.bias_add(tf.matmul(inputs, self.kernel), self.bias))

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """[examples, output_dim].

        Raises:
          ValueError: if the inputs' rank is not 2, or their size is not known.
        """
        shape = TensorShape(input_shape).with_rank(2)
        if shape.as_list()[-1] is None:
            raise ValueError(
                f"The innermost dimension of input shape must be defined. Given: {shape}"
            )
        return shape[:-1].concatenate(self.output_dim)

    def get_config(self) -> dict[str, Any]:
        """Return the arguments with which it was made."""
        kernel = self.kernel_initializer
        if isinstance(kernel, Initializer):
            kernel = initializers.serialize(kernel)
        own = {"output_dim": self.output_dim, "kernel_initializer": kernel, "scale": self.scale}
        return {**super().get_config(), **own}
