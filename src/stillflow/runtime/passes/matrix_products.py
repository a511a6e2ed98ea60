"""Multiply large and narrow matrices by the library that is the fastest on this processor."""

from __future__ import annotations

from math import prod
from typing import Any

import torch

from stillflow.graph.dims import num_elements
from stillflow.ops.linalg import matmul, narrow_products, onednn_products
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Step

_TRANSPOSES: dict[Any, tuple[bool, bool]] = {
    torch.mm: (False, False), matmul.mm_ta: (True, False), matmul.mm_tb: (False, True),
    matmul.mm_ta_tb: (True, True),
}  # fmt: skip


def choose_products(graph: StepGraph) -> None:
    """Choose the library that computes MatMul of float32 matrices, unless it is torch's own."""
    for step in graph.calls(tuple(_TRANSPOSES)):
        multiply = _faster(graph, step)
        if multiply is not None:
            product = onednn_products.product(multiply, _TRANSPOSES[step.function])
            graph.change(step, function=product)


def _faster(graph: StepGraph, step: Step) -> Any:
    """Return the function for a product that is narrow, or that may be large; None for others."""
    op = step.op
    if op is None or op._outputs[0].dtype.name != "float32" or not graph.is_on_cpu(op):
        return None
    made = graph.dims(op._outputs[0])
    if narrow_products.is_faster() and made is not None and made[1] in narrow_products.COLUMNS:
        return narrow_products.multiply
    sizes = [num_elements(dims) for dims in (*map(graph.dims, op._inputs), made)]
    known = [size for size in sizes if size is not None]
    # Each of rows, columns and what is between them is part of two shapes.
    may_be_large = len(known) < 3 or prod(known) >= onednn_products.LEAST**2
    return onednn_products.multiply_large if may_be_large and onednn_products.is_faster() else None
