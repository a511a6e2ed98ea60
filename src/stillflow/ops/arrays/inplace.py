"""InplaceUpdate, InplaceAdd, InplaceSub and Empty, which only change copies here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.ops.arrays.rows import change_rows
from stillflow.ops.kernels import ints, torch_type
from stillflow.ops.samples import Bad, Sample

_SIGNATURE = "(x: T, i: int32, v: T) -> y: T; T: type"
inplace_update_op = op("InplaceUpdate" + _SIGNATURE)
inplace_add_op = op("InplaceAdd" + _SIGNATURE)
inplace_sub_op = op("InplaceSub" + _SIGNATURE)


def _same_shape(node: Node) -> Any:
    return node.dims(0)


def _kernel(how: str) -> Callable[[Node], Any]:
    def kernel(node: Node) -> Any:
        def change(x: Any, i: Any, v: Any) -> Any:
            if i.ndim != 1:
                raise ValueError(f"i must be a vector. {dims_lib.to_string(tuple(i.shape))}")
            if len(i) and not len(x):
                raise ValueError(f"i[0] = {int(i[0])} names a row, but x has none")
            if tuple(v.shape[1:]) != tuple(x.shape[1:]) or i.shape[0] != v.shape[0]:
                raise ValueError("i and x shape doesn't match at index 0")
            result = x.copy() if isinstance(x, np.ndarray) else x.clone()
            rows = i.long() % max(1, len(x))
            flat = v.reshape(v.shape[0], -1) if v.shape[0] else v.reshape(0, 1)
            change_rows(result.reshape(x.shape[0], flat.shape[1]), rows, flat, how)
            return result

        return change

    return kernel


def _samples() -> Iterator[Any]:
    x, v = np.zeros((3, 2), np.float32), np.ones((2, 2), np.float32)
    yield Sample(x, np.array([2, 0], np.int32), v, grad=False)


for _card, _how in (
    (inplace_update_op, "update"), (inplace_add_op, "add"), (inplace_sub_op, "sub"),
):  # fmt: skip
    _card.shape(_same_shape)
    _card.kernel(_kernel(_how))
    _card.samples(_samples)

empty_op = op(
    "Empty(shape: int32) -> output: dtype; dtype: type; init: bool = false; flags: stateful"
)


@empty_op.shape
def empty_shape(node: Node) -> Any:
    dims_lib.with_rank(node.dims(0), 1)
    return node.shape_value(0)


@empty_op.samples
def empty_samples() -> Iterator[Any]:
    yield Sample([2, 0, 3], dtype=dtypes.int16, init=True)
    yield Sample([2], dtype=dtypes.string, init=True)
    yield Bad([[2]], dtype=dtypes.float32, match="must be rank 1")


@empty_op.kernel
def empty_kernel(node: Any) -> Any:
    # Memory is always cleared: what else may stand there is nobody's business.
    if node.op.attrs["dtype"] == dtypes.string:
        return lambda shape: np.full(ints(shape), b"", object)
    dtype, device = torch_type(node.op.attrs["dtype"]), node.device
    return lambda shape: torch.zeros(ints(shape), dtype=dtype, device=device)
