"""Run-time values as NumPy arrays; strings that are fed as bytes, and given back as written."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np


def to_array(value: Any) -> np.ndarray:
    """Return a run-time value as a numpy array, sharing memory where possible."""
    if isinstance(value, np.ndarray):
        return value
    try:
        return value.numpy()
    except (RuntimeError, TypeError):  # on a GPU, or NumPy does not know it
        return _carried_over(value)


def _carried_over(value: Any) -> np.ndarray:
    if str(value.dtype) == "torch.bfloat16":
        import ml_dtypes
        import torch

        bits: np.ndarray = value.contiguous().view(torch.int16).cpu().numpy()
        return bits.view(ml_dtypes.bfloat16)
    if value.is_conj() or value.is_neg():
        value = value.resolve_conj().resolve_neg()
    array: np.ndarray = value.cpu().numpy()
    return array


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
