"""Histograms that a GPU, real or simulated, counts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from stillflow import native
from stillflow.ops.summary import device_histograms
from stillflow.ops.summary.device_histograms import ByOperations, DeviceHistograms, extremes
from stillflow.ops.summary.histograms import TaggedHistograms
from stillflow.protos import Summary

pytestmark = [
    pytest.mark.usefixtures("cuda"),
    pytest.mark.skipif(native.library() is None, reason="nothing is counted in C"),
]


def shown():
    random = np.random.RandomState(0)
    wide = random.randn(5000) * 10.0 ** random.randint(-15, 25, 5000)
    arrays = [wide, random.randn(7, 300), np.zeros((3, 0)), np.zeros(2000), [-0.0], [3e38, -3e38]]
    return [torch.from_numpy(np.asarray(array, np.float32)) for array in arrays]


def messages(values, device="cuda:0"):
    tags = [str(number).encode() for number in range(len(values))]
    if device is None:
        return TaggedHistograms(tags)(values)
    counted = DeviceHistograms(torch.device(device))(*[value.to(device) for value in values])
    return TaggedHistograms(tags).of_counts(counted.cpu())


def histograms(found):
    return [Summary.FromString(message).value[0] for message in found]


@pytest.mark.parametrize("at_once", [None, 1 << 21, 2048, 100])
def test_a_device_counts_as_the_host_does(monkeypatch, at_once):
    if at_once is not None:  # without the kernel
        monkeypatch.setattr(device_histograms, "_kernel", lambda device: None)
        monkeypatch.setattr(device_histograms, "_AT_ONCE", at_once)
    values = shown()
    for mine, plain in zip(histograms(messages(values)), histograms(messages(values, None))):
        assert mine.tag == plain.tag
        assert mine.histo.bucket == plain.histo.bucket
        assert mine.histo.bucket_limit == plain.histo.bucket_limit
        for field in ("min", "max", "num", "sum", "sum_squares"):
            wanted = pytest.approx(getattr(plain.histo, field), rel=1e-12)
            assert getattr(mine.histo, field) == wanted, field


def test_halves_and_views_are_counted():
    values = [torch.arange(12.0).reshape(3, 4).t(), torch.arange(5.0).half(), torch.ones(9)[::2]]
    plain = [values[0].contiguous(), values[1], values[2].contiguous()]
    assert messages(values) == messages(plain, None)


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_gives_no_message(number):
    values = [torch.ones(3), torch.tensor([1.0, number, 2.0]), torch.ones(2)]
    found = messages(values)
    assert [bool(message) for message in found] == [True, False, True]
    there = DeviceHistograms(torch.device("cuda:0"))(*[value.to("cuda:0") for value in values])
    rows = extremes(there.cpu(), len(values))
    assert rows.shape == (3, 2)
    assert np.isfinite(rows[[0, 2]]).all()
    assert not np.isfinite(rows[1]).all()


def test_the_kernel_is_taken_where_it_counts_as_torch_does(cuda):
    device = torch.device("cuda:0")
    assert (device_histograms._kernel(device) is not None) == (cuda == "real")
    assert device_histograms.is_right(ByOperations(device), device)


@pytest.mark.parametrize("place", [0, -1, -5000])
def test_other_counts_are_not_taken_for_right(place):
    device = torch.device("cuda:0")

    def others(vectors):
        counted = ByOperations(device)(vectors)
        counted[place] += 1 << 50
        return counted

    assert not device_histograms.is_right(others, device)
