"""Fuse the mask of dropout: `cast(random_uniform(...) >= rate)`, written over the draws."""

from __future__ import annotations

from typing import Any

import torch

from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Name, Step, fuse
from stillflow.runtime.passes.patterns import Call, match

# `tf.random_uniform` multiplies its draws by the width of its range and adds the lowest number.
_DRAWS = Call("Mul", Call("RandomUniform"), optional=True)
MASK = Call("Cast", Call("GreaterEqual", Call(("Add", "AddV2"), _DRAWS, optional=True)))


def fuse_dropout_masks(graph: StepGraph) -> None:
    """Replace Cast(GreaterEqual(RandomUniform * 1 + 0, rate)) by one step.

    Multiplying by 1 and adding 0 changes nothing, and a comparison may give numbers at once.
    """
    for cast in graph.calls(MASK.called):
        found = match(MASK, graph, cast) if len(cast.arguments) == 2 else None
        if found is None or any(len(step.outputs) != 1 for step in found):
            continue
        _, comparison, *scaling, draw = found
        if comparison.function is not torch.ge or not all(_is_neutral(s, graph) for s in scaling):
            continue
        rate, wanted = comparison.arguments[1], str(cast.arguments[1]).removeprefix("torch.")
        if draw.op is None or draw.op.attrs["dtype"].torch_name != wanted:
            continue
        if isinstance(rate, Name) and not _is_scalar(graph.constant(rate)):
            continue
        parts = [*reversed(found[1:-1]), cast]
        mask = fuse(parts, cast.outputs, keep_mask, [Name(draw.outputs[0]), rate])
        graph.replace(parts, mask, at=cast)


def keep_mask(draws: Any, rate: Any) -> Any:
    """1 for draws that are at least the rate, else 0; nobody else needs the draws."""
    return draws.ge_(rate)


def _is_neutral(step: Step, graph: StepGraph) -> bool:
    """Return True for an addition of 0 and a multiplication by 1."""
    neutral, argument = (1 if step.function is torch.mul else 0), step.arguments[1]
    constant = graph.constant(argument) if isinstance(argument, Name) else argument
    if isinstance(constant, torch.Tensor):
        return not constant.dim() and constant.is_cpu and constant.item() == neutral
    return isinstance(constant, float | int) and constant == neutral


def _is_scalar(constant: Any) -> bool:
    return isinstance(constant, torch.Tensor) and not constant.dim()
