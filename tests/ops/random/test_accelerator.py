"""Draws on accelerators: equal to those on the host; here the device is the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from stillflow.ops.random import accelerator, distributions, draws
from stillflow.ops.random.accelerator import position
from stillflow.ops.random.distributions import NORMAL, TRUNCATED_NORMAL, UNIFORM, Distribution
from stillflow.ops.random.philox import Philox

STREAMS = [Philox.from_seeds(5, 6), Philox(7, 2**64 - 200, 2**64 - 1), Philox(8, 2**32 - 3, 0)]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize("stream", STREAMS)
def test_uniform_draws_are_equal(stream: Philox, dtype: str) -> None:
    host = UNIFORM.on_host(stream, 103, dtype, 1)
    np.testing.assert_array_equal(UNIFORM.on_device(position(stream), 103, dtype).numpy(), host)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("what", [NORMAL, TRUNCATED_NORMAL])
@pytest.mark.parametrize("stream", STREAMS)
def test_normal_draws_agree(stream: Philox, what: Distribution, dtype: str) -> None:
    host = what.on_host(stream, 1003, dtype, 1)
    device = what.on_device(position(stream), 1003, dtype).numpy()
    assert device.dtype == host.dtype
    tolerance = 2e-6 if dtype == "float32" else 1e-13
    np.testing.assert_allclose(device, host, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(("low", "high"), [(0, 7), (-5, 2**31 - 1), (-(2**31), 2**31 - 1)])
def test_integers_are_equal(low: int, high: int) -> None:
    stream = STREAMS[0]
    host = draws.uniform_int32(stream, 103, low, high)
    device = accelerator.uniform_int32(position(stream), 103, low, high).numpy()
    np.testing.assert_array_equal(device, host)


@pytest.mark.parametrize("what", [UNIFORM, NORMAL, TRUNCATED_NORMAL])
def test_nothing_is_drawn_for_an_empty_shape(what: Distribution) -> None:
    assert what.on_device(position(STREAMS[0]), 0, "float32").shape == (0,)


def test_operations_draw_on_accelerators(monkeypatch: pytest.MonkeyPatch) -> None:
    used: list[Any] = []
    real = accelerator.uniform
    monkeypatch.setattr(distributions, "is_accelerator", lambda device: True)
    monkeypatch.setattr(accelerator, "uniform", lambda *args: used.append(args) or real(*args))
    value = distributions.drawn(UNIFORM, STREAMS[0], (3, 4), "float16", "cpu")
    assert used
    assert str(value.dtype) == "torch.float16"
    assert value.shape == (3, 4)
