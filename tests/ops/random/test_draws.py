from __future__ import annotations

import numpy as np
import pytest

from stillflow.ops.random import draws
from stillflow.ops.random.philox import LARGEST_RUN, Philox

FILLS = {
    "words32": draws.words32,
    "words64": draws.words64,
    "uniform_float": lambda s, n, t=1: draws.uniform_float(s, n, threads=t),
    "uniform_double": draws.uniform_double,
    "uniform_int32": lambda s, n, t=1: draws.uniform_int32(s, n, -7, 100, t),
    "uniform_int64": lambda s, n, t=1: draws.uniform_int64(s, n, -7, 2**40, t),
    "normal_float": draws.normal_float,
    "normal_double": draws.normal_double,
    "truncated_normal_float": draws.truncated_normal_float,
    "truncated_normal_double": draws.truncated_normal_double,
}


@pytest.mark.parametrize("name", FILLS)
def test_draws_do_not_depend_on_count_or_threads(name: str) -> None:
    fill, stream = FILLS[name], Philox.from_seeds(5, 6)
    many = fill(stream, 5 * LARGEST_RUN + 3, 1)
    assert many.shape == (5 * LARGEST_RUN + 3,)
    np.testing.assert_array_equal(fill(stream, len(many), 3), many)
    np.testing.assert_array_equal(fill(stream, 7, 1), many[:7])
    assert fill(stream, 0, 1).shape == (0,)


@pytest.mark.parametrize("name", FILLS)
def test_drawing_does_not_move_the_stream(name: str) -> None:
    stream = Philox.from_seeds(5, 6)
    FILLS[name](stream, 10, 1)
    assert (stream.low, stream.high) == (0, 6)


def test_moments() -> None:
    stream = Philox.from_seeds(8, 9)
    uniform = draws.uniform_float(stream, 100_000).astype(float)
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert abs(uniform.mean() - 0.5) < 0.01
    normal = draws.normal_float(stream, 100_000).astype(float)
    assert abs(normal.mean()) < 0.02
    assert abs(normal.std() - 1) < 0.02
    cut = draws.truncated_normal_float(stream, 100_000).astype(float)
    assert np.abs(cut).max() < 2
    assert abs(cut.std() - 0.8796) < 0.02


def test_integers_cover_their_range() -> None:
    values = draws.uniform_int32(Philox.from_seeds(1, 1), 1000, -3, 4)
    assert set(values.tolist()) == set(range(-3, 4))
    extremes = draws.uniform_int64(Philox.from_seeds(1, 1), 1000, -(2**63), 2**63 - 1)
    assert extremes.min() < -(2**61)
    assert extremes.max() > 2**61


def test_half_precision_units_are_exact_in_half_precision() -> None:
    values = draws.uniform_float(Philox.from_seeds(1, 2), 1000, mantissa=10)
    assert (values == values.astype(np.float16)).all()
