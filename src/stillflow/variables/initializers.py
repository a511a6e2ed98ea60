"""Initializers: `f(shape, dtype, partition_info)` gives a variable's first value."""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.arrays.fill import ones, zeros
from stillflow.ops.constants import constant
from stillflow.ops.random.basic import random_normal, random_uniform, truncated_normal

# The standard deviation of a normal distribution truncated at two standard deviations.
TRUNCATED_STDDEV = 0.87962566103423978


def float_dtype(dtype: Any) -> DType:
    dtype = dtypes.as_dtype(dtype)
    if not dtype.is_floating:
        raise ValueError(f"Expected floating point type, got {dtype}.")
    return dtype


@export("keras.initializers.Initializer")
class Initializer:
    """The base of initializers; `get_config` gives the arguments that make an equal one."""

    dtype: DType

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments."""
        config = {
            name: getattr(self, name)
            for name in inspect.signature(type(self).__init__).parameters
            if name != "self" and hasattr(self, name)
        }
        if isinstance(config.get("dtype"), DType):
            config["dtype"] = config["dtype"].name
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        return cls(**config)


@export(
    "initializers.zeros",
    "zeros_initializer",
    "keras.initializers.Zeros",
    "keras.initializers.zeros",
)
class Zeros(Initializer):
    """Zeros (empty strings, False).

    Args:
      dtype: of the variables, unless they say theirs; float32 by default.

    Example:
      >>> v = tf.get_variable("v", [3], initializer=tf.zeros_initializer())
      >>> print(tf.Session().run(v.initial_value))
      [0. 0. 0.]
    """

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return zeros(shape, self.dtype if dtype is None else dtype)


@export(
    "initializers.ones", "ones_initializer", "keras.initializers.Ones", "keras.initializers.ones"
)
class Ones(Initializer):
    """Ones.

    Args:
      dtype: of the variables, unless they say theirs; float32 by default.

    Example:
      >>> v = tf.get_variable("v", [3], initializer=tf.ones_initializer())
      >>> print(tf.Session().run(v.initial_value))
      [1. 1. 1.]
    """

    def __init__(self, dtype: Any = dtypes.float32) -> None:
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        return ones(shape, self.dtype if dtype is None else dtype)


@export(
    "initializers.constant",
    "constant_initializer",
    "keras.initializers.Constant",
    "keras.initializers.constant",
)
class Constant(Initializer):
    """A given value; if it is smaller than the shape, its last element fills the rest.

    Args:
      value: a scalar, a list or an array.
      dtype: of the variables, unless they say theirs.
      verify_shape: raise an error for a value of another shape.

    Raises:
      TypeError: if the value is neither a scalar nor a list nor an array.

    Example:
      >>> v = tf.get_variable("v", [2, 2], initializer=tf.constant_initializer([1, 2, 3, 4]))
      >>> print(tf.Session().run(v.initial_value))
      [[1. 2.]
       [3. 4.]]
    """

    def __init__(
        self, value: Any = 0, dtype: Any = dtypes.float32, verify_shape: bool = False
    ) -> None:
        if not (np.isscalar(value) or isinstance(value, (list, tuple, np.ndarray))):
            raise TypeError(
                f"Invalid type for initial value: {type(value)} (expected Python scalar, list or "
                "tuple of values, or numpy.ndarray)."
            )
        self.value = value
        self.dtype = dtypes.as_dtype(dtype)
        self._verify_shape = verify_shape

    def __call__(
        self,
        shape: Any,
        dtype: Any = None,
        partition_info: Any = None,
        verify_shape: bool | None = None,
    ) -> Tensor:
        verify = self._verify_shape if verify_shape is None else verify_shape
        dtype = self.dtype if dtype is None else dtype
        return constant(self.value, dtype=dtype, shape=shape, verify_shape=verify)


@export("initializers.random_uniform", "random_uniform_initializer")
class RandomUniform(Initializer):
    """Uniform between `minval` and `maxval`.

    Args:
      minval: the smallest value.
      maxval: the limit above; 1 for floats if None.
      seed: an integer.
      dtype: of the variables, unless they say theirs: a float type, int32 or int64.

    Example:
      >>> w = tf.get_variable("w", [1000], initializer=tf.random_uniform_initializer(-0.5, 0.5))
      >>> print(tf.Session().run(tf.reduce_all(tf.abs(w.initial_value) <= 0.5)))
      True
    """

    def __init__(
        self, minval: Any = 0, maxval: Any = None, seed: Any = None, dtype: Any = dtypes.float32
    ) -> None:
        self.minval, self.maxval, self.seed = minval, maxval, seed
        self.dtype = dtypes.as_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        dtype = self.dtype if dtype is None else dtype
        return random_uniform(shape, self.minval, self.maxval, dtype, seed=self.seed)


class _Normal(Initializer):
    _draw: Any

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 1.0, seed: Any = None, dtype: Any = dtypes.float32
    ) -> None:
        self.mean, self.stddev, self.seed = mean, stddev, seed
        self.dtype = float_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        dtype = self.dtype if dtype is None else dtype
        result: Tensor = type(self)._draw(shape, self.mean, self.stddev, dtype, seed=self.seed)
        return result


@export("initializers.random_normal", "random_normal_initializer")
class RandomNormal(_Normal):
    """Initializer with normally distributed values.

    Example:
      >>> w = tf.get_variable("w", [10000], initializer=tf.random_normal_initializer(stddev=0.1))
      >>> values = tf.Session().run(w.initial_value)
      >>> bool(abs(values.mean()) < 0.01), bool(abs(values.std() - 0.1) < 0.01)
      (True, True)
    """

    _draw = staticmethod(random_normal)


@export("initializers.truncated_normal", "truncated_normal_initializer")
class TruncatedNormal(_Normal):
    """Normally distributed, values beyond two standard deviations drawn again.

    Example:
      >>> w = tf.get_variable("w", [1000], initializer=tf.truncated_normal_initializer(stddev=0.1))
      >>> print(tf.Session().run(tf.reduce_all(tf.abs(w.initial_value) <= 0.2)))
      True
    """

    _draw = staticmethod(truncated_normal)


@export("initializers.uniform_unit_scaling", "uniform_unit_scaling_initializer")
class UniformUnitScaling(Initializer):
    """Uniform, so that a linear layer keeps its input's scale."""

    def __init__(self, factor: float = 1.0, seed: Any = None, dtype: Any = dtypes.float32) -> None:
        self.factor, self.seed = factor, seed
        self.dtype = float_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        whole = shape if partition_info is None else partition_info.full_shape
        size = max(1.0, math.prod(float(dim) for dim in whole[:-1]))
        limit = math.sqrt(3 / size) * self.factor
        dtype = self.dtype if dtype is None else dtype
        return random_uniform(shape, -limit, limit, dtype, seed=self.seed)


@export(
    "initializers.variance_scaling",
    "variance_scaling_initializer",
    "keras.initializers.VarianceScaling",
)
class VarianceScaling(Initializer):
    """Scaled by the number of a layer's inputs, outputs, or their mean.

    Raises:
      ValueError: if an argument is not one of its choices.
    """

    _CHOICES: ClassVar[dict[str, tuple[str, ...]]] = {
        "mode": ("fan_in", "fan_out", "fan_avg"),
        "distribution": ("normal", "uniform", "truncated_normal", "untruncated_normal"),
    }

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: Any = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        if scale <= 0.0:
            raise ValueError("`scale` must be positive float.")
        self.scale, self.mode, self.distribution = scale, mode, distribution.lower()
        for argument, choices in self._CHOICES.items():
            if getattr(self, argument) not in choices:
                raise ValueError(f"Invalid `{argument}` argument:", getattr(self, argument))
        self.seed, self.dtype = seed, float_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        whole = shape if partition_info is None else partition_info.full_shape
        scale = scaled_variance(self.scale, self.mode, whole)
        dtype = self.dtype if dtype is None else dtype
        if self.distribution in ("normal", "truncated_normal"):
            stddev = math.sqrt(scale) / TRUNCATED_STDDEV
            return truncated_normal(shape, 0.0, stddev, dtype, seed=self.seed)
        if self.distribution == "untruncated_normal":
            return random_normal(shape, 0.0, math.sqrt(scale), dtype, seed=self.seed)
        limit = math.sqrt(3.0 * scale)
        return random_uniform(shape, -limit, limit, dtype, seed=self.seed)


def scaled_variance(scale: float, mode: str, shape: Any) -> float:
    """`scale` for each input or output of weights of a shape, or for the mean of the two."""
    fan_in, fan_out = compute_fans(shape)
    fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2.0}
    return scale / max(1.0, fan[mode])


@export(
    "initializers.orthogonal",
    "orthogonal_initializer",
    "keras.initializers.Orthogonal",
    "keras.initializers.orthogonal",
)
class Orthogonal(Initializer):
    """An orthogonal matrix (Saxe et al., 2014), reshaped."""

    def __init__(self, gain: float = 1.0, seed: Any = None, dtype: Any = dtypes.float32) -> None:
        self.gain, self.seed = gain, seed
        self.dtype = float_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        from stillflow.ops.arrays.shape import reshape
        from stillflow.ops.arrays.transpose import matrix_transpose

        if len(shape) < 2:
            raise ValueError("The tensor to initialize must be at least two-dimensional")
        rows, columns = int(math.prod(int(dim) for dim in shape[:-1])), int(shape[-1])
        flat = (columns, rows) if rows < columns else (rows, columns)
        dtype = self.dtype if dtype is None else dtype
        q = orthogonal_matrix(flat, dtype, self.seed)
        if rows < columns:
            q = matrix_transpose(q)
        result: Any = self.gain * reshape(q, shape)
        return result


def orthogonal_matrix(shape: Sequence[int], dtype: Any, seed: Any) -> Tensor:
    """Q of a QR decomposition of normal numbers, its signs made unique by those of R."""
    return orthogonal_part(random_normal(shape, dtype=dtype, seed=seed))


def orthogonal_part(matrix: Any) -> Tensor:
    """Q of a QR decomposition, its signs made unique by those of R."""
    from stillflow.ops.linalg.decompositions import qr_op
    from stillflow.ops.linalg.tensor_diag import tensor_diag_part as diag_part
    from stillflow.ops.math.unary import sign

    q, r = qr_op(matrix, full_matrices=False)
    return q * sign(diag_part(r))


@export("initializers.identity", "keras.initializers.Identity", "keras.initializers.identity")
class Identity(Initializer):
    """The identity matrix, times `gain`."""

    def __init__(self, gain: float = 1.0, dtype: Any = dtypes.float32) -> None:
        self.gain = gain
        self.dtype = float_dtype(dtype)

    def __call__(self, shape: Any, dtype: Any = None, partition_info: Any = None) -> Tensor:
        from stillflow.ops.arrays.slicing import slice_
        from stillflow.ops.linalg.diagonal import eye

        whole = shape if partition_info is None else partition_info.full_shape
        if len(whole) != 2:
            raise ValueError("Identity matrix initializer can only be used for 2D matrices.")
        if isinstance(whole, TensorShape):
            whole = whole.as_list()
        matrix = eye(*whole, dtype=self.dtype if dtype is None else dtype)  # type: ignore[misc]
        if partition_info is not None:
            matrix = slice_(matrix, partition_info.var_offset, shape)
        result: Any = self.gain * matrix
        return result


@export(
    "glorot_uniform_initializer", "initializers.glorot_uniform", "keras.initializers.glorot_uniform"
)
class GlorotUniform(VarianceScaling):
    """Uniform with the variance of Glorot and Bengio (2010)."""

    def __init__(self, seed: Any = None, dtype: Any = dtypes.float32) -> None:
        del dtype  # ignored, as in TF
        super().__init__(scale=1.0, mode="fan_avg", distribution="uniform", seed=seed)


@export(
    "glorot_normal_initializer", "initializers.glorot_normal", "keras.initializers.glorot_normal"
)
class GlorotNormal(VarianceScaling):
    """Truncated normal with the variance of Glorot and Bengio (2010)."""

    def __init__(self, seed: Any = None, dtype: Any = dtypes.float32) -> None:
        del dtype  # ignored, as in TF
        super().__init__(scale=1.0, mode="fan_avg", distribution="truncated_normal", seed=seed)


@export("initializers.lecun_normal", "keras.initializers.lecun_normal")
def lecun_normal(seed: Any = None) -> VarianceScaling:
    """Return a truncated normal initializer, variance 1 / inputs (LeCun et al., 1998)."""
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


@export("initializers.lecun_uniform", "keras.initializers.lecun_uniform")
def lecun_uniform(seed: Any = None) -> VarianceScaling:
    """Uniform, variance 1 / inputs (LeCun et al., 1998)."""
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


@export("initializers.he_normal", "keras.initializers.he_normal")
def he_normal(seed: Any = None) -> VarianceScaling:
    """Return a truncated normal initializer, variance 2 / inputs (He et al., 2015)."""
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


@export("initializers.he_uniform", "keras.initializers.he_uniform")
def he_uniform(seed: Any = None) -> VarianceScaling:
    """Uniform, variance 2 / inputs (He et al., 2015)."""
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


def compute_fans(shape: Any) -> tuple[int, int]:
    """Return the number of inputs and outputs of a weight of this shape."""
    if len(shape) < 1:
        return 1, 1
    if len(shape) == 1:
        return int(shape[0]), int(shape[0])
    field = math.prod(int(dim) for dim in shape[:-2])
    return int(shape[-2]) * field, int(shape[-1]) * field


# The names of the classes as functions, by which internal modules know them.
zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
random_uniform_initializer = RandomUniform
random_normal_initializer = RandomNormal
truncated_normal_initializer = TruncatedNormal
uniform_unit_scaling_initializer = UniformUnitScaling
variance_scaling_initializer = VarianceScaling
orthogonal_initializer = Orthogonal
identity_initializer = Identity
glorot_uniform_initializer = GlorotUniform
glorot_normal_initializer = GlorotNormal
