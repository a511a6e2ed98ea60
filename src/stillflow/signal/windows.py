"""Windows of raised cosines."""

from __future__ import annotations

from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import float32
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value


@export("signal.hann_window", "contrib.signal.hann_window")
def hann_window(
    window_length: Any, periodic: Any = True, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Return a Hann window of `window_length` samples, periodic (for spectra) or symmetric."""
    return _raised_cosine(name, "hann_window", window_length, periodic, dtype, 0.5, 0.5)


@export("signal.hamming_window", "contrib.signal.hamming_window")
def hamming_window(
    window_length: Any, periodic: Any = True, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Return a Hamming window of `window_length` samples, periodic (for spectra) or symmetric."""
    return _raised_cosine(name, "hamming_window", window_length, periodic, dtype, 0.54, 0.46)


def _raised_cosine(
    name: Any, default_name: str, length: Any, periodic: Any, dtype: Any, a: float, b: float
) -> Tensor:
    if not dtype.is_floating:
        raise ValueError(f"dtype must be a floating point type. Found {dtype}")
    with tf.name_scope(name, default_name, [length, periodic]):
        length = convert_to_tensor(length, dtype=tf.int32, name="window_length")
        length.shape.assert_has_rank(0)
        known = static_value(length)
        if known == 1:
            return tf.ones([1], dtype=dtype)  # type: ignore[no-any-return]
        periodic = tf.cast(convert_to_tensor(periodic, dtype=tf.bool, name="periodic"), tf.int32)
        periodic.shape.assert_has_rank(0)
        even = 1 - tf.mod(length, 2)
        intervals = tf.cast(length + periodic * even - 1, dtype=dtype)
        count = tf.cast(tf.range(length), dtype)
        angle = tf.constant(2 * np.pi, dtype=dtype) * count / intervals

        def window() -> Any:
            return tf.cast(a - b * tf.cos(angle), dtype=dtype)

        if known is not None:
            return window()  # type: ignore[no-any-return]
        return tf.cond(  # type: ignore[no-any-return]
            tf.equal(length, 1), lambda: tf.ones([1], dtype=dtype), window
        )
