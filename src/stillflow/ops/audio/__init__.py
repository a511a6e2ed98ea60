"""Sound: WAV files, spectrograms, cepstral coefficients, features of speech in whole numbers."""

from __future__ import annotations
