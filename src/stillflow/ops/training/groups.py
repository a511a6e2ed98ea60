"""Update rules applied to many variables in one call, where torch has such calls."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops.training import native_kernels, rules

# Number of steps after which Adam's bias correction is 1: TF's rule puts it into the rate.
_MANY_STEPS = 1e9

GroupRule = Callable[..., None]


# Pieces of variables that are updated together: so many numbers stay in a processor's cache from
# one operation of a rule to the next.
_PIECE = 1 << 16


def _pieces(columns: Sequence[Sequence[Any]]) -> Iterator[list[list[Any]]]:
    """Variables, slots and gradients in batches of about `_PIECE` numbers, large ones cut up."""
    batch: list[list[Any]] = [[] for _ in columns]
    size = 0
    for row in zip(*columns, strict=True):
        count = row[0].numel()
        parts: Any = (row,)
        if count > _PIECE:
            parts = zip(*(tensor.view(-1).split(_PIECE) for tensor in row), strict=True)
        for part in parts:
            for column, tensor in zip(batch, part, strict=True):
                column.append(tensor)
            size += part[0].numel()
            if size >= _PIECE:
                yield batch
                batch, size = [[] for _ in columns], 0
    if size:
        yield batch


def _fits(tensor: Any) -> bool:
    return tensor.is_contiguous() and tensor.dtype in (torch.float32, torch.float64)


def _all_fit(columns: Sequence[Sequence[Any]]) -> bool:
    return all(_fits(tensor) for column in columns for tensor in column)


def _one_by_one(
    rule: Callable[..., None], columns: Sequence[Sequence[Any]], scalars: dict[str, Any]
) -> None:
    device = columns[0][0].device
    there = {
        name: value if isinstance(value, bool) else value.to(device)
        for name, value in scalars.items()
    }
    for *state, grad in zip(*columns, strict=True):
        rule(*state, grad=grad, **there)


def _grouped(update: GroupRule, one: Callable[..., None], loop: Callable[..., bool]) -> GroupRule:
    """Return a rule for many variables, made of a rule for lists of tensors and one for a tensor.

    The first gets scalars as Python numbers, and contiguous tensors in single or double precision,
    as does a loop, which says whether it has run.
    """

    def rule(states: Sequence[Sequence[Any]], grads: Sequence[Any], **scalars: Any) -> None:
        columns = [*states, grads]
        if not _all_fit(columns):
            _one_by_one(one, columns, scalars)
            return
        numbers = {
            name: value if isinstance(value, bool) else float(value)
            for name, value in scalars.items()
        }
        if grads[0].device.type != "cpu":
            update(*columns, **numbers)
            return
        if loop(columns, **numbers):
            return
        for batch in _pieces(columns):
            update(*batch, **numbers)

    return rule


def _has_wide_rate(columns: Sequence[Sequence[Any]], rate: Any) -> bool:
    """Return True if torch would read a GPU's float64 rate as single precision."""
    return not rate.is_cpu and columns[0][0].dtype == torch.float64


def gradient_descent(states: Sequence[Sequence[Any]], grads: Sequence[Any], *, alpha: Any) -> None:
    (variables,) = states
    if not alpha.is_cpu:  # to read it would wait for all that is computed before
        torch._foreach_sub_(variables, torch._foreach_mul(grads, alpha))
    else:
        torch._foreach_add_(variables, grads, alpha=-float(alpha))


def momentum(
    states: Sequence[Sequence[Any]],
    grads: Sequence[Any],
    *,
    lr: Any,
    momentum: Any,
    use_nesterov: bool = False,
) -> None:
    columns = [*states, grads]
    rate, kept = float(lr) if lr.is_cpu else lr, float(momentum)
    if not kept or not _all_fit(columns) or _has_wide_rate(columns, lr):
        # Of a momentum of 0 torch keeps none.
        scalars = {"lr": lr, "momentum": momentum, "use_nesterov": use_nesterov}
        _one_by_one(rules.momentum, columns, scalars)
        return
    variables, accumulators = states
    torch._fused_sgd_(
        variables, grads, accumulators, lr=rate, momentum=kept, nesterov=use_nesterov,
        weight_decay=0.0, dampening=0.0, maximize=False, is_first_step=False,
    )  # fmt: skip


def _adagrad(
    variables: Any, sums: Any, grads: Any, *, lr: float, update_slots: bool = True
) -> None:
    if update_slots:
        torch._foreach_addcmul_(sums, grads, grads)
    torch._foreach_addcdiv_(variables, grads, torch._foreach_sqrt(sums), -lr)


def _average(averages: Any, values: Any, others: Any, decay: float) -> None:
    """`averages` of the products of `values` and `others`, over time."""
    torch._foreach_mul_(averages, decay)
    torch._foreach_addcmul_(averages, values, others, 1 - decay)


def _adadelta(
    variables: Any,
    sums: Any,
    steps: Any,
    grads: Any,
    *,
    lr: float,
    rho: float,
    epsilon: float,
) -> None:
    _average(sums, grads, grads, rho)
    update = torch._foreach_add(steps, epsilon)
    torch._foreach_div_(update, torch._foreach_add(sums, epsilon))
    torch._foreach_sqrt_(update)
    torch._foreach_mul_(update, grads)
    torch._foreach_add_(variables, update, alpha=-lr)
    _average(steps, update, update, rho)


def _step_by_root(
    variables: Any, moments: Any, grads: Any, squares: Any, lr: float, momentum: float
) -> None:
    """RMSProp's last part; `squares` are overwritten."""
    torch._foreach_sqrt_(squares)
    torch._foreach_mul_(moments, momentum)
    torch._foreach_addcdiv_(moments, grads, squares, lr)
    torch._foreach_sub_(variables, moments)


def _rms_prop(
    variables: Any,
    squares: Any,
    moments: Any,
    grads: Any,
    *,
    lr: float,
    rho: float,
    momentum: float,
    epsilon: float,
) -> None:
    _average(squares, grads, grads, rho)
    above_zero = torch._foreach_add(squares, epsilon)
    _step_by_root(variables, moments, grads, above_zero, lr, momentum)


def _centered_rms_prop(
    variables: Any,
    means: Any,
    squares: Any,
    moments: Any,
    grads: Any,
    *,
    lr: float,
    rho: float,
    momentum: float,
    epsilon: float,
) -> None:
    _average(squares, grads, grads, rho)
    torch._foreach_mul_(means, rho)
    torch._foreach_add_(means, grads, alpha=1 - rho)
    variances = torch._foreach_addcmul(squares, means, means, -1)
    torch._foreach_add_(variances, epsilon)
    _step_by_root(variables, moments, grads, variances, lr, momentum)


def _ftrl(
    variables: Any,
    sums: Any,
    linear: Any,
    grads: Any,
    *,
    lr: float,
    l1: float,
    l2: float,
    lr_power: float,
    l2_shrinkage: float = 0.0,
) -> None:
    def power(values: Any) -> tuple[torch.Tensor, ...]:
        return (
            torch._foreach_sqrt(values)
            if lr_power == -0.5
            else torch._foreach_pow(values, -lr_power)
        )

    old = power(sums)
    torch._foreach_addcmul_(sums, grads, grads)
    new = power(sums)
    torch._foreach_sub_(old, new)
    torch._foreach_add_(linear, grads)
    if l2_shrinkage:
        torch._foreach_add_(linear, variables, alpha=2 * l2_shrinkage)
    torch._foreach_addcmul_(linear, old, variables, 1 / lr)
    torch._foreach_div_(new, lr)
    torch._foreach_add_(new, 2 * l2)
    shrunk = torch._foreach_clamp_min(linear, -l1)
    torch._foreach_clamp_max_(shrunk, l1)
    torch._foreach_sub_(shrunk, linear)
    torch._foreach_div_(shrunk, new)
    torch._foreach_copy_(variables, shrunk)


@cache
def _steps(count: int, device: Any) -> list[Any]:
    return [torch.full((), _MANY_STEPS, dtype=torch.float32, device=device)] * count


def adam(
    states: Sequence[Sequence[Any]],
    grads: Sequence[Any],
    *,
    beta1_power: Any,
    beta2_power: Any,
    lr: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    use_nesterov: bool = False,
) -> None:
    variables, means, squares = states
    scalars = {
        "beta1_power": beta1_power, "beta2_power": beta2_power, "lr": lr, "beta1": beta1,
        "beta2": beta2, "epsilon": epsilon, "use_nesterov": use_nesterov,
    }  # fmt: skip
    columns = [*states, grads]
    wide = _has_wide_rate(columns, lr) or _has_wide_rate(columns, beta1_power)
    if use_nesterov or not _all_fit(columns) or wide:
        _one_by_one(rules.adam, columns, scalars)
        return
    if not (beta1_power.is_cpu and lr.is_cpu):
        rate = lr * (1 - beta2_power).sqrt() / (1 - beta1_power)
    else:
        rate = _adam_rate(float(lr), float(beta1_power), float(beta2_power))
    torch._fused_adam_(
        variables, grads, means, squares, [], _steps(len(grads), variables[0].device),
        lr=rate, beta1=float(beta1), beta2=float(beta2), weight_decay=0.0, eps=float(epsilon),
        amsgrad=False, maximize=False,
    )  # fmt: skip


def _adam_rate(lr: float, beta1_power: float, beta2_power: float) -> float:
    """Return the rate of a step of Adam; infinite or no number where a decay is 1 or more."""
    scaled = lr * math.sqrt(1 - beta2_power) if beta2_power <= 1 else math.nan
    if beta1_power == 1:
        return math.copysign(math.inf, scaled) if scaled else math.nan
    return scaled / (1 - beta1_power)


def moving_average(states: Sequence[Sequence[Any]], values: Sequence[Any], *, rate: float) -> None:
    (averages,) = states
    changes = torch._foreach_sub(averages, values)
    torch._foreach_mul_(changes, rate)
    torch._foreach_sub_(averages, changes)


# Rules by name, with the name of the gradient among their inputs.
GROUP_RULES: dict[str, tuple[GroupRule, str]] = {
    "GradientDescent": (gradient_descent, "delta"),
    "Adam": (adam, "grad"),
    "Momentum": (momentum, "grad"),
    "Adagrad": (_grouped(_adagrad, rules.adagrad, native_kernels.adagrad), "grad"),
    "Adadelta": (_grouped(_adadelta, rules.adadelta, native_kernels.adadelta), "grad"),
    "RMSProp": (_grouped(_rms_prop, rules.rms_prop, native_kernels.rms_prop), "grad"),
    "CenteredRMSProp": (
        _grouped(_centered_rms_prop, rules.centered_rms_prop, native_kernels.centered_rms_prop),
        "grad",
    ),
    "Ftrl": (_grouped(_ftrl, rules.ftrl, native_kernels.ftrl), "grad"),
    "FtrlV2": (_grouped(_ftrl, rules.ftrl_v2, native_kernels.ftrl), "grad"),
    "MovingAverage": (moving_average, "value"),
}
