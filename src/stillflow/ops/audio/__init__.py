"""Sound: WAV files, spectrograms, cepstral coefficients."""

from __future__ import annotations
