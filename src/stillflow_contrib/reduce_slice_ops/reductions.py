"""Sums, products and extremes of slices of a tensor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.card import Card
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow_contrib.ops.reduce_slice import (
    reduce_slice_max_op,
    reduce_slice_min_op,
    reduce_slice_prod_op,
    reduce_slice_sum_op,
)


def _reduction(card: Card, name: str, what: str, empty: str) -> Callable[..., Any]:
    def function(data: Any, indices: Any, axis: Any, name: str | None = None) -> Tensor:
        return card(data, indices, axis, name=name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{what} of slices along an axis, each from one row up to another.\n\n"
        "Args:\n  data: a tensor of numbers.\n"
        "  indices: int32 or int64: [n, 2], where each slice begins and the row after its last\n"
        "    one, which may be beyond the end; or [n + 1], where each begins and the one before\n"
        "    ends.\n"
        "  axis: an int64 scalar, from 0.\n"
        "  name: of the operation.\n\n"
        f"Returns:\n  `data` with n rows along the axis; {empty} for slices without rows.\n\n"
        "Raises:\n  InvalidArgumentError: when run, if a slice begins before the first row, or "
        "there is no such axis."
    )
    return function


reduce_slice_sum = export("contrib.reduce_slice_ops.reduce_slice_sum")(
    _reduction(reduce_slice_sum_op, "reduce_slice_sum", "The sums", "0")
)
reduce_slice_prod = export("contrib.reduce_slice_ops.reduce_slice_prod")(
    _reduction(reduce_slice_prod_op, "reduce_slice_prod", "The products", "1")
)
reduce_slice_max = export("contrib.reduce_slice_ops.reduce_slice_max")(
    _reduction(reduce_slice_max_op, "reduce_slice_max", "The maxima", "the least number")
)
reduce_slice_min = export("contrib.reduce_slice_ops.reduce_slice_min")(
    _reduction(reduce_slice_min_op, "reduce_slice_min", "The minima", "the largest number")
)
