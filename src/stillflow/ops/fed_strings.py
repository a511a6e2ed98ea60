"""Strings that are fed as bytes, and given back as the program wrote them."""

from __future__ import annotations

import weakref

import numpy as np


def as_fed(value: np.ndarray) -> np.ndarray:
    """Return fed strings as the program gave them, before encoding: TensorFlow fetches those."""
    owner = value.base
    if isinstance(owner, EncodedFeed) and owner.fed() is value:
        return owner.text
    return value


class EncodedFeed(np.ndarray):
    """Memory of strings that are fed as bytes, and the original strings."""

    text: np.ndarray
    fed: weakref.ref[np.ndarray]
