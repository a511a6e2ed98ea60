"""Random Fourier features: cosines whose inner products approximate the Gaussian kernel."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow_contrib.kernel_methods.dense_kernel_mapper import (
    DenseKernelMapper,
    InvalidShapeError,
)


@export("contrib.kernel_methods.RandomFourierFeatureMapper")
class RandomFourierFeatureMapper(DenseKernelMapper):
    """Maps `x` to `sqrt(2 / output_dim) * cos(x @ omega + bias)`, with random `omega` and `bias`.

    The inner product of two mapped vectors is about `exp(-|x - y|^2 / (2 stddev^2))`.

    Args:
      input_dim: how many features go in.
      output_dim: how many come out.
      stddev: of the Gaussian kernel.
      seed: of `omega` and `bias`; each call of `map` seeds NumPy's generator with it.
      name: the mapper's name; by default it is one that no other mapper has.
    """

    def __init__(
        self, input_dim: int, output_dim: int, stddev: float = 1.0, seed: int | None = 1,
        name: str | None = None,
    ) -> None:  # fmt: skip
        self._input_dim = input_dim
        self._output_dim = output_dim
        self._stddev = stddev
        self._seed = seed
        self._name = name

    @property
    def name(self) -> str:
        """The mapper's name."""
        return self._name or str(id(self))

    @property
    def input_dim(self) -> int:
        """The number of input features."""
        return self._input_dim

    @property
    def output_dim(self) -> int:
        """The number of output features."""
        return self._output_dim

    def map(self, input_tensor: Any) -> Any:
        """Return the features of each row.

        Args:
          input_tensor: floats `[batch, input_dim]`.

        Returns:
          Floats `[batch, output_dim]`.

        Raises:
          InvalidShapeError: for another rank, or another number of features.
        """
        shape = input_tensor.get_shape()
        if len(shape) != 2:
            raise InvalidShapeError(
                f"The shape of the tensor should be 2. Got {len(shape)} instead."
            )
        if shape[1] != self._input_dim:
            raise InvalidShapeError(
                f"Invalid dimension: expected {self._input_dim} input features, "
                f"got {int(shape[1])} instead."
            )
        # NumPy's global generator, as in TensorFlow: a program's own draws follow this seed.
        np.random.seed(self._seed)
        size = (self._input_dim, self._output_dim)
        omega = tf.constant(np.random.normal(scale=1.0 / self._stddev, size=size), tf.float32)
        phases = np.random.uniform(low=0.0, high=2 * np.pi, size=self._output_dim)
        bias = tf.constant(phases, tf.float32)
        angles = tf.add(tf.matmul(input_tensor, omega), bias)
        return math.sqrt(2.0 / self._output_dim) * tf.cos(angles)
