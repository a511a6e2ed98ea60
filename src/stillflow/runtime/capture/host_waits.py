"""Detection of steps in which the host waits for a device, or sends it data.

Neither can be part of a CUDA graph.
"""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

aten = torch.ops.aten

# Kernels that need a number of the device for the size of their result, or to continue.
_WAITING = frozenset((
    "_local_scalar_dense", "_unique2", "bincount", "ctc_loss", "_ctc_loss", "equal",
    "is_nonzero", "item", "lift", "lift_fresh", "masked_select", "nonzero", "repeat_interleave",
    "unique_consecutive", "unique_dim",
))  # fmt: skip
# Libraries of linear algebra hand their errors to the host.
_OF_LIBRARIES = ("linalg_", "_linalg_", "cholesky", "lu_", "svd", "triangular_solve")
_INDEXING = frozenset(("index", "index_put", "index_put_", "_index_put_impl_"))
_MASKS = (torch.bool, torch.uint8)


class Watch(TorchDispatchMode):
    """Notes the lines of a source on which torch would wait for a CUDA device.

    Args:
      filename: the name that the source was compiled under.
      device: the CUDA device.

    Attributes:
      lines: what was found.
      count: of kernels that ran.
      memory: the most bytes that were taken on the device.
    """

    def __init__(self, filename: str, device: Any) -> None:
        super().__init__()
        self._filename, self._device = filename, device
        self._before = torch.cuda.memory_allocated(device)
        self.memory = 0
        self.lines: set[int] = set()
        self.count = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.count += 1
        taken = torch.cuda.memory_allocated(self._device) - self._before
        self.memory = max(self.memory, taken)
        if _waits(func, (args, kwargs), result):
            self._note()
        return result

    def _note(self) -> None:
        frame: Any = sys._getframe(2)
        while frame is not None:
            if frame.f_code.co_filename == self._filename:
                self.lines.add(frame.f_lineno)
                return
            frame = frame.f_back


def _waits(func: Any, given: Any, result: Any) -> bool:
    taken = [leaf for leaf in tree_leaves(given) if isinstance(leaf, torch.Tensor)]
    made = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
    if not any(tensor.is_cuda for tensor in (*taken, *made)):
        return False
    name = func._schema.name.partition("::")[2]
    if name in _WAITING or name.startswith(_OF_LIBRARIES):
        return True
    if name in _INDEXING and any(tensor.dtype in _MASKS for tensor in taken[1:]):
        return True
    # Kernels take single numbers of the host along; anything larger has to be sent.
    sent = any(not tensor.is_cuda and (tensor.dim() or name in _COPIES) for tensor in taken)
    return sent or any(not tensor.is_cuda for tensor in made)


_COPIES = frozenset(("copy_", "_to_copy", "_foreach_copy_"))
