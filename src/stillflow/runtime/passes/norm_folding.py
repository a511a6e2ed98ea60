"""Normalizations with constants, as in frozen graphs, folded into the convolutions before them.

The factor of a normalization is folded into the filter, and its offset is added in the
convolution's memory: one pass over the image less, and half as many as separately.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from stillflow.ops.nn import batch_norm
from stillflow.runtime.plan.steps import Name, Step, count_uses, is_call, one_step, with_joined

_CONVOLUTIONS = ("Conv2D", "DepthwiseConv2dNative")


def fold_normalizations(
    steps: Sequence[Step], constants: dict[str, Any], kept: Sequence[str]
) -> list[Step]:
    """Make one step of a convolution and the normalization that it is made for.

    Args:
      steps: in the order in which they run.
      constants: the plan's, by name; filters and offsets are added.
      kept: names that the plan gives back.
    """
    if not any(step.function is batch_norm.infer for step in steps):
        return list(steps)
    uses = count_uses(steps, kept)
    makers = {name: number for number, step in enumerate(steps) for name in step.outputs}
    joined: dict[int, tuple[Step, Sequence[int]]] = {}
    for number, step in enumerate(steps):
        if step.function is not batch_norm.infer or step.fused:
            continue
        if any(uses[name] for name in step.outputs[1:]):
            continue
        places = [number]  # of the normalization, of a bias and of the convolution
        while (place := makers.get(str(steps[places[-1]].arguments[0]), -1)) >= 0:
            maker = steps[place]
            if uses[maker.outputs[0]] != 1 or maker.guard != step.guard:
                break
            places.append(place)
            if not is_call(maker, "BiasAdd"):
                break
        parts = [steps[each] for each in reversed(places)]
        folded = _folded(parts, constants) if len(parts) > 1 else None
        if folded is not None:
            joined[places[-1]] = folded, places[:-1]
    left = with_joined(steps, joined)
    still = count_uses(left, kept)
    for name in [name for name in constants if uses[name] and not still[name]]:
        del constants[name]  # filters are as large as what took their place
    return left


def _folded(parts: Sequence[Step], constants: dict[str, Any]) -> Step | None:
    """One step for a convolution, perhaps a bias, and a normalization.

    None if they are something else, or not everything but the image is constant.
    """
    convolution, *biases, norm = parts
    if not any(is_call(convolution, kind) for kind in _CONVOLUTIONS) or len(biases) > 1:
        return None
    image, filter, *rest = convolution.arguments
    *given, epsilon, first, _ = norm.arguments[1:]
    taken = [filter, *given, *(bias.arguments[1] for bias in biases)]
    known = [_float32(name, constants) for name in taken]
    if any(each is None for each in known):
        return None
    weights, scale, offset, mean, variance, *bias = known
    factor = scale.double() * torch.rsqrt(variance.double() + epsilon)
    shift = offset.double() - (mean.double() - sum(bias)) * factor
    if not (factor.isfinite().all() and shift.isfinite().all()):
        return None
    is_depthwise = is_call(convolution, "DepthwiseConv2dNative")
    of_filter = factor.reshape(weights.shape[2:]) if is_depthwise else factor
    names = [Name(f"{norm.outputs[0]}_{part}") for part in ("filter", "offset")]
    constants[names[0]] = (weights * of_filter).float()
    constants[names[1]] = shift.float().reshape(-1, 1, 1) if first else shift.float()
    function = _then_add(convolution.function)
    arguments = [image, *names, *rest]
    return one_step(parts, norm.outputs[:1], function, arguments)


def _float32(name: Any, constants: Mapping[str, Any]) -> Any:
    value = constants.get(str(name)) if isinstance(name, Name) else None
    is_known = isinstance(value, torch.Tensor) and value.dtype is torch.float32
    return value if is_known else None


def _then_add(convolve: Callable[..., Any] | None) -> Callable[..., Any]:
    assert convolve is not None

    def normalized(image: Any, filter: Any, offset: Any, *rest: Any) -> Any:
        return convolve(image, filter, *rest).add_(offset)

    return normalized
