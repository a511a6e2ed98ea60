"""Quantiles of streams: ranks stay as exact as was asked for."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stillflow.errors import InvalidArgumentError
from stillflow.ops.boosted_trees.quantiles import EMPTY, Stream, exact, specification, summary_of

FLOATS = st.floats(-100, 100, width=32)


def ones(values):
    return np.ones(len(values), np.float32)


@settings(max_examples=60, deadline=None)
@given(st.lists(FLOATS, min_size=1, max_size=300), st.lists(FLOATS, max_size=300))
def test_merging_loses_nothing(first, second):
    first, second = np.float32(first), np.float32(second)
    merged = exact(first, ones(first)).merge(exact(second, ones(second)) if len(second) else EMPTY)
    both = np.concatenate([first, second])
    whole = exact(both, ones(both))
    for mine, theirs in zip(merged, whole, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.05, 0.1, 0.2]))
def test_ranks_of_streams_are_as_exact_as_asked_for(seed, error):
    random = np.random.RandomState(seed)
    values = random.randn(3000).astype(np.float32)
    stream = Stream(error, 1 << 20)
    for part in np.split(values, 6):
        local = Stream(error, len(part) + 1)
        local.push_values(part, ones(part))
        stream.push(summary_of(local.finish().rows()))
    found = stream.finish().quantiles(10)
    ranks = np.searchsorted(np.sort(values), found) / len(values)
    np.testing.assert_allclose(ranks, np.linspace(0, 1, 11), atol=2 * error)


def test_compressing_keeps_both_ends():
    values = np.arange(1000, dtype=np.float32)
    summary = exact(values, ones(values)).compress(20)
    assert summary.size <= 40
    assert summary.value[0] == 0 and summary.value[-1] == 999
    assert summary.error <= 2 / 20


def test_values_without_weight_are_left_out():
    stream = Stream(0.1, 10)
    stream.push_values(np.float32([1, 2, 3]), np.float32([1, 0, -1]))
    assert stream.finish().rows().tolist() == [[1, 1, 0, 1]]
    with pytest.raises(InvalidArgumentError, match="only be called once"):
        stream.finish()


def test_sizes_of_levels():
    assert specification(0.01, 1 << 40) == (29, 2801)
    assert specification(0.0, 7) == (1, 7)
    with pytest.raises(InvalidArgumentError, match="epsilon"):
        Stream(0.0, 7)


def test_nothing_has_no_quantiles():
    assert EMPTY.quantiles(4).tolist() == EMPTY.boundaries(4).tolist() == []
    assert EMPTY.error == 0.0


@pytest.mark.parametrize("count", [1, 2, 41, 42, 43, 3000])
@pytest.mark.parametrize("kind", ["random", "ties", "zeros", "descending"])
def test_levels_are_those_of_pushing_block_by_block(count, kind):
    random = np.random.RandomState(count)
    values = {
        "random": random.randn(count), "ties": random.randint(-3, 3, count),
        "zeros": random.choice([-0.0, 0.0, np.inf, -np.inf], count),
        "descending": -np.arange(count),
    }[kind].astype(np.float32)  # fmt: skip
    weights = random.choice([0.0, -1.0, 0.1, 3.0, 1e10], count).astype(np.float32)
    at_once, by_blocks = Stream(0.1, count + 1), Stream(0.1, count + 1)
    at_once.push_values(values, weights)
    by_blocks._levels_of = lambda *_: []
    by_blocks.push_values(values, weights)
    for one, other in zip(at_once.levels, by_blocks.levels, strict=True):
        assert one.rows().tobytes() == other.rows().tobytes()


def test_what_is_no_number_comes_last(either_way):
    stream = Stream(0.1, 100)
    stream.push_values(np.float32([2, np.nan, 1]), ones([0, 0, 0]))
    np.testing.assert_array_equal(stream.finish().value, np.float32([1, 2, np.nan]))


def test_later_values_join_the_levels(either_way):
    stream = Stream(0.1, 1000)
    for start in (0, 100):
        stream.push_values(np.arange(start, start + 100, dtype=np.float32), ones(range(100)))
    found = stream.finish()
    assert found.value[0] == 0 and found.value[-1] == 199 and found.high[-1] == 200
