"""Operations without a seed: other numbers every time, of the same distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stillflow as tf

FLOATS = [tf.float16, tf.bfloat16, tf.float32, tf.float64]
DRAWS = [tf.random_uniform, tf.random_normal, tf.truncated_normal]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("draw", DRAWS)
def test_every_execution_and_session_differs(draw: Any, dtype: Any) -> None:
    with tf.Graph().as_default():
        value = draw([50], dtype=dtype)
        with tf.Session() as first, tf.Session() as second:
            values = [first.run(value), first.run(value), second.run(value)]
    assert all(v.dtype == dtype.as_numpy_dtype for v in values)
    assert len({v.astype(np.float64).tobytes() for v in values}) == 3


def test_fed_shapes() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        sizes = tf.placeholder(tf.int32, [None])
        values = [draw(sizes) for draw in DRAWS] + [tf.random_uniform(sizes, 0, 5, tf.int32)]
        for shape in ([2, 3], [], [0, 4]):
            for value in session.run(values, {sizes: shape}):
                assert np.shape(value) == tuple(shape)


def moments(values: np.ndarray) -> tuple[float, float]:
    return float(values.mean()), float(values.std())


@pytest.mark.parametrize("dtype", FLOATS)
def test_moments(dtype: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tensors = [draw([40_000], dtype=dtype) for draw in DRAWS]
        uniform, normal, cut = (v.astype(np.float64) for v in session.run(tensors))
    assert moments(uniform) == (pytest.approx(0.5, abs=0.01), pytest.approx(12**-0.5, abs=0.01))
    assert uniform.min() >= 0
    assert moments(normal) == (pytest.approx(0, abs=0.03), pytest.approx(1, abs=0.03))
    assert moments(cut) == (pytest.approx(0, abs=0.03), pytest.approx(0.8796, abs=0.03))
    assert np.abs(cut).max() <= 2


def test_integers() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        for dtype in (tf.int32, tf.int64):
            values = session.run(tf.random_uniform([2000], -3, 4, dtype))
            assert values.dtype == dtype.as_numpy_dtype
            assert set(values.tolist()) == set(range(-3, 4))
            limits = dtype.as_numpy_dtype
            low, high = int(np.iinfo(limits).min), int(np.iinfo(limits).max)
            wide = session.run(tf.random_uniform([100], low, high, dtype))
            assert wide.min() < 0 < wide.max()


@pytest.mark.parametrize(
    "values", [np.arange(50), np.array([b"%d" % i for i in range(50)], object)]
)
def test_shuffles(values: np.ndarray) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        shuffled = tf.random_shuffle(values)
        first, second = session.run(shuffled), session.run(shuffled)
    assert sorted(first.tolist()) == sorted(second.tolist()) == sorted(values.tolist())
    assert first.tolist() != second.tolist()
