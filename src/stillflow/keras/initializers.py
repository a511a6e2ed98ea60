"""`tf.keras.initializers`: the classes with Keras' defaults, and all of them by name."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.keras.utils.objects import deserialize_keras_object, serialize_keras_object
from stillflow.variables import initializers
from stillflow.variables.initializers import (
    Constant,
    GlorotNormal,
    GlorotUniform,
    Identity,
    Initializer,
    Ones,
    Orthogonal,
    VarianceScaling,
    Zeros,
    he_normal,
    he_uniform,
    lecun_normal,
    lecun_uniform,
)


@export("keras.initializers.TruncatedNormal", "keras.initializers.truncated_normal")
class TruncatedNormal(initializers.TruncatedNormal):
    """Normally distributed, values beyond two standard deviations drawn again."""

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 0.05, seed: Any = None, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(mean=mean, stddev=stddev, seed=seed, dtype=dtype)


@export(
    "keras.initializers.RandomUniform",
    "keras.initializers.uniform",
    "keras.initializers.random_uniform",
)
class RandomUniform(initializers.RandomUniform):
    """Uniform between `minval` and `maxval`."""

    def __init__(
        self,
        minval: Any = -0.05,
        maxval: Any = 0.05,
        seed: Any = None,
        dtype: Any = dtypes.float32,
    ) -> None:
        super().__init__(minval=minval, maxval=maxval, seed=seed, dtype=dtype)


@export(
    "keras.initializers.RandomNormal",
    "keras.initializers.normal",
    "keras.initializers.random_normal",
)
class RandomNormal(initializers.RandomNormal):
    """Initializer with normally distributed values."""

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 0.05, seed: Any = None, dtype: Any = dtypes.float32
    ) -> None:
        super().__init__(mean=mean, stddev=stddev, seed=seed, dtype=dtype)


_CLASSES = (
    Constant, GlorotNormal, GlorotUniform, Identity, Initializer, Ones, Orthogonal, RandomNormal,
    RandomUniform, TruncatedNormal, VarianceScaling, Zeros,
)  # fmt: skip
_KNOWN: dict[str, Any] = {
    **{kind.__name__: kind for kind in _CLASSES},
    **{
        function.__name__: function
        for function in (he_normal, he_uniform, lecun_normal, lecun_uniform)
    },
    "zero": Zeros, "zeros": Zeros, "one": Ones, "ones": Ones, "constant": Constant,
    "uniform": RandomUniform, "random_uniform": RandomUniform,
    "normal": RandomNormal, "random_normal": RandomNormal,
    "truncated_normal": TruncatedNormal, "identity": Identity, "orthogonal": Orthogonal,
    "glorot_normal": GlorotNormal, "glorot_uniform": GlorotUniform,
}  # fmt: skip
_FUNCTIONS = ("he_normal", "he_uniform", "lecun_normal", "lecun_uniform")


@export("keras.initializers.serialize")
def serialize(initializer: Any) -> dict[str, dict[str, float | str | None] | str]:
    """{"class_name": ..., "config": ...} of an initializer."""
    return serialize_keras_object(initializer)


@export("keras.initializers.deserialize")
def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """Return the initializer of a name, or that `serialize` made `config` of."""
    return deserialize_keras_object(config, _KNOWN, custom_objects, "initializer")


@export("keras.initializers.get")
def get(identifier: Any) -> Any:
    """Return the initializer of a name or dictionary; None and callables unchanged.

    Raises:
      ValueError: if it is nothing of the kind.
    """
    if identifier is None:
        return None
    if isinstance(identifier, str) and identifier in _FUNCTIONS:
        return deserialize({"class_name": identifier, "config": {}})
    if isinstance(identifier, (str, dict)):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    raise ValueError(f"Could not interpret initializer identifier: {identifier}")
