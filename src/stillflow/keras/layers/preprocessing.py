"""Layers that learn from data before training."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import numpy as np

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.config import floatx
from stillflow.keras.engine.preprocessing_layer import Combiner, CombinerPreprocessingLayer

_FORGOTTEN_COUNT = (
    "The mean and/or variance of a Normalization preprocessing layer were set without also setting "
    "'count'. If 'count' is not also set, 'adapt' cannot be called unless the 'reset_state' arg is "
    "True."
)


class Accumulator(NamedTuple):
    """Number of values, and of each feature the mean and the variance."""

    count: Any
    mean: Any
    variance: Any


class NormalizingCombiner(Combiner):
    """Means and variances of features.

    Args:
      axis: the axis of the features, or several.
    """

    def __init__(self, axis: Any) -> None:
        self.axis = axis

    def compute(self, values: Any, accumulator: Any = None) -> Accumulator:
        """Return the accumulator of a batch, added to the earlier one."""
        values = np.asarray(values)
        others = tuple(np.delete(np.arange(values.ndim), self.axis))
        new = self._create_accumulator(
            np.prod(np.delete(values.shape, self.axis), dtype=np.int32),
            np.mean(values, axis=others, dtype=np.float64),
            np.var(values, axis=others, dtype=np.float64),
        )
        return new if accumulator is None else self.merge([accumulator, new])

    def merge(self, accumulators: list[Accumulator]) -> Accumulator:
        """Merge accumulators: variances are those within and those of the means."""
        count = np.sum([a.count for a in accumulators])
        mean = sum(a.mean * a.count for a in accumulators) / count
        spread = sum(a.count * (a.variance + (a.mean - mean) ** 2) for a in accumulators)
        return self._create_accumulator(count, mean, spread / count)

    def extract(self, accumulator: Accumulator) -> dict[str, Any]:
        """Return the variables' values by their names."""
        return accumulator._asdict()

    def restore(self, output: dict[str, Any]) -> Accumulator:
        """Return the accumulator whose values variables have.

        Raises:
          RuntimeError: if there are a mean and a variance of no values.
        """
        count, mean, variance = output["count"], output["mean"], output["variance"]
        if count == 0 and (mean.any() or variance.any()):
            raise RuntimeError(_FORGOTTEN_COUNT)
        return self._create_accumulator(count, mean, variance)

    def serialize(self, accumulator: Accumulator) -> bytes:
        """Return an accumulator as JSON."""
        lists = {name: value.tolist() for name, value in accumulator._asdict().items()}
        return json.dumps(lists).encode()

    def deserialize(self, encoded_accumulator: bytes) -> Accumulator:
        """Return an accumulator out of JSON."""
        lists = json.loads(encoded_accumulator)
        return self._create_accumulator(**{name: np.array(lists[name]) for name in lists})

    def _create_accumulator(self, count: Any, mean: Any, variance: Any) -> Accumulator:
        """One of numbers only: those of no values are 0."""
        return Accumulator(np.array(count), np.nan_to_num(mean), np.nan_to_num(variance))


class Normalization(CombinerPreprocessingLayer):
    """`(inputs - mean) / variance`, of means and variances that `adapt` learns.

    As in TensorFlow 1.15, it is the variance that is divided by.

    Args:
      axis: the axis of the features, or several; not that of the examples.
      dtype: by default Keras' one.
      **kwargs: see `Layer`.

    Raises:
      ValueError: for the axis 0.
    """

    _NormalizingCombiner = NormalizingCombiner

    def __init__(self, axis: Any = -1, dtype: Any = None, **kwargs: Any) -> None:
        super().__init__(combiner=NormalizingCombiner(axis), dtype=dtype or floatx(), **kwargs)
        if axis == 0:
            raise ValueError("The argument 'axis' may not be 0.")
        self.axis = axis

    def build(self, input_shape: Any) -> None:
        """Make `mean` and `variance` of the features' shape, and `count`."""
        several = isinstance(self.axis, (list, tuple))
        self._broadcast_shape = [1] * len(input_shape)
        for axis in self.axis if several else [self.axis]:
            self._broadcast_shape[axis] = input_shape[axis]
        shape = [input_shape[axis] for axis in self.axis] if several else input_shape[self.axis]
        zeros = tf.zeros_initializer
        self.mean = self._add_state_variable("mean", shape, floatx(), zeros)
        self.variance = self._add_state_variable("variance", shape, floatx(), zeros)
        self.count = self._add_state_variable("count", (), tf.int32, zeros)
        super().build(input_shape)

    def call(self, inputs: Any) -> Tensor:
        """Return the normalized inputs."""
        mean = tf.reshape(self.mean, self._broadcast_shape)
        variance = tf.reshape(self.variance, self._broadcast_shape)
        return (inputs - mean) / variance

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Return the input's."""
        return input_shape

    def compute_output_signature(self, input_spec: Any) -> Any:
        """Return the input's."""
        return input_spec

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), "axis": self.axis}

    def set_weights(self, weights: list[Any]) -> None:
        """Set mean, variance and count; two of them leave the count at 0."""
        super().set_weights([*weights, np.array(0)] if len(weights) == 2 else weights)
