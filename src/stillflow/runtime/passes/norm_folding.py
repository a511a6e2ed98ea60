"""Fold batch normalization with constants, as in frozen graphs, into the convolution before it.

The filter takes what the normalization multiplies by; what it adds is added to the convolution in
its memory. The image is read and written once less.
"""

from __future__ import annotations

from typing import Any

import torch

from stillflow.ops.nn import batch_norm
from stillflow.ops.nn.packed_weights import Normalized
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Name, Step, fuse
from stillflow.runtime.passes.patterns import Call, match_argument

_CONVOLUTION = Call(("Conv2D", "DepthwiseConv2dNative"))
BEFORE_NORM = Call("BiasAdd", _CONVOLUTION, optional=True)


def fold_normalizations(graph: StepGraph) -> None:
    """Replace FusedBatchNorm(BiasAdd(Conv2D)) with constants by one convolution and a sum.

    Filters and offsets are added to the constants of the graph; those that nobody needs any more,
    which are as large, are dropped.
    """
    for norm in graph.calls(batch_norm.infer):
        if any(graph.uses(name) for name in norm.outputs[1:]):
            continue
        before = match_argument(BEFORE_NORM, graph, norm, 0)
        if before is None:
            continue
        parts = [*reversed(before), norm]
        folded = _folded(parts, graph)
        if folded is None:
            continue
        graph.replace(parts, folded, at=parts[0])
        graph.drop_constants(name for part in parts for name in part.inputs)


def _folded(parts: list[Step], graph: StepGraph) -> Step | None:
    """One step for a convolution, perhaps a bias, and a normalization.

    None if not everything but the image is constant, or the factors are not finite.
    """
    convolution, *biases, norm = parts
    image, filter, *rest = convolution.arguments
    *given, epsilon, first, _ = norm.arguments[1:]
    taken = [filter, *given, *(bias.arguments[1] for bias in biases)]
    known = [_float32(graph.constant(name)) for name in taken]
    if any(each is None for each in known):
        return None
    weights, scale, offset, mean, variance, *bias = known
    factor = scale.double() * torch.rsqrt(variance.double() + epsilon)
    shift = offset.double() - (mean.double() - sum(bias)) * factor
    if not (factor.isfinite().all() and shift.isfinite().all()):
        return None
    assert convolution.op is not None and convolution.function is not None
    is_depthwise = convolution.op.type == "DepthwiseConv2dNative"
    of_filter = factor.reshape(weights.shape[2:]) if is_depthwise else factor
    names = [Name(f"{norm.outputs[0]}_{part}") for part in ("filter", "offset")]
    graph.constants[names[0]] = (weights * of_filter).float()
    graph.constants[names[1]] = shift.float().reshape(-1, 1, 1) if first else shift.float()
    arguments = [image, *names, *rest]
    return fuse(parts, norm.outputs[:1], Normalized(convolution.function), arguments)


def _float32(value: Any) -> Any:
    return value if isinstance(value, torch.Tensor) and value.dtype is torch.float32 else None
