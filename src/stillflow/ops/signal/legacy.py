"""Fourier transforms by the names that they have in graphs of 2016."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph.card import Card, op
from stillflow.ops.samples import Sample
from stillflow.ops.signal.fourier import (
    fft2d_op,
    fft3d_op,
    fft_op,
    ifft2d_op,
    ifft3d_op,
    ifft_op,
)


def _samples(rank: int) -> Callable[[], Any]:
    values = np.random.RandomState(0).randn(2, *[4, 3, 2][:rank])
    return lambda: iter([Sample((values + 1j * values[::-1]).astype(np.complex64), grad=False)])


def _old_card(today: Card, rank: int) -> Card:
    card = op(f"Batch{today.name}(input: complex64) -> output: complex64")
    assert today.shape_part is not None and today.kernel_part is not None
    card.shape(today.shape_part)
    card.kernel(today.kernel_part)
    card.samples(_samples(rank))
    return card


for _today, _rank in (
    (fft_op, 1), (fft2d_op, 2), (fft3d_op, 3), (ifft_op, 1), (ifft2d_op, 2), (ifft3d_op, 3)
):  # fmt: skip
    _old_card(_today, _rank)
