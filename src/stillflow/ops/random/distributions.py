"""Distributions that fill a shape, each with a way to draw on the host and on an accelerator."""

from __future__ import annotations

from collections.abc import Callable
from math import erf, prod, sqrt
from typing import Any, NamedTuple

import numpy as np

from stillflow import native
from stillflow.graph.arrays import Array
from stillflow.graph.lazy import torch
from stillflow.ops.random import accelerator, draws
from stillflow.ops.random.philox import Philox
from stillflow.ops.random.streams import to_tensor


class Distribution(NamedTuple):
    """Distribution: the function that draws `count` numbers for the torch dtype of a name.

    Attributes:
      on_host: `f(stream, count, dtype, threads)` gives an array, perhaps of a wider type.
      on_device: `f(position, count, dtype)` gives a tensor, perhaps of a wider type, where
        `accelerator.position` was brought to; None if numbers of the host are taken there.
      unseeded: `f(sizes, dtype=..., device=...)` gives a tensor from torch's own generator, which
        is faster. Programs that set no seed cannot tell.
    """

    on_host: Callable[[Philox, int, str, int], np.ndarray]
    on_device: Callable[[Any, int, str], Any] | None = None
    unseeded: Callable[..., Any] | None = None


def drawn(what: Distribution, stream: Philox, sizes: Any, dtype: str, device: Any) -> torch.Tensor:
    """Return a torch tensor of draws from a distribution."""
    if is_accelerator(device) and what.on_device is not None:
        return drawn_at(what, accelerator.position(stream).to(device), sizes, dtype)
    array = what.on_host(stream, prod(sizes), dtype, torch.get_num_threads())
    return to_tensor(array, sizes, dtype, device)


def drawn_at(what: Distribution, position: Any, sizes: Any, dtype: str) -> torch.Tensor:
    """Return the same on an accelerator, where the position of the stream is."""
    assert what.on_device is not None
    return what.on_device(position, prod(sizes), dtype).reshape(sizes).to(getattr(torch, dtype))


def is_accelerator(device: Any) -> bool:
    """Return True if draws are better made on the device than copied to it."""
    return torch.device(device).type == "cuda"


# From so many on a stream is worth its beginning.
_MANY = 1 << 13
# How many bits of a word make a number of [0, 1).
_MANTISSA = {"float16": 10, "bfloat16": 7, "float32": draws.FLOAT_MANTISSA}


def _uniform(stream: Philox, count: int, dtype: str, threads: int) -> np.ndarray:
    if dtype == "float64":
        return draws.uniform_double(stream, count, threads)
    return draws.uniform_float(stream, count, _MANTISSA[dtype], threads)


def _uniform_on_device(position: Any, count: int, dtype: str) -> torch.Tensor:
    if dtype == "float64":
        return accelerator.uniform_double(position, count)
    return accelerator.uniform(position, count, _MANTISSA[dtype])


def _by_precision(single: Callable[..., Any], double: Callable[..., Any]) -> Callable[..., Any]:
    """Draws in double precision for float64, in single precision for narrower types."""

    def draw(source: Any, count: int, dtype: str, *threads: int) -> torch.Tensor | Array:
        return (double if dtype == "float64" else single)(source, count, *threads)

    return draw


def _unseeded_uniform(sizes: Any, dtype: Any, device: Any) -> torch.Tensor:
    """Many come from a stream that torch's generator, which takes one thread, only chooses."""
    if prod(sizes) < _MANY or is_accelerator(device) or native.library() is None:
        return torch.rand(sizes, dtype=dtype, device=device)
    stream = Philox.from_seeds(*torch.randint(1, 1 << 62, (2,)).tolist())
    name = str(dtype).removeprefix("torch.")
    array = _uniform(stream, prod(sizes), name, torch.get_num_threads())
    return to_tensor(array, sizes, name, device)


def _unseeded_truncated_normal(sizes: Any, dtype: Any, device: Any) -> torch.Tensor:
    """Return the inverse of the distribution function, applied to uniform draws."""
    wide = torch.promote_types(dtype, torch.float32)
    within = erf(draws.TRUNCATION / sqrt(2))
    values = torch.empty(sizes, dtype=wide, device=device).uniform_(-within, within)
    values.erfinv_().mul_(sqrt(2))
    return values.clamp_(-_BELOW_TRUNCATION, _BELOW_TRUNCATION).to(dtype)


# The largest half-precision number below the truncation; others have larger ones.
_BELOW_TRUNCATION = 1.999

UNIFORM = Distribution(_uniform, _uniform_on_device, _unseeded_uniform)
NORMAL = Distribution(
    _by_precision(draws.normal_float, draws.normal_double),
    _by_precision(accelerator.normal, accelerator.normal_double),
    lambda *args, **kwargs: torch.randn(*args, **kwargs),
)
TRUNCATED_NORMAL = Distribution(
    _by_precision(draws.truncated_normal_float, draws.truncated_normal_double),
    _by_precision(accelerator.truncated_normal, accelerator.truncated_normal_double),
    _unseeded_truncated_normal,
)


def _full_range(stream: Philox, count: int, dtype: str, threads: int) -> np.ndarray:
    words = draws.words32 if dtype.endswith("32") else draws.words64
    return words(stream, count, threads).view(dtype)


# Integers from all values of their type.
FULL_RANGE = Distribution(_full_range)


def uniform_ints(
    stream: Philox, sizes: Any, low: int, high: int, dtype: str, device: Any
) -> torch.Tensor:
    """Return a tensor of integers from [low, high), of int32 or int64."""
    count = prod(sizes)
    if dtype == "int32" and is_accelerator(device):
        position = accelerator.position(stream).to(device)
        return accelerator.uniform_int32(position, count, low, high).reshape(sizes)
    fill = draws.uniform_int32 if dtype == "int32" else draws.uniform_int64
    return to_tensor(fill(stream, count, low, high, torch.get_num_threads()), sizes, dtype, device)


def int_range(minval: Any, maxval: Any) -> tuple[int, int]:
    """Return the bounds of a range of integers, as Python numbers."""
    low, high = int(minval), int(maxval)
    if low >= high:
        raise ValueError(f"Need minval < maxval, got {low} >= {high}")
    return low, high
