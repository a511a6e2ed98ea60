"""Kernels that draw on an accelerator: from torch's generator, or an operation's own stream."""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops.random import accelerator, device_philox
from stillflow.ops.random.arguments import read_sizes
from stillflow.ops.random.distributions import Distribution, drawn_at
from stillflow.ops.random.streams import OpStream


class UnseededDraw:
    """A kernel that draws from torch's own generator, in any order, and also in a CUDA graph.

    Args:
      sizes: of the draws; None if it is an argument.
      what: the distribution.
      dtype: torch's name of the type.
      device: where numbers are drawn.
    """

    is_ordered = False

    def __init__(self, sizes: Any, what: Distribution, dtype: str, device: Any) -> None:
        assert what.unseeded is not None
        self._sizes = sizes
        self._draw = partial(what.unseeded, dtype=getattr(torch, dtype), device=device)

    def __call__(self, shape: Any) -> torch.Tensor:
        return self._draw(self._sizes if self._sizes is not None else read_sizes(shape))


class SeededDraw:
    """A kernel of an accelerator: the host says where its stream stands, the device draws there.

    Attributes:
      at: the part of the device.

    Args:
      stream: of the operation.
      what: the distribution.
      sizes: of the draws.
      dtype: torch's name of the type.
      device: where numbers are drawn.
    """

    def __init__(
        self, stream: OpStream, what: Distribution, sizes: Any, dtype: str, device: Any
    ) -> None:
        self._stream, self._count = stream, prod(sizes)
        self._device = device
        device_philox.kernel(device)  # before a step runs, which must not wait for it
        self.at = DrawAt(what, sizes, dtype)

    def __call__(self) -> torch.Tensor:
        return self.at(self.position().to(self._device))

    def position(self) -> torch.Tensor:
        """Return the stream's position, int64 [3], which moves on."""
        return accelerator.position(self._stream.reserve_for(self._count))


class DrawAt:
    """Kernel of the numbers at a position of a stream.

    Args:
      what: the distribution.
      sizes: of the draws.
      dtype: torch's name of the type.
    """

    is_ordered = False

    def __init__(self, what: Distribution, sizes: Any, dtype: str) -> None:
        self._what, self._sizes, self._dtype = what, sizes, dtype

    def __call__(self, position: Any) -> torch.Tensor:
        return drawn_at(self._what, position, self._sizes, self._dtype)
