"""Update rules applied to many variables in one call, where torch has such calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from stillflow.graph.lazy import torch
from stillflow.ops.training import rules

# Number of steps after which Adam's bias correction is 1: TF's rule puts it into the rate.
_MANY_STEPS = 1e9

GroupRule = Callable[..., None]


def gradient_descent(
    states: Sequence[Sequence[Any]], grads: Sequence[Any], *, alpha: Any
) -> None:
    (variables,) = states
    torch._foreach_add_(variables, grads, alpha=-float(alpha))


def momentum(
    states: Sequence[Sequence[Any]],
    grads: Sequence[Any],
    *,
    lr: Any,
    momentum: Any,
    use_nesterov: bool = False,
) -> None:
    variables, accumulators = states
    rate, decay = float(lr), float(momentum)
    torch._foreach_mul_(accumulators, decay)
    torch._foreach_add_(accumulators, grads)
    if use_nesterov:
        torch._foreach_add_(variables, grads, alpha=-rate)
        rate *= decay
    torch._foreach_add_(variables, accumulators, alpha=-rate)


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
        "beta2": beta2, "epsilon": epsilon,
    }  # fmt: skip
    tensors = [*variables, *means, *squares, *grads]
    if use_nesterov or not all(_fits(tensor) for tensor in tensors):
        for *state, grad in zip(variables, means, squares, grads, strict=True):
            rules.adam(*state, grad=grad, use_nesterov=use_nesterov, **scalars)
        return
    rate = float(lr) * (1 - float(beta2_power)) ** 0.5 / (1 - float(beta1_power))
    torch._fused_adam_(
        variables, grads, means, squares, [], _steps(len(grads), variables[0].device),
        lr=rate, beta1=float(beta1), beta2=float(beta2), weight_decay=0.0, eps=float(epsilon),
        amsgrad=False, maximize=False,
    )  # fmt: skip


def _fits(tensor: Any) -> bool:
    return tensor.is_contiguous() and tensor.dtype in (torch.float32, torch.float64)


# Rules by name, with the name of the gradient among their inputs.
GROUP_RULES: dict[str, tuple[GroupRule, str]] = {
    "GradientDescent": (gradient_descent, "delta"),
    "Momentum": (momentum, "grad"),
    "Adam": (adam, "grad"),
}
