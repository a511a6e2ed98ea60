"""Activation functions, element by element: Relu, LeakyRelu, Elu, Selu, Softplus, Softsign."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import F, aten, torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import zeros, zeros_like
from stillflow.ops.arrays.native_kernels import choose
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.shape import shape
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.input_ranks import same_as_first
from stillflow.ops.kernels import torch_type
from stillflow.ops.math.cast import cast
from stillflow.ops.math.kernels import (
    NUMPY_TYPES,
    REAL_NUMBER,
    element_wise,
    through_numpy,
)
from stillflow.ops.math.unary import exp, neg_op, sigmoid
from stillflow.ops.nn import native_kernels
from stillflow.ops.samples import Bad, Sample, Samples

_FLOATS = "{half, bfloat16, float, double}"

_SCALE = 1.0507009873554804934193349852946
_SCALE_ALPHA = 1.7580993408473768599402175208123


def activation_shape(node: Node) -> tuple[int | None, ...] | None:
    return node.dims(0)


def activation_grad_shape(node: Node) -> tuple[int | None, ...] | None:
    return dims.merge(node.dims(0), node.dims(1))


def activation_samples() -> Samples:
    # Away from 0 and 6, where the derivatives jump.
    yield Sample(np.array([[-2.5, -0.5, 0.25], [1.5, 5.5, 7.0]], np.float32))
    yield Sample(np.zeros((0, 3), np.float32))


def activation_grad_samples() -> Samples:
    yield Sample(
        np.array([[1, 2, 3], [-1, 0.5, 4]], np.float32),
        np.array([[-2, -0.5, 0.2], [1, 5, 7]], np.float32),
    )
    yield Bad(np.zeros((2, 3), np.float32), np.zeros((3, 2), np.float32), match="must be equal")


# ---- Relu, Relu6


def _zero_like(node: Node) -> Tensor:
    """Return the gradient where a second derivative vanishes."""
    x = node.inputs[1]
    return zeros(shape=shape(x), dtype=x.dtype)


relu_op = op(
    f"""
    Relu(features: T) -> activations: T
    T: {REAL_NUMBER[:-1]}, qint8}}
""",
    batching="vmap",
)
relu_op.shape(activation_shape)
relu_op.samples(activation_samples)


@relu_op.kernel
def relu_kernel(node: Node) -> Kernel:
    return element_wise(node, torch.relu, np.copy)  # numpy computes unsigned types only


@relu_op.gradient
def relu_gradient(node: Node, grad: Tensor) -> Gradients:
    return relu_grad_op(grad, node.outputs[0])


relu_grad_op = op(
    f"""
    ReluGrad(gradients: T, features: T) -> backprops: T
    T: {REAL_NUMBER}
""",
    batching="vmap",
)
relu_grad_op.shape(activation_grad_shape)
relu_grad_op.check(same_as_first)
relu_grad_op.samples(activation_grad_samples)


@relu_grad_op.kernel
def relu_grad_kernel(node: Node) -> Kernel:
    if node.T in NUMPY_TYPES:
        return through_numpy(lambda grad, x: grad * (x > 0), node.T)
    if not node.T.is_floating:
        return node.call(aten.threshold_backward.default, *node.inputs, 0)
    # As native_kernels.relu_gradient; this function is the one that steps are joined by.
    return node.call(aten.leaky_relu_backward.default, *node.inputs, 0, False)


@relu_grad_op.gradient
def relu_grad_gradient(node: Node, grad: Tensor) -> Gradients:
    return [relu_grad_op(grad, node.inputs[1]), _zero_like(node)]


relu6_op = op(
    f"""
    Relu6(features: T) -> activations: T
    T: {REAL_NUMBER}
""",
    batching="vmap",
)
relu6_op.shape(activation_shape)
relu6_op.samples(activation_samples)


@relu6_op.kernel
def relu6_kernel(node: Node) -> Kernel:
    if node.T in NUMPY_TYPES:
        return through_numpy(lambda x: np.minimum(x, 6), node.T)
    return node.call(torch.clamp, node.inputs[0], 0, 6)


@relu6_op.gradient
def relu6_gradient(node: Node, grad: Tensor) -> Gradients:
    return relu6_grad_op(grad, node.outputs[0])


relu6_grad_op = op(
    f"""
    Relu6Grad(gradients: T, features: T) -> backprops: T
    T: {REAL_NUMBER}
""",
    batching="vmap",
)
relu6_grad_op.shape(activation_grad_shape)
relu6_grad_op.check(same_as_first)
relu6_grad_op.samples(activation_grad_samples)


def _between_0_and_6(grad: Any, x: Any) -> torch.Tensor | Array:
    return grad * ((x > 0) & (x < 6))


@relu6_grad_op.kernel
def relu6_grad_kernel(node: Node) -> Kernel:
    if node.T.is_floating:
        return node.call(native_kernels.relu6_gradient, *node.inputs)
    return element_wise(node, _between_0_and_6, _between_0_and_6)


@relu6_grad_op.gradient
def relu6_grad_gradient(node: Node, grad: Tensor) -> Gradients:
    return [relu6_grad_op(grad, node.inputs[1]), _zero_like(node)]


# ---- LeakyRelu

leaky_relu_op = op(
    f"""
    LeakyRelu(features: T) -> activations: T
    alpha: float = 0.2
    T: {_FLOATS} = float
""",
    batching="vmap",
)
leaky_relu_op.shape(activation_shape)
leaky_relu_op.samples(activation_samples)


def _slope(node: Node) -> float:
    """Return the slope below 0, of the tensors' precision.

    Attributes are single-precision numbers.
    """
    return float(node.T.as_numpy_dtype(np.float32(node.alpha)))


@leaky_relu_op.kernel
def leaky_relu_kernel(node: Node) -> Kernel:
    return node.call(F.leaky_relu, node.inputs[0], negative_slope=_slope(node))


@leaky_relu_op.gradient
def leaky_relu_gradient(node: Node, grad: Tensor) -> Gradients:
    return leaky_relu_grad_op(grad, node.inputs[0], alpha=node.alpha)


leaky_relu_grad_op = op(
    f"""
    LeakyReluGrad(gradients: T, features: T) -> backprops: T
    alpha: float = 0.2
    T: {_FLOATS} = float
""",
    batching="vmap",
)
leaky_relu_grad_op.shape(activation_grad_shape)
leaky_relu_grad_op.check(same_as_first)
leaky_relu_grad_op.samples(activation_grad_samples)


@leaky_relu_grad_op.kernel
def leaky_relu_grad_kernel(node: Node) -> Kernel:
    return node.call(aten.leaky_relu_backward.default, *node.inputs, _slope(node), False)


@leaky_relu_grad_op.gradient
def leaky_relu_grad_gradient(node: Node, grad: Tensor) -> Gradients:
    return [leaky_relu_grad_op(grad, node.inputs[1], alpha=node.alpha), _zero_like(node)]


# ---- Elu, Selu


def _second_gradient(node: Node, grad: Tensor, first: Any, zero: float) -> list[Tensor]:
    """Return the gradients of EluGrad and SeluGrad: both depend on the activation below 0 only."""
    outputs = node.inputs[1]
    backprops = first(grad, outputs)
    below = where(outputs < zero, grad * node.inputs[0], zeros_like(outputs))
    return [backprops, below]


elu_op = op(f"Elu(features: T) -> activations: T; T: {_FLOATS}", batching="vmap")
elu_op.shape(activation_shape)
elu_op.samples(activation_samples)


@elu_op.kernel
def elu_kernel(node: Node) -> Kernel:
    return node.call(F.elu, node.inputs[0])


@elu_op.gradient
def elu_gradient(node: Node, grad: Tensor) -> Gradients:
    return elu_grad_op(grad, node.outputs[0])


elu_grad_op = op(
    f"EluGrad(gradients: T, outputs: T) -> backprops: T; T: {_FLOATS}", batching="vmap"
)
elu_grad_op.shape(activation_grad_shape)
elu_grad_op.check(same_as_first)
elu_grad_op.samples(activation_grad_samples)


@elu_grad_op.kernel
def elu_grad_kernel(node: Node) -> Kernel:
    return node.call(native_kernels.elu_gradient, *node.inputs)


@elu_grad_op.gradient
def elu_grad_gradient(node: Node, grad: Tensor) -> Gradients:
    return _second_gradient(node, grad, elu_grad_op, 0)


selu_op = op(f"Selu(features: T) -> activations: T; T: {_FLOATS}", batching="vmap")
selu_op.shape(activation_shape)
selu_op.samples(activation_samples)


@selu_op.kernel
def selu_kernel(node: Node) -> Kernel:
    return node.call(F.selu, node.inputs[0])


@selu_op.gradient
def selu_gradient(node: Node, grad: Tensor) -> Gradients:
    return selu_grad_op(grad, node.outputs[0])


selu_grad_op = op(
    f"SeluGrad(gradients: T, outputs: T) -> backprops: T; T: {_FLOATS}", batching="vmap"
)
selu_grad_op.shape(activation_grad_shape)
selu_grad_op.check(same_as_first)
selu_grad_op.samples(activation_grad_samples)


def _selu_backward(grad: Any, outputs: Any) -> torch.Tensor:
    # elu_backward would take the slope from below at 0, TF takes the one from above.
    return choose(outputs < 0, grad * (outputs + _SCALE_ALPHA), grad * _SCALE)


@selu_grad_op.kernel
def selu_grad_kernel(node: Node) -> Kernel:
    return node.call(_selu_backward, *node.inputs)


@selu_grad_op.gradient
def selu_grad_gradient(node: Node, grad: Tensor) -> Gradients:
    return _second_gradient(node, grad, selu_grad_op, 0.0)


# ---- Softplus, Softsign

softplus_op = op(f"Softplus(features: T) -> activations: T; T: {_FLOATS}", batching="vmap")
softplus_op.shape(activation_shape)
softplus_op.samples(activation_samples)


@softplus_op.kernel
def softplus_kernel(node: Node) -> Kernel:
    # Above the threshold softplus(x) is x to within the type's precision (TF's idea of it).
    half = node.T.name == "float16"
    epsilon = 2.0**-13 if half else torch.finfo(torch_type(node.T)).eps
    return node.call(F.softplus, node.inputs[0], beta=1, threshold=-math.log(epsilon) - 2)


@softplus_op.gradient
def softplus_gradient(node: Node, grad: Tensor) -> Gradients:
    return grad * sigmoid(node.inputs[0])


softplus_grad_op = op(
    f"SoftplusGrad(gradients: T, features: T) -> backprops: T; T: {_FLOATS}", batching="vmap"
)
softplus_grad_op.shape(activation_grad_shape)
softplus_grad_op.check(same_as_first)
softplus_grad_op.samples(activation_grad_samples)


def _softplus_backward(grad: Any, features: Any) -> torch.Tensor:
    return torch.sigmoid(features).mul_(grad)


@softplus_grad_op.kernel
def softplus_grad_kernel(node: Node) -> Kernel:
    return node.call(_softplus_backward, *node.inputs)


@softplus_grad_op.gradient
def softplus_grad_gradient(node: Node, grad: Tensor) -> Gradients:
    dy, x = node.inputs
    with control_dependencies([grad]):
        return [softplus_grad_op(grad, x), grad * dy / (exp(-x) + 2.0 + exp(x))]


softsign_op = op(f"Softsign(features: T) -> activations: T; T: {_FLOATS}", batching="vmap")
softsign_op.shape(activation_shape)
softsign_op.samples(activation_samples)


def _softsign(features: Any) -> torch.Tensor:
    return torch.div(features, features.abs().add_(1))


@softsign_op.kernel
def softsign_kernel(node: Node) -> Kernel:
    return node.call(_softsign, node.inputs[0])


@softsign_op.gradient
def softsign_gradient(node: Node, grad: Tensor) -> Gradients:
    return softsign_grad_op(grad, node.inputs[0])


softsign_grad_op = op(f"SoftsignGrad(gradients: T, features: T) -> backprops: T; T: {_FLOATS}")
softsign_grad_op.shape(activation_grad_shape)
softsign_grad_op.check(same_as_first)
softsign_grad_op.samples(activation_grad_samples)


def _softsign_backward(grad: Any, features: Any) -> torch.Tensor:
    return grad / features.abs().add_(1).square_()


@softsign_grad_op.kernel
def softsign_grad_kernel(node: Node) -> Kernel:
    return node.call(_softsign_backward, *node.inputs)


# ---- public functions


@export("nn.relu")
def relu(features: Any, name: str | None = None) -> Tensor:
    """`max(features, 0)`, element by element; any real type.

    Args:
      features: a tensor of a real type.
      name: of the operation.

    Returns:
      A tensor of the type and shape of `features`.

    Example:
      >>> print(tf.Session().run(tf.nn.relu([-1.0, 0.0, 2.0])))
      [0. 0. 2.]
    """
    return relu_op(features, name=name)


@export("nn.relu6")
def relu6(features: Any, name: str | None = None) -> Tensor:
    """`min(max(features, 0), 6)`, element by element; any real type.

    Args:
      features: a tensor of a real type.
      name: of the operation.

    Returns:
      A tensor of the type and shape of `features`.

    Example:
      >>> print(tf.Session().run(tf.nn.relu6([-1.0, 3.0, 8.0])))
      [0. 3. 6.]
    """
    with name_scope(name, "Relu6", [features]) as scope:
        features = convert_to_tensor(features, name="features")
        return relu6_op(features, name=scope)


@export("nn.crelu")
def crelu(features: Any, name: str | None = None, axis: int = -1) -> Tensor:
    """Relu of `features` and of `-features`, joined along `axis`."""
    with name_scope(name, "CRelu", [features]) as scope:
        features = convert_to_tensor(features, name="features")
        return relu_op(concat([features, -features], axis, name=scope))


@export("nn.leaky_relu")
def leaky_relu(features: Any, alpha: Any = 0.2, name: str | None = None) -> Tensor:
    """`features` where positive, else `alpha * features`.

    Args:
      features: floating-point; integers are converted to float32.
      alpha: the slope below 0, a number.

    Example:
      >>> print(tf.Session().run(tf.nn.leaky_relu([-4.0, 2.0], alpha=0.25)))
      [-1.  2.]
    """
    with name_scope(name, "LeakyRelu", [features, alpha]) as scope:
        x: Any = convert_to_tensor(features, name="features")
        slope = alpha.item() if isinstance(alpha, np.ndarray) else alpha
        x = cast(x, dtypes.float32) if x.dtype.is_integer else x
        return leaky_relu_op(x, alpha=slope, name=scope)


@export("nn.elu")
def elu(features: Any, name: str | None = None) -> Tensor:
    """`features` where positive, else `exp(features) - 1`.

    Args:
      features: a tensor of floats.
      name: of the operation.

    Returns:
      A tensor of the type and shape of `features`.

    Example:
      >>> print(tf.Session().run(tf.nn.elu([-1000.0, 0.0, 2.0])))
      [-1.  0.  2.]
    """
    return elu_op(features, name=name)


@export("nn.selu")
def selu(features: Any, name: str | None = None) -> Tensor:
    """Return the scaled `elu` that keeps mean 0 and variance 1."""
    return selu_op(features, name=name)


@export("nn.softplus", "math.softplus")
def softplus(features: Any, name: str | None = None) -> Tensor:
    """`log(exp(features) + 1)`, without overflow.

    Args:
      features: a tensor of floats.
      name: of the operation.

    Returns:
      A tensor of the type and shape of `features`.

    Example:
      >>> print(tf.Session().run(tf.nn.softplus([-100.0, 100.0])).round(3))
      [  0. 100.]
    """
    return softplus_op(features, name=name)


@export("nn.softsign", "math.softsign")
def softsign(features: Any, name: str | None = None) -> Tensor:
    """`features / (abs(features) + 1)`."""
    return softsign_op(features, name=name)


@export("math.log_sigmoid", "log_sigmoid")
@dispatchable
def log_sigmoid(x: Any, name: str | None = None) -> Tensor:
    """Return the logarithm of `sigmoid(x)`, element by element, for any `x`."""
    with name_scope(name, "LogSigmoid", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return neg_op(softplus_op(-x), name=scope)
