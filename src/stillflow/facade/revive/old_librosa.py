"""Functions of ``librosa.output``, which librosa 0.8 has removed."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np


def write_wav(path: Any, y: Any, sr: int, norm: bool = False) -> None:
    """Write `[samples]`, or `[2, samples]`, to a .wav file; `sr` is in Hertz.

    If `norm`, sound is scaled to a maximum of 1. ParameterError if `y` is no sound.
    """
    from scipy.io import wavfile

    util: Any = importlib.import_module("librosa.util")
    util.valid_audio(y)
    if norm and np.issubdtype(y.dtype, np.floating):
        y = util.normalize(y, norm=np.inf, axis=None)
    if y.ndim > 1 and y.shape[0] == 2:
        y = y.T
    wavfile.write(path, sr, y)
