"""Sound: WAV files, spectrograms, cepstral coefficients."""

from __future__ import annotations

import numpy as np
from tests.golden.registry import Run, program


def sound(frames, channels):
    steps = np.arange(frames * channels, dtype=np.float64).reshape(frames, channels)
    return (0.6 * np.sin(steps * 0.7) + 0.3 * np.sin(steps * 0.11)).astype(np.float32)


@program
def wav_files(tf):
    audio = tf.placeholder(tf.float32, [None, None], name="audio")
    contents = tf.audio.encode_wav(audio, 16000, name="written")
    fetches = {"contents": contents}
    for channels, samples in ((-1, -1), (1, 10), (3, 40), (2, -1)):
        decoded = tf.audio.decode_wav(contents, channels, samples)
        fetches[f"{channels}_{samples}"] = list(decoded)
    return [Run(fetches, {audio: sound(30, 2)}), Run(fetches, {audio: 2 * sound(7, 1)})]


@program
def spectrograms_and_cepstral_coefficients(tf):
    # One channel: with several, TensorFlow mistakes the rest of one for the next.
    audio = tf.constant(sound(2000, 1))
    rate = tf.constant(16000)
    fetches = {}
    for window, stride in ((480, 160), (512, 300)):
        spectrogram = tf.raw_ops.AudioSpectrogram(
            input=audio, window_size=window, stride=stride, magnitude_squared=True
        )
        fetches[window] = [
            spectrogram,
            tf.raw_ops.AudioSpectrogram(input=audio, window_size=window, stride=stride),
            tf.raw_ops.Mfcc(spectrogram=spectrogram, sample_rate=rate),
            tf.raw_ops.Mfcc(
                spectrogram=spectrogram, sample_rate=rate, upper_frequency_limit=7500.0,
                lower_frequency_limit=100.0, filterbank_channel_count=24, dct_coefficient_count=24,
            ),
        ]  # fmt: skip
    return Run(fetches)
