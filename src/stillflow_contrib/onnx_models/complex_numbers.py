"""Forms of operations on complex numbers, which are pairs of numbers in a last axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow_contrib.onnx_models.nodes import Nodes, form


def _part(o: Nodes, value: str, place: int) -> str:
    return str(o.Gather(value, np.int64(place), axis=-1))


def _pair(o: Nodes, real: str, imaginary: str) -> str:
    return str(o.Concat(o.Unsqueeze(real, [-1]), o.Unsqueeze(imaginary, [-1]), axis=-1))


@form("Complex", complex_numbers=True)
def complex_(o: Nodes) -> str:
    return _pair(o, o.x, o.y)


@form("Real", "Imag", complex_numbers=True)
def part(o: Nodes) -> str:
    return _part(o, o.x, int(o.op.type == "Imag"))


@form("Conj", complex_numbers=True)
def conjugate(o: Nodes) -> str:
    return str(o.Mul(o.x, np.array([1, -1], _kind(o))))


@form("ComplexAbs", complex_numbers=True)
def absolute(o: Nodes) -> str:
    return str(o.ReduceL2(o.x, [-1], keepdims=0))


def _kind(o: Nodes) -> Any:
    return np.float64 if "complex128" in (o.T, o.out) else np.float32


def _transformed(o: Nodes, value: str, axis: int, **options: int) -> str:
    """Return the discrete Fourier transform along an axis, of pairs or single numbers."""
    made = o.DFT(o.Unsqueeze(value, [0]), "", np.int64(axis + 1), **options)
    return str(o.Squeeze(made, [0]))


@form("FFT", "FFT2D", "FFT3D", "IFFT", "IFFT2D", "IFFT3D", complex_numbers=True)
def transform(o: Nodes) -> str:
    made, rank = o.x, o.rank()
    count = int(o.op.type[-2]) if o.op.type.endswith("D") else 1
    for axis in range(rank - count, rank):
        made = _transformed(o, made, axis, inverse=int(o.op.type.startswith("I")))
    return str(made)


@form("RFFT", "RFFT2D", "RFFT3D", complex_numbers=True)
def real_transform(o: Nodes) -> str:
    """Cut or fill the axes up to the wanted lengths, and transform the last one first."""
    rank, lengths = o.rank(), o.ints(1)
    axes = list(range(rank - len(lengths), rank))
    made = o.Slice(o.x, [0] * len(lengths), lengths, axes)
    missing = o.Sub(lengths, o.Shape(made, start=axes[0]))
    made = o.Pad(made, o.cat([0] * (rank + axes[0]), missing))
    made = _transformed(o, o.Unsqueeze(made, [-1]), rank - 1, onesided=1)
    for axis in reversed(axes[:-1]):
        made = _transformed(o, made, axis)
    return str(made)
