"""`tf.contrib.layers.scale_gradient`: a tensor whose gradient is multiplied."""

from __future__ import annotations

from typing import Any

from stillflow.functional.defun import Defun
from stillflow.graph.export import export


def _gradient(op: Any, grad: Any) -> list[Any]:
    return [grad * op.inputs[1], None]


def _shape(op: Any) -> list[Any]:
    return [op.inputs[0].shape]


@export("contrib.layers.scale_gradient")
@Defun(python_grad_func=_gradient, shape_func=_shape)
def scale_gradient(inputs: Any, gradient_multiplier: Any) -> Any:
    """A tensor as it is, whose gradient is multiplied.

    Args:
      inputs: the tensor.
      gradient_multiplier: the factor, which broadcasts to the tensor.
    """
    return inputs
