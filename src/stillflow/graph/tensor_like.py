"""What counts as a tensor: dense tensors, and composites that stand for one."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor


class TensorLike:
    """Base of the classes that hold several tensors and stand for one: `IndexedSlices`, ..."""



def is_tensor_like(x: Any) -> bool:
    """Whether `x` is a `Tensor`, `SparseTensor` or `IndexedSlices` (a variable is not)."""
    return isinstance(x, (Tensor, TensorLike))


@export("is_tensor", "contrib.framework.is_tensor")
def is_tensor(x: Any) -> bool:
    """Whether `x` is a tensor, a composite of tensors or a variable."""
    return is_tensor_like(x) or bool(getattr(x, "is_tensor_like", False))
