"""Fourier transforms over the last one, two or three dimensions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims
from stillflow.graph.card import Card, op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.traits import Cost
from stillflow.ops.arrays.shape import shape
from stillflow.ops.math.cast import cast
from stillflow.ops.math.reductions import reduce_prod
from stillflow.ops.samples import Bad, Sample, Samples


def transform_size(x: Any, rank: int) -> Tensor:
    """Return the number of elements that one transform is over."""
    return reduce_prod(shape(x)[-rank:])


# ---- complex to complex


def _complex_op(name: str, rank: int) -> Card:
    card = op(
        f"{name}(input: Tcomplex) -> output: Tcomplex\n"
        "Tcomplex: {complex64, complex128} = complex64",
        cost=Cost("unknown"),
    )
    axes = tuple(range(-rank, 0))
    function = "ifftn" if name.startswith("I") else "fftn"

    def transform(x: Any) -> torch.Tensor:
        if x.numel() == 0:
            return x.clone()
        return getattr(torch.fft, function)(x, dim=axes)

    card.shape(partial(_complex_shape, rank=rank))
    card.kernel(lambda node: transform)
    card.samples(partial(_complex_samples, rank))
    return card


def _complex_shape(node: Node, rank: int) -> tuple[int | None, ...] | None:
    given = node.dims(0)
    if node.planning and given is not None and len(given) < rank:
        raise ValueError(
            f"Input must have rank of at least {rank} but got: {dims.to_string(given)}"
        )
    return dims.with_rank_at_least(node.dims(0), rank)


def _complex_samples(rank: int) -> Samples:
    random = np.random.RandomState(0)
    values = random.randn(2, *[4, 3, 2][:rank])
    yield Sample((values + 1j * values[::-1]).astype(np.complex64), grad=False)
    yield Sample(np.zeros((2, *[0, 3, 2][:rank]), np.complex128), grad=False)
    yield Bad(np.zeros((3,) * (rank - 1), np.complex64), match="must be at least rank")


def _forward_gradient(node: Node, grad: Any, inverse: Card, rank: int) -> Tensor:
    size = cast(transform_size(grad, rank), grad.dtype)
    return inverse(grad) * size


def _inverse_gradient(node: Node, grad: Any, forward: Card, rank: int) -> Any:
    size: Any = cast(transform_size(grad, rank), grad.dtype.real_dtype)
    return forward(grad) * cast(1.0 / size, grad.dtype)


def _pair(suffix: str, rank: int) -> tuple[Card, Card]:
    forward, inverse = _complex_op(f"FFT{suffix}", rank), _complex_op(f"IFFT{suffix}", rank)
    forward.gradient(partial(_forward_gradient, inverse=inverse, rank=rank))
    inverse.gradient(partial(_inverse_gradient, forward=forward, rank=rank))
    return forward, inverse


fft_op, ifft_op = _pair("", 1)
fft2d_op, ifft2d_op = _pair("2D", 2)
fft3d_op, ifft3d_op = _pair("3D", 3)


# ---- real to complex and back


def _lengths_shape(node: Node, rank: int, forward: bool) -> tuple[int | None, ...] | None:
    given = dims.with_rank_at_least(node.dims(0), rank)
    lengths = dims.with_rank(node.dims(1), 1)
    dims.with_value(lengths[0], rank)
    if given is None:
        return None
    value = node.value(1)
    sizes = [None] * rank if value is None else [None if size < 0 else int(size) for size in value]
    if forward and sizes[-1]:
        sizes[-1] = sizes[-1] // 2 + 1
    return (*given[:-rank], *sizes)


def _check_sizes(given: Any, lengths: list[int], forward: bool) -> None:
    """Raise an error for transforms that are longer than the input."""
    rank = len(lengths)
    for i, length in enumerate(lengths):
        length %= 1 << 64  # negative ones are taken for large ones
        least = length if forward or i < rank - 1 else length // 2 + 1
        axis = len(given) - rank + i
        if given[axis] != 0 and given[axis] < least:
            raise errors.invalid_argument(
                f"Input dimension {axis} must have length of at least {least} "
                f"but got: {given[axis]}"
            )


def _real_transform(x: Any, lengths: Any, forward: bool) -> torch.Tensor:
    sizes = [int(size) for size in lengths]
    if any(size < 0 for size in sizes) and 0 in x.shape[x.dim() - len(sizes) :]:
        raise errors.invalid_argument(f"fft_length must be >= 0, but got: {sizes}")
    _check_sizes(x.shape, sizes, forward)
    outer = list(x.shape[: x.dim() - len(sizes)])
    if x.numel() == 0 or 0 in sizes:
        last = sizes[-1] // 2 + 1 if forward and sizes[-1] else sizes[-1]
        dtype = torch.complex64 if forward else torch.float32
        return x.new_zeros([*outer, *sizes[:-1], last], dtype=dtype)
    function = torch.fft.rfftn if forward else torch.fft.irfftn
    return function(x, s=sizes, dim=tuple(range(-len(sizes), 0)))


def _real_kernel(node: Node, forward: bool) -> Call | Callable[..., Any]:
    lengths = node.value(1)
    if lengths is None:
        return partial(_real_transform, forward=forward)
    return node.call(_real_transform, node.inputs[0], lengths.tolist(), forward)


def _real_op(name: str, rank: int) -> Card:
    forward = name.startswith("R")
    types = ("float", "complex64") if forward else ("complex64", "float")
    card = op(
        f"{name}(input: {types[0]}, fft_length: int32) -> output: {types[1]}",
        numbers=("fft_length",),
        cost=Cost("unknown"),
    )
    card.shape(partial(_lengths_shape, rank=rank, forward=forward))
    card.kernel(partial(_real_kernel, forward=forward))
    card.samples(partial(_real_samples, rank, forward))
    return card


def _real_samples(rank: int, forward: bool) -> Samples:
    x = np.random.RandomState(0).randn(2, *[4, 4, 4][:rank]).astype(np.float32)
    lengths = np.array([4, 3, 4][:rank], np.int32)
    if forward:
        yield Sample(x, lengths, grad=False, fixed=(1,))
    else:
        yield Sample(x.astype(np.complex64), lengths, grad=False, fixed=(1,))
    value = x if forward else x.astype(np.complex64)
    yield Bad(value, np.zeros(rank + 1, np.int32), match="must be")


rfft_op, irfft_op = _real_op("RFFT", 1), _real_op("IRFFT", 1)
rfft2d_op, irfft2d_op = _real_op("RFFT2D", 2), _real_op("IRFFT2D", 2)
rfft3d_op, irfft3d_op = _real_op("RFFT3D", 3), _real_op("IRFFT3D", 3)


def _public(card: Card, text: str) -> Callable[..., Tensor]:
    def transform(input: Any, name: str | None = None) -> Tensor:
        return card(input, name=name)

    transform.__name__ = transform.__qualname__ = card.name.lower()
    transform.__doc__ = text
    return transform


fft = _public(fft_op, "The Fourier transform over the last dimension of complex numbers.")
ifft = _public(ifft_op, "The inverse Fourier transform over the last dimension.")
fft2d = _public(fft2d_op, "The Fourier transform over the last two dimensions.")
ifft2d = _public(ifft2d_op, "The inverse Fourier transform over the last two dimensions.")
fft3d = _public(fft3d_op, "The Fourier transform over the last three dimensions.")
ifft3d = _public(ifft3d_op, "The inverse Fourier transform over the last three dimensions.")
export("signal.fft", "spectral.fft", "fft")(fft)
export("signal.ifft", "spectral.ifft", "ifft")(ifft)
export("signal.fft2d", "spectral.fft2d", "fft2d")(fft2d)
export("signal.ifft2d", "spectral.ifft2d", "ifft2d")(ifft2d)
export("signal.fft3d", "spectral.fft3d", "fft3d")(fft3d)
export("signal.ifft3d", "spectral.ifft3d", "ifft3d")(ifft3d)
