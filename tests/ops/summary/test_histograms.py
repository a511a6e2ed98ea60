"""Histograms counted many numbers at a time, against the definition one by one."""

from __future__ import annotations

import bisect

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow.ops.summary import buckets
from stillflow.ops.summary.histograms import TaggedHistograms, histogram_summary
from stillflow.protos import HistogramProto, Summary

pytestmark = pytest.mark.usefixtures("either_way")


def histogram(values):
    """Return the histogram in a summary, serialized again."""
    (value,) = Summary.FromString(histogram_summary(b"tag", values, "h")).value
    assert value.tag == "tag"
    return value.histo.SerializeToString()


def one_by_one(values):
    limits = buckets.bucket_limits().tolist()
    counts = [0] * len(limits)
    total = squares = 0.0
    for value in values.astype(np.float64).tolist():
        counts[min(bisect.bisect_right(limits, value), len(limits) - 1)] += 1
        total += value
        squares += value * value
    return total, squares, counts


def numbers(dtype, seed=0):
    rng = np.random.RandomState(seed)
    near = buckets.bucket_limits()[1:-1]
    with np.errstate(over="ignore"):
        edges = np.concatenate([near, np.nextafter(near, 0), near.astype(np.float32)])
        spread = rng.randn(4000) * 10.0 ** rng.uniform(-14, 14, 4000)
        ends = np.array([np.finfo(dtype).max, np.finfo(dtype).tiny, 0.0])
        values = np.concatenate([edges, spread, ends, -ends]).astype(dtype)
    return rng.permutation(values[np.isfinite(values)])


@pytest.mark.parametrize("count", [1, 700, 3000, None])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_every_number_falls_into_its_bucket(dtype, count):
    values = numbers(dtype)[:count]
    found = HistogramProto.FromString(histogram(values))
    total, squares, counts = one_by_one(values)
    assert (found.num, found.min, found.max) == (values.size, values.min(), values.max())
    assert (found.sum, found.sum_squares) == (total, squares)
    by_limit = dict(zip(found.bucket_limit, found.bucket))
    for limit, count in zip(buckets.bucket_limits().tolist(), counts):
        assert by_limit.get(limit, 0) == count


def test_many_numbers_are_counted_and_added_one_after_the_other():
    values = numbers(np.float32)[np.arange(3 * buckets._CACHED) % 4000]
    found = HistogramProto.FromString(histogram(values))
    total, squares, counts = one_by_one(values)
    assert (found.sum, found.sum_squares) == (total, squares)
    assert [count for count in found.bucket if count] == [count for count in counts if count]


@pytest.mark.parametrize("tag", [b"", b"a", b"long" * 100])
@pytest.mark.parametrize("count", [0, 3])
def test_fields_that_are_zero_are_left_out(tag, count):
    found = histogram_summary(tag, np.zeros(count, np.float32), "h")
    (value,) = Summary.FromString(found).value
    assert found == Summary.FromString(found).SerializeToString()
    assert (value.tag.encode(), value.histo.num) == (tag, count)


def test_several_at_once_are_as_each_alone(either_way):
    if either_way == "plain":
        pytest.skip("only the loop in C takes several")
    sizes = [3, 0, 70000, 5000, 1, 40000, 32768]  # less and more than one thread counts at a time
    rng = np.random.RandomState(0)
    vectors = [rng.randn(size).astype("f") * 10.0 ** rng.randint(-6, 6) for size in sizes]
    vectors[3] = vectors[3].astype(np.float16)
    tags = [b"t" * number for number in range(len(sizes))]
    alone = [histogram_summary(tag, vector, "h") for tag, vector in zip(tags, vectors)]
    together, tensors = TaggedHistograms(tags), [torch.from_numpy(each) for each in vectors]
    assert together(tensors) == alone
    tensors[2][60000] = np.nan
    assert together(tensors) == [b"" if i == 2 else each for i, each in enumerate(alone)]


@pytest.mark.parametrize("count", [2, 2000])
def test_the_last_bucket_takes_the_largest_number_there_is(count):
    found = HistogramProto.FromString(histogram(np.full(count, np.finfo("d").max)))
    assert (found.bucket[-1], found.sum, found.sum_squares) == (count, np.inf, np.inf)


@pytest.mark.parametrize("dtype", [np.int8, np.uint64, np.int64])
def test_integers_are_counted_as_doubles(dtype):
    values = np.array([0, 1, 7, np.iinfo(dtype).max, np.iinfo(dtype).min], dtype)
    found = HistogramProto.FromString(histogram(values))
    assert found.max == float(np.iinfo(dtype).max)
    assert sum(found.bucket) == found.num == 5


@pytest.mark.parametrize(
    "bad, what", [(np.nan, "Nan"), (np.inf, "Infinity"), (-np.inf, "Infinity")]
)
def test_the_first_that_is_not_finite_is_named(bad, what):
    values = np.array([1.0, bad, np.nan, np.inf], np.float32)
    message = f"^{what} in summary histogram for: h"
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        histogram(values)
