"""AudioMicrofrontend: features of speech in whole numbers."""

import numpy as np
from tests.golden.registry import Run, program, raised


def _frontend(tf):
    from importlib import import_module

    root = "stillflow_contrib.lite" if "stillflow" in tf.__name__ else (
        "tensorflow.lite.experimental.microfrontend.python.ops")
    name = ".audio_microfrontend" if "stillflow" in root else ".audio_microfrontend_op"
    return import_module(root + name).audio_microfrontend


def _sound(samples, rate=16000, seed=0):
    """Return a tone that rises and swells, with noise."""
    t = np.arange(samples) / float(rate)
    tone = np.sin(2 * np.pi * (300 + 900 * t) * t) * np.minimum(1, 3 * t) * 12000
    noise = np.random.RandomState(seed).randint(-300, 300, samples)
    return (tone + noise).astype(np.int16)


@program
def usual_features(tf):
    x = tf.placeholder(tf.int16, [None], "x")
    y = _frontend(tf)(x)
    return [Run({"y": y}, {x: _sound(n, seed=n)}) for n in (16000, 400, 399, 1000)]


@program
def loud_and_silent(tf):
    frontend = _frontend(tf)
    x = tf.placeholder(tf.int16, [3000], "x")
    y = frontend(x)
    square = np.where(np.arange(3000) // 40 % 2, 32767, -32768).astype(np.int16)
    return [Run({"y": y}, {x: value}) for value in (
        square, np.zeros(3000, np.int16), np.ones(3000, np.int16), _sound(3000) // 1000)]


@program
def settings(tf):
    frontend = _frontend(tf)
    x = tf.constant(_sound(6000))
    variants = {
        "no_gain": {"enable_pcan": False},
        "no_log": {"enable_log": False},
        "bare": {"enable_pcan": False, "enable_log": False, "out_type": tf.float32, "out_scale": 3},
        "context": {"left_context": 2, "right_context": 1, "frame_stride": 3},
        "zeros": {"left_context": 1, "right_context": 2, "zero_padding": True, "out_scale": 10},
        "windows": {"window_size": 30, "window_step": 20, "num_channels": 40},
        "slow": {"sample_rate": 8000, "upper_band_limit": 3800.0, "lower_band_limit": 80.0,
                 "num_channels": 20},
        "smoothing": {"smoothing_bits": 8, "even_smoothing": 0.1, "odd_smoothing": 0.2,
                      "min_signal_remaining": 0.2, "scale_shift": 5},
        "gain": {"pcan_strength": 0.8, "pcan_offset": 40.0, "gain_bits": 20},
    }
    return Run({name: frontend(x, **given) for name, given in sorted(variants.items())})


@program
def shapes_of_sound(tf):
    frontend = _frontend(tf)
    x = tf.reshape(tf.constant(_sound(4000)), [2, 2000])
    unknown = tf.placeholder(tf.int16)
    return Run({"flat": frontend(x)}, facts={"unknown": raised(frontend, unknown)})


@program
def bands_above_the_highest_frequency(tf):
    x = tf.constant(_sound(4000))
    return Run({"y": _frontend(tf)(x, upper_band_limit=8000.0)}, fails=True)
