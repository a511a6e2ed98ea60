"""Fuse Gaussian error linear units, with the dense layer before one.

BERT, GPT-2 and their like write them out, by `tanh` or `erf`:

    0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))
    x * (0.5 * (1 + erf(x / sqrt(2))))

A training step looks at the parts again for the gradient, so the pass is for inference.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import torch

from stillflow.ops.math.element_loops import tangents
from stillflow.ops.nn.bias import DenseGelu
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Called, Name, Step, fuse, is_call

_TYPES = ("float32", "float64")


def fuse_gelus(graph: StepGraph) -> None:
    """Replace the steps of a GELU by one, and those of MatMul and BiasAdd before it.

    The fused step stands where the first use of its input stood, or the addition of the bias.
    """
    for step in graph.calls((tangents, torch.erf)):
        assert step.op is not None
        approximate = "tanh" if step.function is tangents else "none"
        inside = _cube(graph, step) if approximate == "tanh" else _root(graph, step)
        found = None if inside is None else _outside(graph, step, inside[0])
        if inside is None or found is None or step.op._inputs[0].dtype.name not in _TYPES:
            continue
        (x, before), last = inside, found[-1]
        parts = [*before, step, *found]
        dense = _dense(graph, x, parts)
        if dense is None:
            gelu_kernel = partial(torch.nn.functional.gelu, approximate=approximate)
            gelu = fuse(parts, last.outputs, gelu_kernel, [x])
            graph.replace(parts, gelu, at=min(parts, key=graph.place))
        else:
            product, addition = dense
            arguments = [*product.arguments, addition.arguments[1]]
            gelu = fuse([*dense, *parts], last.outputs, DenseGelu(approximate), arguments)
            graph.replace([*dense, *parts], gelu, at=addition)


def _cube(graph: StepGraph, tanh: Step) -> tuple[Any, list[Step]] | None:
    """Return x and the steps of sqrt(2 / pi) * (x + 0.044715 * x**3); None for other ones."""
    scaled = graph.sole_producer(tanh, 0, torch.mul)
    added = None if scaled is None else _made(graph, scaled, math.sqrt(2 / math.pi), torch.add)
    if scaled is None or added is None:
        return None
    for side in (0, 1):
        small = graph.sole_producer(added, side, torch.mul)
        cube = None if small is None else _made(graph, small, 0.044715, torch.pow)
        if small is None or cube is None or not _is(graph, cube.arguments[1], 3.0):
            continue
        x = cube.arguments[0]
        return (x, [cube, small, added, scaled]) if added.arguments[1 - side] == x else None
    return None


def _root(graph: StepGraph, erf: Step) -> tuple[Any, list[Step]] | None:
    """Return x and the step of x / sqrt(2), or x * sqrt(1 / 2); None for other ones."""
    divided = graph.sole_producer(erf, 0, torch.div)
    if divided is not None and _is(graph, divided.arguments[1], math.sqrt(2)):
        return divided.arguments[0], [divided]
    scaled = graph.sole_producer(erf, 0, torch.mul)
    side = None if scaled is None else _side(graph, scaled, math.sqrt(0.5))
    return None if scaled is None or side is None else (scaled.arguments[1 - side], [scaled])


def _outside(graph: StepGraph, step: Step, x: Any) -> list[Step] | None:
    """Return the steps of 0.5 * x * (1 + step), with the factors in any order, last one last."""
    one = graph.sole_consumer(step, 0, torch.add)
    if one is None or _side(graph, one, 1.0) is None:
        return None
    first = graph.sole_consumer(one, 0, torch.mul)
    if first is None:
        return None
    other = next(side for side in (0, 1) if first.arguments[side] != one.outputs[0])
    if _is(graph, first.arguments[other], 0.5):  # x * (0.5 * (1 + step))
        last = graph.sole_consumer(first, 0, torch.mul)
        return [one, first, last] if last is not None and x in last.arguments else None
    half = graph.sole_producer(first, other, torch.mul)  # (0.5 * x) * (1 + step)
    side = None if half is None else _side(graph, half, 0.5)
    if half is None or side is None or half.arguments[1 - side] != x:
        return None
    return [one, half, first]


def _dense(graph: StepGraph, x: Any, parts: list[Step]) -> list[Step] | None:
    """Return the product and the addition that make x for these steps alone; None for others."""
    addition = graph.producer(x)
    taken = sum(list(step.arguments).count(x) for step in parts)
    if not is_call(addition, torch.add) or graph.uses(x) != taken:
        return None
    assert addition is not None
    if addition.guard != parts[0].guard or len(addition.arguments) != 2:
        return None
    product = graph.sole_producer(addition, 0, torch.mm)
    if product is None or addition.op is None or graph.writers(product, addition):
        return None
    whole, bias = (tensor._dims for tensor in addition.op._inputs)
    fits = whole and bias and len(bias) == 1 and bias[0] is not None and whole[-1] == bias[0]
    return [product, addition] if fits else None


def _made(graph: StepGraph, step: Step, number: float, called: Called) -> Step | None:
    """Return the call whose result a step multiplies by a number."""
    side = _side(graph, step, number)
    return None if side is None else graph.sole_producer(step, 1 - side, called)


def _side(graph: StepGraph, step: Step, number: float) -> int | None:
    """Return the position of a number among two arguments."""
    return next((n for n in (0, 1) if _is(graph, step.arguments[n], number)), None)


def _is(graph: StepGraph, argument: Any, number: float) -> bool:
    """Return True for a constant scalar of a value, to the precision of float32."""
    value = graph.constant(argument) if isinstance(argument, Name) else argument
    if isinstance(value, torch.Tensor) and value.dim() == 0:
        value = value.item()
    return isinstance(value, float) and math.isclose(value, number, rel_tol=1e-6)
