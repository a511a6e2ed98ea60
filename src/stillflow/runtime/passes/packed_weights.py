"""Lay constant weights out for oneDNN once, as in frozen graphs, and add what follows with them.

    Conv2D(x, filter) -> FusedBatchNorm -> AddV2(shortcut)    one call
    MatMul(x, kernel) -> BiasAdd                              one call

Filters and kernels that no other step takes are dropped: the packed weights are as large.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from stillflow.graph.dims import same
from stillflow.ops.linalg import onednn_products
from stillflow.ops.nn import convolution as kernels
from stillflow.ops.nn import depthwise, packed_weights
from stillflow.ops.nn.bias import DenseGelu
from stillflow.ops.nn.convolution import Geometry
from stillflow.ops.nn.packed_weights import Normalized
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Name, Step, fuse

_CONVOLUTIONS = (kernels.convolution, depthwise.convolve)


def pack_weights(graph: StepGraph) -> None:
    """Replace convolutions and products with constant weights by calls with packed ones."""
    if not packed_weights.is_available():
        return
    for step in graph.steps:  # what is fused already, too
        if step.op is None or step not in graph:
            continue
        function = step.function
        if function is torch.mm or isinstance(function, DenseGelu):
            pack = _pack_product
        elif function in _CONVOLUTIONS or isinstance(function, Normalized):
            pack = _pack_convolution
        else:
            continue
        if graph.is_on_cpu(step.op):
            pack(graph, step)


def _pack_convolution(graph: StepGraph, step: Step) -> None:
    found = _weight(graph, step)
    if found is None:
        return
    weight, offset, geometry = found
    if not packed_weights.packs_convolution(weight, geometry):
        return
    parts = [step]
    if offset is None:
        offset = _take_offset(graph, parts, weight.shape[0])
    arguments = [step.arguments[0], *_take_other(graph, parts)]
    _replace(graph, parts, packed_weights.convolution(weight, offset, geometry), arguments)


def _weight(graph: StepGraph, step: Step) -> tuple[Any, Any, Geometry] | None:
    """Return the weight as torch sees it, the offset that is there already, and the geometry."""
    _, filter, *rest = step.arguments
    offset, function = None, step.function
    if isinstance(function, Normalized):
        offset, *rest = rest
        function = function.convolve
    elif step.fused:
        return None
    weight, offset = graph.constant(filter), graph.constant(offset)
    geometry = rest[0] if rest else None
    if weight is None or weight.dtype is not torch.float32 or not isinstance(geometry, Geometry):
        return None
    if function is kernels.convolution:
        return kernels.filter_in(weight, geometry), offset, geometry
    is_depthwise = function is depthwise.convolve and tuple(weight.shape[:2]) != (1, 1)
    return (depthwise.weight_in(weight), offset, geometry) if is_depthwise else None


def _pack_product(graph: StepGraph, step: Step) -> None:
    gelu = step.function if isinstance(step.function, DenseGelu) else None
    if step.op is None or (gelu is None and step.fused):
        return
    kernel, dims = graph.constant(step.arguments[1]), graph.dims(step.op._inputs[0])
    rows = dims[0] if dims else None
    if kernel is None or kernel.dtype is not torch.float32 or rows is None:
        return
    if rows * kernel.numel() < onednn_products.LEAST:
        return
    parts = [step]
    if gelu is None:
        offset = _take_offset(graph, parts, kernel.shape[1])
    else:
        offset = graph.constant(step.arguments[2])
        if offset is None:
            return
    run = packed_weights.dense(kernel, offset, rows)
    if gelu is not None:
        run = _then(run, gelu.of)
    _replace(graph, parts, run, [step.arguments[0]])


def _then(first: Callable[[Any], Any], second: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: second(first(x))


def _take_offset(graph: StepGraph, parts: list[Step], channels: int) -> Any:
    """Return the constant vector that the only consumer adds, which becomes a part; or None."""
    addition = graph.sole_consumer(parts[-1], 0, torch.add)
    if addition is None or len(addition.arguments) != 2:
        return None
    offset = graph.constant(addition.arguments[1])
    if offset is None or offset.dtype is not torch.float32 or tuple(offset.shape) != (channels,):
        return None
    parts.append(addition)
    return offset


def _take_other(graph: StepGraph, parts: list[Step]) -> list[Any]:
    """Return the image of this shape that the only consumer adds, which becomes a part."""
    addition = graph.sole_consumer(parts[-1], 0, torch.add)
    if addition is None or addition.op is None or len(addition.arguments) != 2:
        return []
    others = [each for each in addition.arguments if each != parts[-1].outputs[0]]
    if len(others) != 1 or not same(*(graph.dims(tensor) for tensor in addition.op._inputs)):
        return []
    other = others[0]
    if not isinstance(other, Name) or not graph.is_stable(other):
        return []
    if not graph.is_produced_before(other, parts[0]):
        return []
    producer = graph.producer(other)
    if producer is not None and producer.guard not in ((), parts[0].guard):
        return []
    parts.append(addition)
    return [other]


def _replace(
    graph: StepGraph, parts: list[Step], run: Callable[..., Any], arguments: list[Any]
) -> None:
    step = fuse(parts, parts[-1].outputs[:1], run, arguments)
    graph.replace(parts, step, at=parts[0])
    graph.drop_constants(name for part in parts for name in part.inputs)
