"""Where a random operation's numbers come from, and how they become tensors."""

from __future__ import annotations

import threading
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.ops.random import draws
from stillflow.ops.random.philox import Philox

# Draws `count` numbers of the torch dtype of that name, on `threads` threads.
Draw = Callable[[Philox, int, str, int], np.ndarray]

_MANTISSA = {"float16": 10, "bfloat16": 7, "float32": draws.FLOAT_MANTISSA}


class OpStream:
    """The stream of one operation in one session: every execution takes its blocks from it."""

    def __init__(self, seed: int, seed2: int) -> None:
        self._stream = Philox.from_seeds(seed, seed2)
        self._lock = threading.Lock()

    def reserve(self, blocks: int) -> Philox:
        """The stream's position, which moves on by `blocks`."""
        with self._lock:
            return self._stream.reserve(blocks)

    def reserve_for(self, count: int) -> Philox:
        """The position for `count` draws that may each need several blocks."""
        return self.reserve(count * draws.RESERVED_BLOCKS)


def op_stream(node: Node) -> OpStream:
    """The stream of an op with attributes seed and seed2, kept by the session."""
    stream: OpStream = node.own_state(lambda: OpStream(node.seed, node.seed2))
    return stream


def draw_uniform(stream: Philox, count: int, dtype: str, threads: int) -> np.ndarray:
    """Draws from [0, 1)."""
    if dtype == "float64":
        return draws.uniform_double(stream, count, threads)
    return draws.uniform_float(stream, count, _MANTISSA[dtype], threads)


def draw_normal(stream: Philox, count: int, dtype: str, threads: int) -> np.ndarray:
    """Draws from the standard normal distribution."""
    if dtype == "float64":
        return draws.normal_double(stream, count, threads)
    return draws.normal_float(stream, count, threads)


def draw_truncated_normal(stream: Philox, count: int, dtype: str, threads: int) -> np.ndarray:
    """Draws from the standard normal distribution within two deviations."""
    if dtype == "float64":
        return draws.truncated_normal_double(stream, count, threads)
    return draws.truncated_normal_float(stream, count, threads)


def to_tensor(values: np.ndarray, sizes: Any, dtype: str, device: Any) -> Any:
    """A flat array of draws as a torch tensor of the given sizes, type and device."""
    return torch.from_numpy(values).reshape(sizes).to(device, getattr(torch, dtype))


def drawn(draw: Draw, stream: Philox, sizes: Any, dtype: str, device: Any) -> Any:
    """A torch tensor of draws."""
    return to_tensor(
        draw(stream, prod(sizes), dtype, torch.get_num_threads()), sizes, dtype, device
    )


def narrowed(values: np.ndarray, sizes: Any, dtype: str, device: Any) -> Any:
    """Float64 values as a torch tensor; half precision is rounded by way of single precision."""
    tensor = torch.from_numpy(np.ascontiguousarray(values)).reshape(sizes)
    if dtype == "float16":
        tensor = tensor.float()
    return tensor.to(device, getattr(torch, dtype))


def stateless_stream(seed: Any) -> Philox:
    """The stream that a tensor of two seeds determines."""
    first, second = seed.tolist()
    return Philox.from_stateless_seed(first, second)
