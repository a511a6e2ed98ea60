"""Calls of native loops, and the tensors that they support."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

from stillflow import native
from stillflow.graph.lazy import torch

_MOST = 4096  # channels: the loops keep a few rows on the stack


class Along(ctypes.Structure):
    """`Along` of native/patches.c and native/morphology.c: the windows along one axis of images."""

    _fields_ = [(name, ctypes.c_int64)
                for name in ("size", "count", "window", "stride", "rate", "before")]  # fmt: skip


def int64s(values: Sequence[int]) -> Any:
    """Return an array of int64 for a native loop."""
    return (ctypes.c_int64 * len(values))(*values)


def compiling() -> bool:
    """Return True while torch.compile looks at a step: there are no numbers then."""
    return bool(torch.compiler.is_compiling())


def reach(*tensors: Any) -> bool:
    """Return True if the native loops are built and the tensors contiguous in host memory.

    While torch.compile looks at a step there is no memory yet, and none can be taken.
    """
    # Compiling first: it warns of caches, and library() is one.
    if compiling() or native.library() is None:
        return False
    for tensor in tensors:  # no generator: small steps ask dozens of times
        if not tensor.is_cpu or not tensor.is_contiguous():
            break
    else:
        return True
    return False


def take(*tensors: Any) -> bool:
    """Return True for float32 tensors that the native loops `reach`."""
    float32 = torch.float32
    for tensor in tensors:
        if tensor.dtype is not float32:
            return False
    return reach(*tensors)


def take_channels(images: Sequence[Any], vectors: Sequence[Any] = ()) -> bool:
    """Return the same for images of one shape, not empty, and vectors of a number per channel."""
    shape = images[0].shape
    channels = shape[-1:]
    return (
        images[0].numel() > 0
        and bool(channels)
        and channels[0] <= _MOST
        and all(image.shape == shape for image in images)
        and all(vector.shape == channels for vector in vectors)
        and take(*images, *vectors)
    )


def call(name: str, *arguments: Any) -> None:
    """Call a native loop with torch's number of threads; MemoryError if it finds none."""
    if getattr(native.library(), name)(*arguments, torch.get_num_threads()):
        raise MemoryError(f"{name}: no memory for intermediate sums")
