"""Fourier transforms of real signals, padded or cropped to a length, and shifts of spectra."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.constant_value import partial_shape
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays import fill
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.pad import pad
from stillflow.ops.arrays.reverse import roll
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import expand_dims, reshape, shape
from stillflow.ops.arrays.shape import rank as rank_of
from stillflow.ops.arrays.splitting import unstack
from stillflow.ops.arrays.stack import stack
from stillflow.ops.arrays.tile import tile
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.math.binary import maximum
from stillflow.ops.math.cast import cast
from stillflow.ops.math.complex import conj, real
from stillflow.ops.math.division import floormod
from stillflow.ops.math.unary import exp, reciprocal
from stillflow.ops.signal import fourier


def _default_length(x: Any, rank: int, inverse: bool) -> Tensor:
    """Return the sizes of the transformed dimensions, of the real side."""
    sizes = x.shape[-rank:]
    known = sizes.is_fully_defined()
    lengths: Any = sizes.as_list() if known else shape(x)[-rank:]
    if inverse:
        larger = max if known else maximum
        *outer, half = lengths if known else unstack(lengths)
        lengths = [*outer, larger(0, 2 * (half - 1))]
        if not known:
            return stack(lengths)
    return convert_to_tensor(lengths, dtypes.int32)


def _padded(x: Any, rank: int, length: Any, inverse: bool) -> Any:
    """`x` with zeros appended where a transform of the given length needs more."""
    length.shape.with_rank(1)
    given = x._dims
    if given is not None and 0 in given:
        return x
    wanted = partial_shape(length)
    if wanted is not None and None not in wanted and given is not None:
        inner = given[-len(wanted) :] if wanted else ()
        if None not in inner:
            if inverse:
                wanted = (*wanted[:-1], wanted[-1] // 2 + 1)  # type: ignore[operator]
            missing = [[0, max(w - i, 0)] for w, i in zip(wanted, inner, strict=False)]
            if not any(after for _, after in missing):
                return x
            return pad(x, [[0, 0]] * max(len(given) - len(wanted), 0) + missing)
    return _padded_at_run_time(x, rank, length, inverse)


def _padded_at_run_time(x: Any, rank: int, length: Any, inverse: bool) -> Tensor:
    whole_rank = rank_of(x)
    inner = shape(x)[-rank:]
    outer = fill.zeros([maximum(0, whole_rank - rank)], length.dtype)
    if inverse:
        length = concat([length[:-1], length[-1:] // 2 + 1], 0)
    after = concat([outer, maximum(0, length - inner)], 0)
    return pad(x, stack([fill.zeros_like(after), after], axis=1))


def _real_transform(card: Any, rank: int, text: str) -> Callable[..., Tensor]:
    default_name = card.name.lower()
    inverse = default_name.startswith("i")
    dtype = dtypes.complex64 if inverse else dtypes.float32

    def transform(input_tensor: Any, fft_length: Any = None, name: str | None = None) -> Tensor:
        with name_scope(name, default_name, [input_tensor, fft_length]) as scope:
            x = convert_to_tensor(input_tensor, dtype)
            x.shape.with_rank_at_least(rank)
            if fft_length is not None:
                fft_length = convert_to_tensor(fft_length, dtypes.int32)
            else:
                fft_length = _default_length(x, rank, inverse)
            x = _padded(x, rank, fft_length, inverse)
            return card(x, fft_length, name=scope)

    transform.__name__ = transform.__qualname__ = default_name
    transform.__doc__ = text + (
        "\n\n    Args:\n      input_tensor: complex64 or float32.\n      fft_length: int32, one"
        " size per dimension; the input is cropped or padded with zeros to it.\n"
    )
    return transform


rfft = _real_transform(fourier.rfft_op, 1, "The spectrum of a real signal, its first half.")
irfft = _real_transform(fourier.irfft_op, 1, "The real signal of half a spectrum.")
rfft2d = _real_transform(fourier.rfft2d_op, 2, "`rfft` over two dimensions.")
irfft2d = _real_transform(fourier.irfft2d_op, 2, "`irfft` over two dimensions.")
rfft3d = _real_transform(fourier.rfft3d_op, 3, "`rfft` over three dimensions.")
irfft3d = _real_transform(fourier.irfft3d_op, 3, "`irfft` over three dimensions.")
export("signal.rfft", "spectral.rfft")(rfft)
export("signal.irfft", "spectral.irfft")(irfft)
export("signal.rfft2d", "spectral.rfft2d")(rfft2d)
export("signal.irfft2d", "spectral.irfft2d")(irfft2d)
export("signal.rfft3d", "spectral.rfft3d")(rfft3d)
export("signal.irfft3d", "spectral.irfft3d")(irfft3d)


# ---- gradients, which pad again


def _alternating(length: Any) -> Tensor:
    return cast(1 - 2 * (range_(length) % 2), dtypes.complex64)


def _extra_terms(x_shape: Any, grad: Any, is_even: Any) -> Tensor:
    """Return the terms of the first and last frequencies missing in half of the inverse."""
    first = grad[..., 0:1]
    last = grad[..., -1:]
    return first + is_even * last * _alternating(x_shape[-1])


def _extra_terms_2d(x_shape: Any, grad: Any, is_even: Any) -> Tensor:
    first = grad[..., 0:1]
    rows = x_shape[-2]
    counts = tile(expand_dims(range_(rows), 0), (rows, 1))
    transposed = transpose(counts, [1, 0])
    waves = exp(
        -2j * np.pi * cast(counts * transposed, dtypes.complex64) / cast(rows, dtypes.complex64)
    )
    ones = fill.ones([rank_of(first) - 2], dtypes.int32)
    expanded = reshape(waves, concat([ones, shape(waves)], 0))
    tiled = tile(expanded, concat([shape(first)[:-2], [1, 1]], 0))
    total = matmul(tiled, conj(first))
    term = matmul(tiled, conj(grad[..., -1:]))
    columns = x_shape[-1]
    multiples = concat([fill.ones([rank_of(grad) - 1], dtypes.int32), [columns]], 0)
    term = tile(term, multiples) * _alternating(columns)
    return total + is_even * term


def _rfft_gradient(node: Node, grad: Any, rank: int) -> list[Tensor | None]:
    x, length = node.inputs
    x_shape = shape(x)
    is_even = cast(1 - (length[-1] % 2), dtypes.complex64)
    terms = (_extra_terms if rank == 1 else _extra_terms_2d)(x_shape, grad, is_even)
    size = cast(fourier.transform_size(x, rank), dtypes.float32)
    inverse: Any = (irfft if rank == 1 else irfft2d)(grad, length)
    return [0.5 * (inverse * size + real(terms)), None]


def _irfft_gradient(node: Node, grad: Any, rank: int) -> list[Any]:
    x, length = node.inputs
    is_odd = floormod(length[-1], 2)
    columns = shape(x)[-1]
    inner = 2.0 * fill.ones([columns - 2 + is_odd])
    mask = concat([[1.0], inner, fill.ones([1 - is_odd])], 0)
    share = reciprocal(cast(fourier.transform_size(grad, rank), dtypes.float32))
    spectrum: Any = (rfft if rank == 1 else rfft2d)(grad, length)
    return [spectrum * cast(share * mask, dtypes.complex64), None]


fourier.rfft_op.gradient(partial(_rfft_gradient, rank=1))
fourier.rfft2d_op.gradient(partial(_rfft_gradient, rank=2))
fourier.irfft_op.gradient(partial(_irfft_gradient, rank=1))
fourier.irfft2d_op.gradient(partial(_irfft_gradient, rank=2))


# ---- shifts


def _shift(x: Any, axes: Any, name: str | None, default_name: str, sign: int) -> Tensor:
    with name_scope(name, default_name) as scope:
        x = convert_to_tensor(x)
        shift: Any
        if axes is None:
            axes = tuple(range(x.shape.ndims))
        if isinstance(axes, int):
            shift = sign * int(x.shape[axes] // 2)
        else:
            shift = [sign * int(x.shape[axis] // 2) for axis in axes]
        return roll(x, shift, axes, scope)


@export("signal.fftshift")
def fftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """Move frequency zero to the middle along `axes` (all by default)."""
    return _shift(x, axes, name, "fftshift", 1)


@export("signal.ifftshift")
def ifftshift(x: Any, axes: Any = None, name: str | None = None) -> Tensor:
    """Return the inverse of `fftshift`."""
    return _shift(x, axes, name, "ifftshift", -1)
