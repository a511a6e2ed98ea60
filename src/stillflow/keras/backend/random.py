"""Random tensors; a seed that is not given is drawn from NumPy's generator."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.backend.config import floatx


def _seed(seed: Any) -> int:
    return np.random.randint(10**7) if seed is None else seed


@export("keras.backend.random_normal")
def random_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None
) -> Tensor:
    """Return normally distributed numbers."""
    return tf.random_normal(
        shape, mean=mean, stddev=stddev, dtype=dtype or floatx(), seed=_seed(seed)
    )


@export("keras.backend.random_uniform")
def random_uniform(
    shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Uniform in [minval, maxval)."""
    return tf.random_uniform(
        shape, minval=minval, maxval=maxval, dtype=dtype or floatx(), seed=_seed(seed)
    )


@export("keras.backend.random_binomial")
def random_binomial(shape: Any, p: float = 0.0, dtype: Any = None, seed: Any = None) -> Any:
    """Ones with probability `p`, else zeros."""
    dtype = dtype or floatx()
    drawn = tf.random_uniform(shape, dtype=dtype, seed=_seed(seed))
    return tf.where(drawn <= p, tf.ones(shape, dtype=dtype), tf.zeros(shape, dtype=dtype))


@export("keras.backend.truncated_normal")
def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None
) -> Any:
    """Return normally distributed numbers; values beyond two standard deviations are redrawn."""
    return tf.truncated_normal(shape, mean, stddev, dtype=dtype or floatx(), seed=_seed(seed))


@export("keras.backend.dropout")
def dropout(x: Any, level: float, noise_shape: Any = None, seed: Any = None) -> Tensor:
    """Return a random part of the elements set to 0, the others scaled up."""
    return tf.nn.dropout(x, noise_shape=noise_shape, seed=_seed(seed), rate=level)
