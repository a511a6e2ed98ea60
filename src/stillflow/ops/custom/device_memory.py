"""Memory of GPUs for kernels of libraries: torch's, which they know by its addresses."""

from __future__ import annotations

import contextlib
import ctypes
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from stillflow.graph.lazy import torch

_INT = ctypes.c_int64
# By their addresses; a library releases what it was given.
_held: dict[int, Any] = {}


class _Call(threading.local):
    """The call that this thread is in: what lives as long as it, and its outputs."""

    kept: Iterable[Any] = ()
    outputs: dict[int, Any] = {}


_call = _Call()


def _hold(tensor: Any) -> int:
    address = int(tensor.data_ptr())
    _held[address] = tensor
    return address


def _allocate(device: int, size: int) -> int:
    try:
        made = torch.empty(max(size, 1), dtype=torch.uint8, device=f"cuda:{device}")
    except RuntimeError:  # no exception passes through C
        return 0
    return _hold(made)


def _release(address: int) -> None:
    _held.pop(address, None)


def _copy(address: int) -> int:
    tensors = filter(torch.is_tensor, (*_call.kept, *_call.outputs.values()))
    found = next((each for each in tensors if each.data_ptr() == address), None)
    try:
        return 0 if found is None else _hold(found.contiguous().view(-1).view(torch.uint8).clone())
    except RuntimeError:  # no exception passes through C
        return 0


_PROTOTYPES = (
    ctypes.CFUNCTYPE(_INT, _INT, _INT), ctypes.CFUNCTYPE(None, _INT), ctypes.CFUNCTYPE(_INT, _INT),
)  # fmt: skip


class _Memory(ctypes.Structure):
    """The functions that a library calls; see `sf_memory`."""

    _fields_ = list(zip(("allocate", "release", "copy"), _PROTOTYPES))


_allocator, _releaser, _copier = _PROTOTYPES
_memory = _Memory(_allocator(_allocate), _releaser(_release), _copier(_copy))
MEMORY = ctypes.addressof(_memory)


@contextlib.contextmanager
def call_on(device: Any, kept: Iterable[Any], outputs: dict[int, Any]) -> Iterator[int]:
    """Make a GPU the current one for a call; gives torch's stream there.

    Args:
      device: the GPU.
      kept: the inputs, among what else lives as long as the call.
      outputs: the outputs, as they are allocated.
    """
    _call.kept, _call.outputs = kept, outputs
    try:
        with torch.cuda.device(device):
            yield int(torch.cuda.current_stream(device).cuda_stream)
    finally:
        _call.kept, _call.outputs = (), {}


def copied(base: int, offset: int, shape: Any, dtype: Any) -> Any:
    """Return a copy of a part of the memory that a library was given."""
    size = dtype.itemsize
    for length in shape:
        size *= length
    return _held[base][offset : offset + size].view(dtype).reshape(shape).clone()
