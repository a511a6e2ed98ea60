"""Streams of random operations' numbers, and their conversion to tensors."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.ops.random import draws
from stillflow.ops.random.philox import Philox


class OpStream:
    """The stream of one operation in one session: every execution takes its blocks from it."""

    def __init__(self, seed: int, seed2: int) -> None:
        self._stream = Philox.from_seeds(seed, seed2)
        self._start = self._stream.copy()
        self._lock = threading.Lock()

    def reserve(self, blocks: int) -> Philox:
        """Return the stream's position, which moves on by `blocks`."""
        with self._lock:
            return self._stream.reserve(blocks)

    def reserve_for(self, count: int) -> Philox:
        """Return the position for `count` draws that may each need several blocks."""
        return self.reserve(count * draws.RESERVED_BLOCKS)

    def position(self) -> Philox:
        """Return the position of the stream."""
        with self._lock:
            return self._stream.copy()

    def move_to(self, position: Philox) -> None:
        """Goes on from another position of the same stream."""
        with self._lock:
            self._stream = position.copy()

    def start(self) -> Philox:
        """Return the initial position of the stream."""
        return self._start.copy()


def op_stream(node: Node) -> OpStream:
    """Return the stream of an op with attributes seed and seed2, kept by the session."""
    stream: OpStream = node.own_state(lambda: OpStream(node.seed, node.seed2))
    return stream


def is_free(node: Node) -> bool:
    """Return True if an op may use any generator, since its numbers cannot be compared."""
    return bool(node.seed == node.seed2 == 0 and not node.draws_again)


def to_tensor(values: np.ndarray, sizes: Any, dtype: str, device: Any) -> torch.Tensor:
    """Return a flat array of draws as a torch tensor of the given sizes, type and device."""
    return torch.from_numpy(values).reshape(sizes).to(device, getattr(torch, dtype))


def narrowed(values: np.ndarray, sizes: Any, dtype: str, device: Any) -> torch.Tensor:
    """Float64 values as a torch tensor; half precision is rounded by way of single precision."""
    tensor = torch.from_numpy(np.ascontiguousarray(values)).reshape(sizes)
    if dtype == "float16":
        tensor = tensor.float()
    return tensor.to(device, getattr(torch, dtype))


def stateless_stream(seed: Any) -> Philox:
    """Return the stream that a tensor of two seeds determines."""
    first, second = seed.tolist()
    return Philox.from_stateless_seed(first, second)
