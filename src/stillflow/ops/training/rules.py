"""The update rules of optimizers, in place on torch tensors.

Each takes the variable and its slots, then scalars and the gradient by name. Scalars are 0-d
tensors, so that nothing waits for a device. The same rule serves dense updates and, on gathered
rows, sparse ones.
"""

from __future__ import annotations

from typing import Any

from stillflow.graph.lazy import torch


def gradient_descent(var: Any, *, alpha: Any, delta: Any) -> None:
    var.addcmul_(delta, alpha, value=-1)


def proximal_gradient_descent(var: Any, *, alpha: Any, l1: Any, l2: Any, delta: Any) -> None:
    """Forward-backward splitting (Duchi and Singer, 2009)."""
    var.addcmul_(delta, alpha, value=-1)
    _shrink(var, alpha, l1, l2)


def _shrink(var: Any, rate: Any, l1: Any, l2: Any) -> None:
    if l1 > 0:
        var.copy_(var.sign() * (var.abs() - rate * l1).clamp_min(0))
    var.div_(1 + l2 * rate)


def adadelta(
    var: Any, accum: Any, accum_update: Any, *, lr: Any, rho: Any, epsilon: Any, grad: Any
) -> None:
    """Zeiler (2012)."""
    accum.mul_(rho).add_(grad.square() * (1 - rho))
    update = (accum_update + epsilon).sqrt() * (accum + epsilon).rsqrt() * grad
    var.sub_(update * lr)
    accum_update.mul_(rho).add_(update.square() * (1 - rho))


def adagrad(var: Any, accum: Any, *, lr: Any, grad: Any, update_slots: bool = True) -> None:
    """Duchi, Hazan and Singer (2011)."""
    if update_slots:
        accum.addcmul_(grad, grad)
    var.sub_(grad * lr * accum.rsqrt())


def adagrad_v2(
    var: Any, accum: Any, *, lr: Any, epsilon: Any, grad: Any, update_slots: bool = True
) -> None:
    if update_slots:
        accum.addcmul_(grad, grad)
    var.sub_(grad * lr / (accum.sqrt() + epsilon))


def proximal_adagrad(var: Any, accum: Any, *, lr: Any, l1: Any, l2: Any, grad: Any) -> None:
    accum.addcmul_(grad, grad)
    rate = lr * accum.rsqrt()
    var.sub_(grad * rate)
    _shrink(var, rate, l1, l2)


def adagrad_da(
    var: Any,
    gradient_accumulator: Any,
    gradient_squared_accumulator: Any,
    *,
    grad: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    global_step: Any,
) -> None:
    """Dual averaging, section 2 of Duchi, Hazan and Singer (2011)."""
    gradient_accumulator.add_(grad)
    gradient_squared_accumulator.addcmul_(grad, grad)
    step = global_step.to(var.dtype)
    total = gradient_accumulator
    if l1 > 0:
        total = total.sign() * (total.abs() - step * l1).clamp_min(0)
    var.copy_(-lr * total / (l2 * (step * lr) + gradient_squared_accumulator.sqrt()))


def ftrl(
    var: Any, accum: Any, linear: Any, *, grad: Any, lr: Any, l1: Any, l2: Any, lr_power: Any
) -> None:
    """Follow the regularized leader (McMahan et al., 2013)."""
    _ftrl(var, accum, linear, grad, grad, lr, l1, l2, lr_power)


def ftrl_v2(
    var: Any,
    accum: Any,
    linear: Any,
    *,
    grad: Any,
    lr: Any,
    l1: Any,
    l2: Any,
    l2_shrinkage: Any,
    lr_power: Any,
) -> None:
    _ftrl(var, accum, linear, grad, grad + 2 * l2_shrinkage * var, lr, l1, l2, lr_power)


def _ftrl(
    var: Any, accum: Any, linear: Any, grad: Any, shrunk: Any, lr: Any, l1: Any, l2: Any, power: Any
) -> None:
    new_accum = accum + grad.square()
    if power == -0.5:
        new_root, old_root = new_accum.sqrt(), accum.sqrt()
    else:
        new_root, old_root = new_accum.pow(-power), accum.pow(-power)
    linear.add_(shrunk - (new_root - old_root) / lr * var)
    quadratic = new_root / lr + 2 * l2
    pre_shrink = (l1 * linear.sign() - linear) / quadratic
    var.copy_(torch.where(linear.abs() > l1, pre_shrink, torch.zeros_like(var)))
    accum.copy_(new_accum)


def momentum(
    var: Any, accum: Any, *, lr: Any, grad: Any, momentum: Any, use_nesterov: bool = False
) -> None:
    accum.mul_(momentum).add_(grad)
    if use_nesterov:
        var.sub_(grad * lr + accum * momentum * lr)
    else:
        var.addcmul_(accum, lr, value=-1)


def keras_momentum(
    var: Any, accum: Any, *, lr: Any, grad: Any, momentum: Any, use_nesterov: bool = False
) -> None:
    step = grad * lr
    accum.mul_(momentum).sub_(step)
    if use_nesterov:
        var.add_(accum * momentum - step)
    else:
        var.add_(accum)


def adam(
    var: Any,
    m: Any,
    v: Any,
    *,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
    use_nesterov: bool = False,
) -> None:
    """Kingma and Ba (2015), in the form before section 2.1 ("epsilon hat")."""
    rate = lr * (1 - beta2_power).sqrt() / (1 - beta1_power)
    m.add_((grad - m) * (1 - beta1))
    v.add_((grad.square() - v) * (1 - beta2))
    direction = grad * (1 - beta1) + beta1 * m if use_nesterov else m
    var.sub_(direction * rate / (v.sqrt() + epsilon))


def adam_with_amsgrad(
    var: Any,
    m: Any,
    v: Any,
    vhat: Any,
    *,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
) -> None:
    """Reddi et al. (2018)."""
    rate = lr * (1 - beta2_power).sqrt() / (1 - beta1_power)
    m.add_((grad - m) * (1 - beta1))
    v.add_((grad.square() - v) * (1 - beta2))
    torch.maximum(vhat, v, out=vhat)
    var.sub_(m * rate / (vhat.sqrt() + epsilon))


def adamax(
    var: Any,
    m: Any,
    v: Any,
    *,
    beta1_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    grad: Any,
) -> None:
    """Section 7.1 of Kingma and Ba (2015)."""
    m.add_((grad - m) * (1 - beta1))
    torch.maximum(v.mul_(beta2), grad.abs(), out=v)
    var.sub_(lr / (1 - beta1_power) * (m / (v + epsilon)))


def rms_prop(
    var: Any, ms: Any, mom: Any, *, lr: Any, rho: Any, momentum: Any, epsilon: Any, grad: Any
) -> None:
    """Tieleman and Hinton (2012)."""
    ms.add_((grad.square() - ms) * (1 - rho))
    mom.mul_(momentum).add_(grad * lr / (ms + epsilon).sqrt())
    var.sub_(mom)


def centered_rms_prop(
    var: Any,
    mg: Any,
    ms: Any,
    mom: Any,
    *,
    lr: Any,
    rho: Any,
    momentum: Any,
    epsilon: Any,
    grad: Any,
) -> None:
    """Graves (2013)."""
    ms.add_((grad.square() - ms) * (1 - rho))
    mg.add_((grad - mg) * (1 - rho))
    mom.mul_(momentum).add_(grad * lr / (ms - mg.square() + epsilon).sqrt())
    var.sub_(mom)


def add_sign(
    var: Any, m: Any, *, lr: Any, alpha: Any, sign_decay: Any, beta: Any, grad: Any
) -> None:
    """Bello et al. (2017)."""
    m.mul_(beta).add_(grad * (1 - beta))
    var.sub_(lr * (alpha + sign_decay * (grad.sign() * m.sign())) * grad)


def power_sign(
    var: Any, m: Any, *, lr: Any, logbase: Any, sign_decay: Any, beta: Any, grad: Any
) -> None:
    """Bello et al. (2017)."""
    m.mul_(beta).add_(grad * (1 - beta))
    var.sub_(lr * (logbase * sign_decay * (grad.sign() * m.sign())).exp() * grad)
