"""Cards of operations that calls of functions are lowered to; no graph of a program has them."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node

# Orders operations without doing anything.
pivot_op = op("_Pivot()")
# Whether a value counts as true: numbers that are not zero, text and arrays that are not empty.
truth_op = op("_Truth(input: T) -> output: bool\nT: type")
# Whether a counter has not reached its limit.
counts_op = op("_Counts(i: int32, limit: int32, delta: int32) -> output: bool")
# Hands the start of a range on that can be counted.
range_op = op("_Range(start: int32, limit: int32, delta: int32) -> output: int32")

truth_op.shape(lambda node: ())
counts_op.shape(lambda node: ())


@range_op.shape
def _range_shape(node: Node) -> Any:
    for index, name in enumerate(("start", "limit", "delta")):
        if node.dims(index):
            raise ValueError(f"{name} must be a scalar")
    return ()


pivot_op.kernel(lambda node: lambda: None)
truth_op.kernel(lambda node: _truth)
counts_op.kernel(lambda node: _counts)
range_op.kernel(lambda node: _range)


def _truth(value: Any) -> Any:
    if value.ndim:
        there = value.size if isinstance(value, np.ndarray) else value.numel()
    else:
        there = len(value[()]) if isinstance(value, np.ndarray) else value
    return torch.tensor(bool(there))


def _counts(i: Any, limit: Any, delta: Any) -> Any:
    return i < limit if delta > 0 else i > limit


def _range(start: Any, limit: Any, delta: Any) -> Any:
    ahead = start <= limit if delta > 0 else start >= limit
    if not delta or not ahead:
        raise ValueError(f"Invalid start/limit/delta: {int(start)} {int(limit)} {int(delta)}")
    return start.clone()
