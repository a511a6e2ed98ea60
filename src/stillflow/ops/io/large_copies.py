"""Copies of large arrays by several threads that sleep while there is nothing to do.

PyTorch's own threads wait for each other in a loop. That is faster where the machine has nothing
else to do, and at each of many tensors a loss where it has.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

_PAGE = 4096
_WORKERS = min(os.cpu_count() or 1, 8)
_pools: list[ThreadPoolExecutor] = []  # one, once it is needed


def copy(target: np.ndarray, source: np.ndarray) -> None:
    """Copies bytes.

    Args:
      target: uint8, [n], contiguous.
      source: the same, other memory.
    """
    size = -(-target.size // (_WORKERS * _PAGE)) * _PAGE
    if not _pools:
        _pools.append(ThreadPoolExecutor(_WORKERS, "copy"))
    others = [
        _pools[0].submit(np.copyto, target[at : at + size], source[at : at + size])
        for at in range(size, target.size, size)
    ]
    np.copyto(target[:size], source[:size])
    for other in others:
        other.result()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pools.clear)  # threads stay with the parent
