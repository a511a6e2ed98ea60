"""Losses of connectionist temporal classification by a loop in C, a sequence on each thread."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from itertools import accumulate, chain
from typing import Any

import numpy as np

from stillflow import native
from stillflow.graph.lazy import torch


class _Sequences(ctypes.Structure):
    """`Sequences` of native/ctc.c."""

    _fields_ = [
        ("time", ctypes.c_int64), ("batch", ctypes.c_int64), ("classes", ctypes.c_int64),
        ("lengths", ctypes.c_void_p), ("labels", ctypes.c_void_p), ("ends", ctypes.c_void_p),
        ("merge", ctypes.c_int64),
    ]  # fmt: skip


def loss_and_gradient(
    logits: np.ndarray, labels: Sequence[Sequence[int]], lengths: np.ndarray, merge_repeated: bool
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return `ctc_lattice.loss_and_gradient`; None without a native loop or memory.

    Args:
      logits: [time, batch, classes]; the last class is the blank.
      labels: of each sequence, each of a class.
      lengths: [batch]; what has no steps costs nothing.
      merge_repeated: whether a label that stays counts once.
    """
    library = native.library()
    if library is None or logits.dtype != np.float32:
        return None
    logits, steps = np.ascontiguousarray(logits), np.ascontiguousarray(lengths, np.int64)
    flat = np.fromiter(chain.from_iterable(labels), np.int64)
    ends = np.fromiter(accumulate(map(len, labels), initial=0), np.int64)
    losses, gradient = np.zeros(logits.shape[1], np.float32), np.zeros_like(logits)
    sequences = _Sequences(
        *logits.shape, steps.ctypes.data, flat.ctypes.data, ends.ctypes.data, merge_repeated
    )
    pointers: list[Any] = [each.ctypes.data for each in (logits, losses, gradient)]
    failed = library.ctc_losses(ctypes.byref(sequences), *pointers, torch.get_num_threads())
    return None if failed else (losses, gradient)
