"""Fourier transforms and other signal processing."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program

SIGNAL = np.sin(np.arange(16) * 0.9).astype(np.float32)


@program(rtol=1e-4, atol=1e-5, reason="sums of an FFT are taken in another order")
def fourier_transforms(tf):
    x = tf.placeholder(tf.float32, [None, 8])
    z = tf.complex(x, x * 0.5)
    half = tf.signal.rfft(x)
    fetches = {
        "fft": tf.fft(z),
        "ifft": tf.ifft(z),
        "fft2d": tf.fft2d(z),
        "fft3d": tf.spectral.fft3d(tf.reshape(z, [1, 2, 2, 4])),
        "rfft": half,
        "irfft": tf.signal.irfft(half),
        "rfft_length": tf.spectral.rfft(x, [6]),
        "rfft2d": tf.spectral.rfft2d(x),
        "irfft2d": tf.spectral.irfft2d(tf.spectral.rfft2d(x)),
        "gradient": tf.gradients(tf.abs(half), x),
        "fft_gradient": tf.gradients(tf.abs(tf.fft(z)), x),
    }
    return Run(fetches, {x: SIGNAL.reshape(2, 8)})


@program(rtol=1e-4, atol=1e-5, reason="sums of an FFT are taken in another order")
def short_time_fourier_transform(tf):
    x = tf.placeholder(tf.float32, [None])
    stft = tf.signal.stft(x, frame_length=8, frame_step=4)
    fetches = {
        "frames": tf.signal.frame(x, 6, 3),
        "padded": tf.signal.frame(x, 6, 4, pad_end=True, pad_value=-1.0),
        "hann": tf.signal.hann_window(8),
        "hamming": tf.signal.hamming_window(5, periodic=False),
        "stft": stft,
        "inverse": tf.signal.inverse_stft(stft, 8, 4),
        "overlap": tf.signal.overlap_and_add(tf.signal.frame(x, 4, 2), 2),
        "mel": tf.signal.linear_to_mel_weight_matrix(4, 5, 8000, 125.0, 3800.0),
        "dct": tf.signal.dct(x, type=2, norm="ortho"),
        "mfccs": tf.signal.mfccs_from_log_mel_spectrograms(tf.reshape(x, [4, 4])),
    }
    return Run(fetches, {x: SIGNAL})
