"""Multiply large matrices by the library that is the faster one on this processor."""

from __future__ import annotations

from math import prod
from typing import Any

import torch

from stillflow.graph.dims import num_elements
from stillflow.ops.linalg import matmul, onednn_products
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Step

_TRANSPOSES: dict[Any, tuple[bool, bool]] = {
    torch.mm: (False, False), matmul.mm_ta: (True, False), matmul.mm_tb: (False, True),
    matmul.mm_ta_tb: (True, True),
}  # fmt: skip


def choose_products(graph: StepGraph) -> None:
    """Let oneDNN compute MatMul of float32 matrices that are large, or of unknown size."""
    if not onednn_products.is_faster():
        return
    for step in graph.calls(tuple(_TRANSPOSES)):
        if _may_be_large(graph, step):
            transposes = _TRANSPOSES[step.function]
            graph.change(step, function=onednn_products.product(*transposes))


def _may_be_large(graph: StepGraph, step: Step) -> bool:
    op = step.op
    if op is None or op._outputs[0].dtype.name != "float32" or not graph.is_on_cpu(op):
        return False
    sizes = [num_elements(graph.dims(tensor)) for tensor in (*op._inputs, op._outputs[0])]
    known = [size for size in sizes if size is not None]
    # Each of rows, columns and what is between them is part of two shapes.
    return len(known) < 3 or prod(known) >= onednn_products.LEAST**2
