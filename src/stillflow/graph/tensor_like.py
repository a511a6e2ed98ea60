"""Kinds of tensor-like objects: dense tensors, variables, and composites."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor

# Types whose objects may stand wherever a dense tensor may: Tensor, and variables.
_dense_types: tuple[type, ...] = (Tensor,)


class TensorLike:
    """Base of the classes that hold several tensors and stand for one: `IndexedSlices`, ..."""


def register_dense_tensor_like_type(kind: type) -> None:
    """Make objects of `kind`, which has properties `name` and `dtype`, count as dense tensors."""
    global _dense_types
    for attribute in ("name", "dtype"):
        if not isinstance(getattr(kind, attribute, None), property):
            raise TypeError(f"Type {kind.__name__} does not define a `{attribute}` property")
    _dense_types = (*_dense_types, kind)


def is_dense_tensor_like(t: Any) -> bool:
    """Return True if `t` is a tensor or a variable."""
    return isinstance(t, _dense_types) or getattr(type(t), "is_tensor_like", False) is True


def is_tensor_like(x: Any) -> bool:
    """Return True if `x` is a `Tensor`, `SparseTensor` or `IndexedSlices` (a variable is not)."""
    return isinstance(x, (Tensor, TensorLike))


@export("is_tensor", "contrib.framework.is_tensor", "contrib.slim.contrib_framework.is_tensor")
def is_tensor(x: Any) -> bool:
    """Return True if `x` is a tensor, a composite of tensors or a variable."""
    return isinstance(x, (TensorLike, *_dense_types)) or bool(getattr(x, "is_tensor_like", False))


def check_graph_parents(parents: list[Any], is_parent: Callable[[Any], bool] = is_tensor) -> None:
    """Raise an error for the first of the objects that is no tensor.

    Raises:
      ValueError: if there is one.
    """
    for number, parent in enumerate(parents):
        if not is_parent(parent):
            raise ValueError(f"Graph parent item {number} is not a Tensor; {parent}.")
