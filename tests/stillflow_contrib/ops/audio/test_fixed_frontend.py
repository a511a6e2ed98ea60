"""Features of speech are the same by the loop in C and without it."""

from __future__ import annotations

import numpy as np
import pytest

from stillflow import native
from stillflow_contrib.ops.audio.fixed_frontend import Frontend, Settings

SETTINGS = Settings(
    sample_rate=16000, window_size=400, window_step=160, num_channels=32,
    upper_band_limit=7500.0, lower_band_limit=125.0, smoothing_bits=10, even_smoothing=0.025,
    odd_smoothing=0.06, min_signal_remaining=0.05, enable_pcan=False, pcan_strength=0.95,
    pcan_offset=80.0, gain_bits=21, enable_log=True, scale_shift=6,
)  # fmt: skip


def sounds():
    random, count = np.random.RandomState(0), 4000
    yield np.sin(np.arange(count) * 0.3) * np.linspace(0, 9000, count)
    yield random.randint(-32768, 32768, count)
    yield random.choice([-32768, 32767], count)
    yield random.randint(-3, 4, count)
    yield np.zeros(count)
    yield np.ones(SETTINGS.window_size)  # one window
    yield np.ones(SETTINGS.window_size - 1)


@pytest.mark.parametrize("more", [
    {}, {"enable_pcan": True}, {"enable_log": False}, {"enable_log": False, "enable_pcan": True},
    {"window_size": 160, "window_step": 77, "num_channels": 20},  # halves, not quarters
    {"window_size": 1000, "num_channels": 40, "even_smoothing": 0.9, "scale_shift": 9},
    {"window_size": 30, "num_channels": 3, "upper_band_limit": 6000.0, "smoothing_bits": 7},
], ids=str)  # fmt: skip
def test_features_are_the_same(more, monkeypatch):
    frontend, given = Frontend(SETTINGS._replace(**more)), [x.astype(np.int16) for x in sounds()]
    found = [frontend.frames(each) for each in given]
    monkeypatch.setattr(native, "library", lambda: None)
    for each, features in zip(given, found, strict=True):
        np.testing.assert_array_equal(features, frontend.frames(each))


def test_settings_beyond_the_loop_are_computed_without_it():
    frontend = Frontend(SETTINGS._replace(smoothing_bits=40))
    assert frontend._numbers is None
    assert frontend.frames(np.ones(400, np.int16)).shape == (1, 32)
