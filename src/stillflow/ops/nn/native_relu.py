"""ReLU fused with its producer, and gradients of the ReLU family, in one pass over memory.

As in TF, blocked gradients are multiplied by 0, so that one that is not finite becomes NaN and is
noticed; NaN features pass nothing.
"""

from __future__ import annotations

from typing import Any

from stillflow.graph.lazy import aten, torch
from stillflow.ops import native_kernels


def relu_gradient(grad: Any, features: Any) -> Any:
    """Return the gradient of a ReLU as that of a leaky one with slope 0: a multiplication."""
    return aten.leaky_relu_backward.default(grad, features, 0, False)


def relu6_gradient(grad: Any, features: Any) -> Any:
    """Return the gradient of `min(relu(features), 6)`.

    On other devices than the CPU blocked gradients are 0 even where they are not finite: no kernel
    of torch multiplies there in one pass.
    """
    if not features.is_cpu:
        return aten.hardtanh_backward.default(grad, features, 0, 6)
    if not (grad.shape == features.shape and native_kernels.take(grad, features)):
        return relu_gradient(grad, features * (6 - features))
    return _of_each("relu6_gradient", grad, features)


def elu_gradient(grad: Any, result: Any) -> Any:
    """Return the gradient of an ELU, given its result; where that is no number it passes whole."""
    if not result.is_cpu:
        return aten.elu_backward.default(grad, 1, 1, 1, True, result)
    if not (grad.shape == result.shape and native_kernels.take(grad, result)):
        return torch.fmin(result, result.new_zeros(())).add_(1).mul_(grad)
    return _of_each("elu_gradient", grad, result)


def add_relu(x: Any, bias: Any) -> Any:
    """`relu(x + bias)`: a number is added to each of the last dimension."""
    if not native_kernels.take_channels((x,), (bias,)):
        return torch.relu_(torch.add(x, bias))
    return _added(x, bias, torch.empty_like(x))


def add_relu_(x: Any, bias: Any) -> Any:
    """`add_relu`, into the memory of `x`."""
    if native_kernels.take_channels((x,), (bias,)):
        return _added(x, bias, x)
    return x.add_(bias).relu_()


def relu_gradients(grad: Any, result: Any) -> tuple[Any, Any]:
    """Return the gradients of `add_relu`, given its result, for `x` and for `bias`."""
    if not native_kernels.take_channels((grad, result)):
        passed = relu_gradient(grad, result)
        return passed, passed.flatten(0, -2).sum(0)
    return _passed(grad, result, torch.empty_like(grad))


def relu_gradients_(grad: Any, result: Any) -> tuple[Any, Any]:
    """`relu_gradients`, the first of them in the memory of `grad`."""
    if not native_kernels.take_channels((grad, result)):
        passed = aten.leaky_relu_backward.grad_input(grad, result, 0, False, grad_input=grad)
        return passed, passed.flatten(0, -2).sum(0)
    return _passed(grad, result, grad)


def gradient_of_sum(one: Any, other: Any, result: Any) -> Any:
    """Return the gradient of a ReLU whose result goes two ways."""
    return _gradient_of_sum(one, other, result, None)


def gradient_of_sum_(one: Any, other: Any, result: Any) -> Any:
    """`gradient_of_sum`, in the memory of the first gradient."""
    return _gradient_of_sum(one, other, result, one)


def _gradient_of_sum(one: Any, other: Any, result: Any, out: Any) -> Any:
    if not (one.shape == other.shape == result.shape and native_kernels.take(one, other, result)):
        return relu_gradient(torch.add(one, other, out=out), result)
    out = torch.empty_like(one) if out is None else out
    native_kernels.call("relu_gradient_of_sum", one.data_ptr(), other.data_ptr(), result.data_ptr(),
               one.numel(), out.data_ptr())  # fmt: skip
    return out


def _of_each(name: str, grad: Any, shown: Any) -> Any:
    out = torch.empty_like(grad)
    native_kernels.call(name, grad.data_ptr(), shown.data_ptr(), grad.numel(), out.data_ptr())
    return out


def _added(x: Any, bias: Any, out: Any) -> Any:
    channels = bias.shape[0]
    native_kernels.call("add_bias_relu", x.data_ptr(), x.numel() // channels, channels,
                      bias.data_ptr(), out.data_ptr())  # fmt: skip
    return out


def _passed(grad: Any, result: Any, out: Any) -> tuple[Any, Any]:
    channels = grad.shape[-1]
    dbias = grad.new_empty(channels)
    native_kernels.call("bias_relu_gradient", grad.data_ptr(), result.data_ptr(),
                      grad.numel() // channels, channels, out.data_ptr(),
                      dbias.data_ptr())  # fmt: skip
    return out, dbias
