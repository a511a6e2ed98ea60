"""Objects that Keras accepts as tensors of a graph."""

from __future__ import annotations

from typing import Any

from stillflow.graph.eager_mode import executing_eagerly
from stillflow.layers.symbolic_graph import is_symbolic, register_symbolic_tensor_type
from stillflow.variables.base import Variable

__all__ = ["is_symbolic_tensor", "register_symbolic_tensor_type"]


def is_symbolic_tensor(tensor: Any) -> bool:
    """Return True if an object is a tensor of a graph, or of a class registered to be one.

    A tensor that holds its value is none; a variable is one where operations do not run when they
    are called, and if a layer of a model has made it.
    """
    if isinstance(tensor, Variable):
        return hasattr(tensor, "_keras_history") or not executing_eagerly()
    return is_symbolic(tensor)
