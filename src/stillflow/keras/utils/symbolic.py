"""Which objects Keras takes for the tensors of a graph."""

from __future__ import annotations

from typing import Any

from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.operation import Tensor
from stillflow.variables.base import Variable

_registered: set[type] = set()


def register_symbolic_tensor_type(cls: type) -> None:
    """Has objects of a class taken for tensors; it needs a tensor conversion function, too.

    Args:
      cls: the class.
    """
    _registered.add(cls)


def is_symbolic_tensor(tensor: Any) -> bool:
    """Whether something is a tensor of a graph, or of a class registered to be one."""
    if isinstance(tensor, Variable):
        return not executing_eagerly()
    return isinstance(tensor, (Tensor, CompositeTensor, *_registered))
