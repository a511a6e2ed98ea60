"""Candidate sampling by the loop in C: the classes that are sampled without."""

from __future__ import annotations

import numpy as np
import pytest

from stillflow import native
from stillflow.ops.random.philox import Philox
from stillflow.ops.random.range_samplers import (
    FixedUnigramSampler,
    LogUniformSampler,
    Sampler,
    UniformSampler,
    sample_candidates,
)

if native.library() is None:
    pytest.skip("the loops in C were not built", allow_module_level=True)

WEIGHTS = np.random.RandomState(0).rand(997).astype(np.float32)
SAMPLERS = {
    "uniform": UniformSampler(997),
    "uniform, power of two": UniformSampler(1024),
    "uniform, many": UniformSampler(3 * 2**61),  # of which a third of the draws is passed over
    "log-uniform": LogUniformSampler(997),
    "log-uniform, many": LogUniformSampler(10**9),
    "fixed": FixedUnigramSampler(WEIGHTS, 0.75),
    "fixed, reserved and in shards": FixedUnigramSampler(WEIGHTS, 1.0, 5, 3, 2),
}


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("count", [1, 2, 300])
@pytest.mark.parametrize("kind", SAMPLERS)
def test_classes_and_what_is_expected(kind, count, unique, monkeypatch):
    sampler: Sampler = SAMPLERS[kind]
    true_classes = np.array([0, 1, 5, 300], np.int64)
    for low in (0, 2**32 - 100, 2**64 - 20):
        stream = Philox(7, low, 2**64 - 1)
        assert sampler.loop is not None
        found = sampler.loop.sample(stream, count, unique, true_classes)
        with monkeypatch.context() as patch:
            patch.setattr(native, "library", lambda: None)
            expected = sample_candidates(sampler, stream, count, unique, true_classes)
        assert found is not None
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype


def test_classes_that_are_not_weighed_are_never_expected():
    sampler = SAMPLERS["fixed"]
    assert sampler.loop is not None
    found = sampler.loop.sample(Philox(1, 2, 3), 3, False, np.array([-1, 997, 2**40]))
    assert found is not None
    assert found[1].tolist() == [0, 0, 0]


def test_the_loop_gives_up_where_it_does_not_find_enough_classes():
    sampler = FixedUnigramSampler([1.0, 0.0, 0.0])
    assert sampler.loop is not None
    assert sampler.loop.sample(Philox(1, 2, 3), 2, True, np.array([0])) is None
