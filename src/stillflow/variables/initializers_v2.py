"""Initializers of TensorFlow 2, `f(shape, dtype)`: with a seed they give the same values always.

They take no type when they are made, and their defaults are Keras'. TF 1.15 has them as
`tf.compat.v2.initializers` and in `tensorflow.python.ops.init_ops_v2`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays import fill
from stillflow.ops.constants import constant_v2
from stillflow.ops.random import basic, stateless
from stillflow.variables.initializers import (
    TRUNCATED_STDDEV,
    float_dtype,
    orthogonal_part,
    scaled_variance,
)

_MODES = {"fan_in", "fan_out", "fan_avg"}
_DISTRIBUTIONS = {"uniform", "truncated_normal", "untruncated_normal"}

# {distribution: how it is drawn without a seed, and with one}
_DRAWS: dict[str, tuple[Any, Any]] = {
    "uniform": (basic.random_uniform, stateless.stateless_random_uniform),
    "normal": (basic.random_normal, stateless.stateless_random_normal),
    "truncated_normal": (basic.truncated_normal, stateless.stateless_truncated_normal),
}


def _drawn(
    distribution: str, shape: Any, first: Any, second: Any, dtype: DType, seed: Any
) -> Tensor:
    """Random numbers of a distribution that two parameters describe."""
    changing, unchanging = _DRAWS[distribution]
    if seed is None:
        result: Tensor = changing(shape, first, second, dtype)
    else:
        result = unchanging(shape, [seed, 0], first, second, dtype)
    return result


@export("compat.v2.keras.initializers.Initializer")
class Initializer:
    """The base of initializers; `get_config` gives the arguments that make an equal one."""

    _arguments: tuple[str, ...] = ()

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        return {name: getattr(self, name) for name in self._arguments}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """Return an initializer of a configuration from `get_config`.

        A `dtype` in it is removed.
        """
        config.pop("dtype", None)
        return cls(**config)


@export(
    "compat.v2.zeros_initializer",
    "compat.v2.keras.initializers.Zeros",
    "compat.v2.keras.initializers.zeros",
)
class Zeros(Initializer):
    """Zeros (empty strings, False)."""

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Tensor:
        return fill.zeros(shape, dtypes.as_dtype(dtype))


@export(
    "compat.v2.ones_initializer",
    "compat.v2.keras.initializers.Ones",
    "compat.v2.keras.initializers.ones",
)
class Ones(Initializer):
    """Ones (True).

    Raises:
      ValueError: if they are to be strings, or what NumPy has no type for.
    """

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Tensor:
        dtype = dtypes.as_dtype(dtype)
        if not dtype.is_numpy_compatible or dtype == dtypes.string:
            raise ValueError(f"Expected numeric or boolean dtype, got {dtype}.")
        return fill.ones(shape, dtype)


@export(
    "compat.v2.constant_initializer",
    "compat.v2.keras.initializers.Constant",
    "compat.v2.keras.initializers.constant",
)
class Constant(Initializer):
    """A given value: one for all elements, or as many as the shape has.

    Raises:
      TypeError: if the value is neither a scalar nor a list nor an array, or does not fit.
    """

    _arguments = ("value",)

    def __init__(self, value: Any = 0) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value: {type(value)} (expected Python scalar, list or "
                "tuple of values, or numpy.ndarray)."
            )
        self.value = value

    def __call__(self, shape: Any, dtype: Any = None) -> Tensor:
        dtype = dtype if dtype is None else dtypes.as_dtype(dtype)
        return constant_v2(self.value, dtype, shape)


@export("compat.v2.random_uniform_initializer", "compat.v2.keras.initializers.RandomUniform")
class RandomUniform(Initializer):
    """Uniform between `minval` and `maxval`; integers as well.

    Raises:
      ValueError: if they are to be of a type that is no number.
    """

    _arguments = ("minval", "maxval", "seed")

    def __init__(self, minval: Any = -0.05, maxval: Any = 0.05, seed: Any = None) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Tensor:
        dtype = dtypes.as_dtype(dtype)
        if not dtype.is_floating and not dtype.is_integer:
            raise ValueError(f"Expected float or integer dtype, got {dtype}.")
        return _drawn("uniform", shape, self.minval, self.maxval, dtype, self.seed)


@export("compat.v2.random_normal_initializer", "compat.v2.keras.initializers.RandomNormal")
class RandomNormal(Initializer):
    """Initializer with normally distributed values."""

    _arguments = ("mean", "stddev", "seed")
    _distribution = "normal"

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: Any = None) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Tensor:
        dtype = float_dtype(dtype)
        return _drawn(self._distribution, shape, self.mean, self.stddev, dtype, self.seed)


@export("compat.v2.keras.initializers.TruncatedNormal")
class TruncatedNormal(RandomNormal):
    """Normally distributed, values beyond two standard deviations drawn again."""

    _distribution = "truncated_normal"


@export("compat.v2.keras.initializers.VarianceScaling")
class VarianceScaling(Initializer):
    """Scaled by the number of a layer's inputs, outputs, or their mean.

    Raises:
      ValueError: if an argument is not one of its choices.
    """

    _arguments: tuple[str, ...] = ("scale", "mode", "distribution", "seed")

    def __init__(
        self, scale: float = 1.0, mode: str = "fan_in", distribution: str = "truncated_normal",
        seed: Any = None,
    ) -> None:  # fmt: skip
        if scale <= 0.0:
            raise ValueError("`scale` must be positive float.")
        if mode not in _MODES:
            raise ValueError("Invalid `mode` argument:", mode)
        distribution = distribution.lower()
        distribution = "truncated_normal" if distribution == "normal" else distribution
        if distribution not in _DISTRIBUTIONS:
            raise ValueError("Invalid `distribution` argument:", distribution)
        self.scale, self.mode, self.distribution, self.seed = scale, mode, distribution, seed

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Tensor:
        dtype = float_dtype(dtype)
        variance = scaled_variance(self.scale, self.mode, shape)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return _drawn("uniform", shape, -limit, limit, dtype, self.seed)
        stddev = math.sqrt(variance)
        if self.distribution == "untruncated_normal":
            return _drawn("normal", shape, 0.0, stddev, dtype, self.seed)
        return _drawn("truncated_normal", shape, 0.0, stddev / TRUNCATED_STDDEV, dtype, self.seed)


@export("compat.v2.keras.initializers.Orthogonal", "compat.v2.keras.initializers.orthogonal")
class Orthogonal(Initializer):
    """An orthogonal matrix (Saxe et al., 2014), reshaped.

    Raises:
      ValueError: if the shape has fewer than two dimensions.
    """

    _arguments = ("gain", "seed")

    def __init__(self, gain: float = 1.0, seed: Any = None) -> None:
        self.gain, self.seed = gain, seed

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Tensor:
        from stillflow.ops.arrays.shape import reshape
        from stillflow.ops.arrays.transpose import matrix_transpose

        dtype = float_dtype(dtype)
        if len(shape) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional")
        rows, columns = math.prod(int(size) for size in shape[:-1]), int(shape[-1])
        flat = (max(columns, rows), min(columns, rows))
        q = orthogonal_part(_drawn("normal", flat, 0.0, 1, dtype, self.seed))
        if rows < columns:
            q = matrix_transpose(q)
        result: Any = self.gain * reshape(q, shape)
        return result


@export("compat.v2.keras.initializers.Identity", "compat.v2.keras.initializers.identity")
class Identity(Initializer):
    """The identity matrix, times `gain`.

    Raises:
      ValueError: if the shape is not that of a matrix.
    """

    _arguments = ("gain",)

    def __init__(self, gain: float = 1.0) -> None:
        self.gain = gain

    def __call__(self, shape: Any, dtype: Any = dtypes.float32) -> Tensor:
        from stillflow.ops.linalg.diagonal import eye

        dtype = float_dtype(dtype)
        if len(shape) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        result: Any = self.gain * eye(*shape, dtype=dtype)  # type: ignore[misc]
        return result


@export("compat.v2.keras.initializers.GlorotUniform", "compat.v2.keras.initializers.glorot_uniform")
class GlorotUniform(VarianceScaling):
    """Uniform with the variance of Glorot and Bengio (2010)."""

    _arguments = ("seed",)

    def __init__(self, seed: Any = None) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed)


@export("compat.v2.keras.initializers.GlorotNormal", "compat.v2.keras.initializers.glorot_normal")
class GlorotNormal(VarianceScaling):
    """Truncated normal with the variance of Glorot and Bengio (2010)."""

    _arguments = ("seed",)

    def __init__(self, seed: Any = None) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed)


@export("compat.v2.keras.initializers.lecun_normal")
def lecun_normal(seed: Any = None) -> VarianceScaling:
    """Return a truncated normal initializer, variance 1 / inputs (LeCun et al., 1998)."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


@export("compat.v2.keras.initializers.lecun_uniform")
def lecun_uniform(seed: Any = None) -> VarianceScaling:
    """Uniform, variance 1 / inputs (LeCun et al., 1998)."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


@export("compat.v2.keras.initializers.he_normal")
def he_normal(seed: Any = None) -> VarianceScaling:
    """Return a truncated normal initializer, variance 2 / inputs (He et al., 2015)."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


@export("compat.v2.keras.initializers.he_uniform")
def he_uniform(seed: Any = None) -> VarianceScaling:
    """Uniform, variance 2 / inputs (He et al., 2015)."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


# The module's other names for them.
zero = zeros = zeros_initializer = Zeros
one = ones = ones_initializer = Ones
constant = constant_initializer = Constant
uniform = random_uniform = random_uniform_initializer = RandomUniform
normal = random_normal = random_normal_initializer = RandomNormal
truncated_normal = truncated_normal_initializer = TruncatedNormal
variance_scaling_initializer = VarianceScaling
orthogonal = orthogonal_initializer = Orthogonal
identity = identity_initializer = Identity
glorot_uniform = glorot_uniform_initializer = GlorotUniform
glorot_normal = glorot_normal_initializer = GlorotNormal
