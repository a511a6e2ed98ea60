"""Modules that are imported when something is first asked of them.

Op cards mention torch in their kernels; importing a card must not import torch. Type checkers
see plain imports; docs/architecture.md says which modules of ours are lazy.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

# PyTorch reads this when it is loaded: large tensors lie in pages of 2 MB. Those above 32 MB the C
# library maps again in every step, and page faults took a quarter of a large batch's time.
os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")


class LazyModule:
    """Module that is imported when an attribute is first read.

    Args:
      name: the module to import.
      path: attributes to follow inside the module (`"ops.aten"` of `torch`).
    """

    def __init__(self, name: str, path: str = "") -> None:
        self._name = name
        self._path = path

    def __getattr__(self, attribute: str) -> Any:
        target: Any = importlib.import_module(self._name)
        for part in filter(None, self._path.split(".")):
            target = getattr(target, part)
        value = getattr(target, attribute)
        setattr(self, attribute, value)
        return value

    def __repr__(self) -> str:
        return f"<lazy module {self._name!r}>"


if TYPE_CHECKING:
    import torch
    import torch.nn.functional as F

    aten: Any
else:
    torch = LazyModule("torch")
    F = LazyModule("torch.nn.functional")
    aten = LazyModule("torch", "ops.aten")

__all__ = ["F", "LazyModule", "aten", "torch"]
