"""The activation swish, with a gradient of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.api import control_dependencies
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.math.unary import sigmoid
from stillflow.variables.custom_gradient import custom_gradient


@export("nn.swish")
@custom_gradient
def swish(features: Any) -> tuple[Tensor, Callable[..., Any]]:
    """Compute `features * sigmoid(features)`; the gradient recomputes the sigmoid.

    Raises:
      ValueError: in graphs, for arguments by name.
    """
    features = convert_to_tensor(features, name="features")

    def gradient(dy: Tensor) -> Tensor:
        with control_dependencies([dy]):
            curve = sigmoid(features)
        return dy * (curve * (1.0 + features * (1.0 - curve)))

    return features * sigmoid(features), gradient
