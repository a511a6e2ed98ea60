"""Activations with parameters, and noise."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.keras.backend import elementwise
from stillflow.keras.backend.config import floatx
from stillflow.keras.backend.control import in_train_phase
from stillflow.keras.backend.random import random_normal, random_uniform
from stillflow.keras.backend.variables import cast_to_floatx
from stillflow.keras.layers.core import Elementwise
from stillflow.layers.identifiers import (
    constraint_of,
    initializer_of,
    regularizer_of,
    serialized,
)
from stillflow.layers.input_spec import InputSpec

# Of scaled exponential linear units (Klambauer et al., 2017).
_ALPHA, _SCALE = 1.6732632423543772, 1.0507009873554805


class _WithNumber(Elementwise):
    """An activation with one number, which is kept as an array of the default dtype."""

    _number: str

    def __init__(self, number: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        setattr(self, self._number, cast_to_floatx(number))

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {**super().get_config(), self._number: float(getattr(self, self._number))}


@export("keras.layers.LeakyReLU")
class LeakyReLU(_WithNumber):
    """`x` where it is positive, `alpha * x` elsewhere.

    Args:
      alpha: the slope.
    """

    _number = "alpha"
    alpha: Any

    def __init__(self, alpha: Any = 0.3, **kwargs: Any) -> None:
        super().__init__(alpha, **kwargs)

    def call(self, inputs: Any) -> Tensor:
        """Return the activation of each element."""
        return elementwise.relu(inputs, alpha=self.alpha)


@export("keras.layers.ELU")
class ELU(_WithNumber):
    """`x` where it is positive, `alpha * (exp(x) - 1)` elsewhere.

    Args:
      alpha: the factor.
    """

    _number = "alpha"
    alpha: Any

    def __init__(self, alpha: Any = 1.0, **kwargs: Any) -> None:
        super().__init__(alpha, **kwargs)

    def call(self, inputs: Any) -> Tensor:
        """Return the activation of each element."""
        return elementwise.elu(inputs, self.alpha)


@export("keras.layers.ThresholdedReLU")
class ThresholdedReLU(_WithNumber):
    """`x` where it is above a threshold, 0 elsewhere.

    Args:
      theta: the threshold.
    """

    _number = "theta"
    theta: Any

    def __init__(self, theta: Any = 1.0, **kwargs: Any) -> None:
        super().__init__(theta, **kwargs)

    def call(self, inputs: Any) -> Tensor:
        """Return the activation of each element."""
        return inputs * tf.cast(tf.greater(inputs, self.theta), floatx())


@export("keras.layers.PReLU")
class PReLU(Elementwise):
    """`x` where it is positive, `alpha * x` elsewhere, with slopes that are learned.

    Args:
      alpha_initializer, alpha_regularizer, alpha_constraint: of the slopes.
      shared_axes: along which there is one slope for all.
    """

    def __init__(
        self,
        alpha_initializer: Any = "zeros",
        alpha_regularizer: Any = None,
        alpha_constraint: Any = None,
        shared_axes: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.alpha_initializer = initializer_of(alpha_initializer)
        self.alpha_regularizer = regularizer_of(alpha_regularizer)
        self.alpha_constraint = constraint_of(alpha_constraint)
        several = isinstance(shared_axes, (list, tuple))
        self.shared_axes: Any = None
        if shared_axes is not None:
            self.shared_axes = list(shared_axes) if several else [shared_axes]

    def build(self, input_shape: Any) -> None:
        """Make `alpha`."""
        sizes = TensorShape(input_shape).as_list()
        shared = self.shared_axes or ()
        shape = [1 if i in shared else size for i, size in enumerate(sizes)][1:]
        self.alpha = self.add_weight(
            shape=shape, name="alpha", initializer=self.alpha_initializer,
            regularizer=self.alpha_regularizer, constraint=self.alpha_constraint,
        )  # fmt: skip
        axes = {i: sizes[i] for i in range(1, len(sizes)) if shared and i not in shared}
        self.input_spec = InputSpec(ndim=len(sizes), axes=axes)
        self.built = True

    def call(self, inputs: Any) -> Tensor:
        """Return the activation of each element."""
        positive = elementwise.relu(inputs)
        return positive + -self.alpha * elementwise.relu(-inputs)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        kinds = ("initializer", "regularizer", "constraint")
        named = {f"alpha_{k}": serialized(f"{k}s", getattr(self, f"alpha_{k}")) for k in kinds}
        return {**super().get_config(), **named, "shared_axes": self.shared_axes}


@export("keras.layers.Softmax")
class Softmax(Elementwise):
    """Exponentials that sum to 1 along an axis.

    Args:
      axis: the axis.
    """

    _config = ("axis",)

    def __init__(self, axis: int = -1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.axis = axis

    def call(self, inputs: Any) -> Tensor:
        """Return the exponentials."""
        return tf.nn.softmax(inputs, axis=self.axis)


@export("keras.layers.ReLU")
class ReLU(Elementwise):
    """`x` where it is above a threshold, a line elsewhere.

    Args:
      max_value: an upper bound, or None.
      negative_slope: of the line.
      threshold: where it begins.

    Raises:
      ValueError: if the bound or the slope is negative.
    """

    _config = ("max_value", "negative_slope", "threshold")

    def __init__(
        self, max_value: Any = None, negative_slope: Any = 0, threshold: Any = 0, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if max_value is not None and max_value < 0.0:
            raise ValueError(f"max_value of Relu layer cannot be negative value: {max_value}")
        if negative_slope < 0.0:
            raise ValueError(
                f"negative_slope of Relu layer cannot be negative value: {negative_slope}"
            )
        self.max_value = None if max_value is None else cast_to_floatx(max_value)
        self.negative_slope = cast_to_floatx(negative_slope)
        self.threshold = cast_to_floatx(threshold)

    def call(self, inputs: Any) -> Tensor:
        """Return the activation of each element."""
        return elementwise.relu(
            inputs, alpha=self.negative_slope, max_value=self.max_value, threshold=self.threshold
        )


@export("keras.layers.GaussianNoise")
class GaussianNoise(Elementwise):
    """Layer that adds normal noise in training.

    Args:
      stddev: of the noise.
    """

    _config = ("stddev",)

    def __init__(self, stddev: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.stddev = stddev

    def call(self, inputs: Any, training: Any = None) -> Tensor:
        """Return the inputs, with noise in training."""

        def noised() -> Any:
            return inputs + random_normal(tf.shape(inputs), mean=0.0, stddev=self.stddev)

        return in_train_phase(noised, inputs, training=training)


@export("keras.layers.GaussianDropout")
class GaussianDropout(Elementwise):
    """Multiplies with normal noise around 1 in training.

    Args:
      rate: of a dropout with noise of the same size.
    """

    _config = ("rate",)

    def __init__(self, rate: float, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.supports_masking = True
        self.rate = rate

    def call(self, inputs: Any, training: Any = None) -> Any:
        """Return the inputs, with noise in training."""
        if not 0 < self.rate < 1:
            return inputs

        def noised() -> Tensor:
            stddev = np.sqrt(self.rate / (1.0 - self.rate))
            return inputs * random_normal(tf.shape(inputs), mean=1.0, stddev=stddev)

        return in_train_phase(noised, inputs, training=training)


@export("keras.layers.AlphaDropout")
class AlphaDropout(Elementwise):
    """Dropout that keeps the mean and the variance of scaled exponential linear units.

    Args:
      rate: the part that is dropped.
      noise_shape: the shape of the draws.
      seed: of the draw.
    """

    _config = ("rate",)

    def __init__(
        self, rate: float, noise_shape: Any = None, seed: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        self.rate, self.noise_shape, self.seed = rate, noise_shape, seed
        self.supports_masking = True

    def call(self, inputs: Any, training: Any = None) -> Any:
        """Return the inputs, a part of them dropped in training."""
        if not 0.0 < self.rate < 1.0:
            return inputs
        noise_shape = self.noise_shape or tf.shape(inputs)

        def dropped() -> Any:
            low, rate = -_ALPHA * _SCALE, self.rate
            kept = tf.greater_equal(random_uniform(noise_shape, seed=self.seed), rate)
            kept = tf.cast(kept, floatx())
            a = ((1 - rate) * (1 + rate * low**2)) ** -0.5
            b = -a * low * rate
            return a * (inputs * kept + low * (1 - kept)) + b

        return in_train_phase(dropped, inputs, training=training)
