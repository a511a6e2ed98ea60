"""`tf.keras.activations`."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.keras.backend import elementwise
from stillflow.keras.utils.objects import deserialize_keras_object, serialize_keras_object
from stillflow.layers.identifiers import linear
from stillflow.ops.math import trigonometry
from stillflow.ops.math.reductions import reduce_max, reduce_sum
from stillflow.ops.math.unary import exp
from stillflow.ops.math.unary import sigmoid as _sigmoid
from stillflow.ops.nn import activations as nn
from stillflow.ops.nn.softmax import softmax as nn_softmax

_ALPHA, _SCALE = 1.6732632423543772, 1.0507009873554805


@export("keras.activations.softmax")
def softmax(x: Tensor, axis: int = -1) -> Tensor:
    """Exponentials that sum to 1 along an axis.

    Raises:
      ValueError: if `x` is a vector or a scalar.
    """
    rank = x.shape.ndims
    if rank == 2:
        return nn_softmax(x)
    if rank is None or rank < 2:
        raise ValueError(f"Cannot apply softmax to a tensor that is 1D. Received input: {x}")
    e: Any = exp(x - reduce_max(x, axis=axis, keepdims=True))
    result: Tensor = e / reduce_sum(e, axis=axis, keepdims=True)
    return result


@export("keras.activations.elu")
def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """`x` where it is positive, `alpha * (exp(x) - 1)` elsewhere."""
    return elementwise.elu(x, alpha)


@export("keras.activations.selu")
def selu(x: Any) -> Tensor:
    """Return the scaled exponential linear unit of Klambauer et al. (2017)."""
    curve: Any = elementwise.elu(x, _ALPHA)
    result: Tensor = _SCALE * curve
    return result


@export("keras.activations.softplus")
def softplus(x: Any) -> Tensor:
    """`log(exp(x) + 1)`."""
    return nn.softplus(x)


@export("keras.activations.softsign")
def softsign(x: Any) -> Tensor:
    """`x / (abs(x) + 1)`."""
    return nn.softsign(x)


@export("keras.activations.relu")
def relu(
    x: Any, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0
) -> Tensor:
    """`x` where it is above the threshold, `alpha * (x - threshold)` elsewhere."""
    return elementwise.relu(x, alpha=alpha, max_value=max_value, threshold=threshold)


@export("keras.activations.tanh")
def tanh(x: Any) -> Tensor:
    """Return the hyperbolic tangent."""
    result: Tensor = trigonometry.tanh(x)
    return result


@export("keras.activations.sigmoid")
def sigmoid(x: Any) -> Tensor:
    """`1 / (1 + exp(-x))`."""
    return _sigmoid(x)


@export("keras.activations.exponential")
def exponential(x: Any) -> Tensor:
    """Return the exponential."""
    result: Tensor = exp(x)
    return result


@export("keras.activations.hard_sigmoid")
def hard_sigmoid(x: Any) -> Tensor:
    """`0.2 * x + 0.5` between 0 and 1."""
    return elementwise.hard_sigmoid(x)


@export("keras.activations.serialize")
def serialize(activation: Any) -> str:
    """Return the name of an activation."""
    name = getattr(activation, "__name__", None)
    return _V2_NAMES[name] if name in _V2_NAMES else serialize_keras_object(activation)


_KNOWN = {
    function.__name__: function
    for function in (
        softmax, elu, selu, softplus, softsign, relu, tanh, sigmoid, exponential, hard_sigmoid,
        linear,
    )
}  # fmt: skip


_V2_NAMES = {"softmax_v2": "softmax"}  # functions of `tf.nn` and the activations that they are
_KNOWN.update((name, _KNOWN[ours]) for name, ours in _V2_NAMES.items())


@export("keras.activations.deserialize")
def deserialize(name: Any, custom_objects: Any = None) -> Any:
    """Return the activation of a name."""
    return deserialize_keras_object(name, _KNOWN, custom_objects, "activation function")


@export("keras.activations.get")
def get(identifier: Any) -> Any:
    """Return the activation of a name; a function as it is, `linear` for None.

    Raises:
      TypeError: if it is nothing of the kind.
    """
    if identifier is None:
        return linear
    if isinstance(identifier, str):
        return deserialize(identifier)
    if callable(identifier):
        return identifier
    if isinstance(identifier, dict):
        return deserialize_keras_object(identifier, printable_module_name="activation")
    raise TypeError(f"Could not interpret activation function identifier: {identifier!r}")
