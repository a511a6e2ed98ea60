"""InplaceUpdate, InplaceAdd, InplaceSub and Empty, which only change copies here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.dims import shape_text
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.arrays.rows import change_rows
from stillflow.ops.kernels import copied, ints, zeros
from stillflow.ops.memory_limits import require_room
from stillflow.ops.samples import Bad, Sample, Samples

_SIGNATURE = "(x: T, i: int32, v: T) -> y: T; T: type"
inplace_update_op = op("InplaceUpdate" + _SIGNATURE)
inplace_add_op = op("InplaceAdd" + _SIGNATURE)
inplace_sub_op = op("InplaceSub" + _SIGNATURE)


def _same_shape(node: Node) -> tuple[int | None, ...] | None:
    return node.dims(0)


def _check_rows(x: Sequence[int], i: Sequence[int], v: Sequence[int]) -> None:
    """Raise an error for shapes of rows `v` that do not fit `x` at indices `i`."""
    if len(i) == 1 and v[:1] == i and len(x) and x[1:] == v[1:]:
        return
    if len(i) != 1:
        raise ValueError(f"i must be a vector. {shape_text(i)}")
    both = f"{shape_text(x)} vs. {shape_text(v)}"
    if len(x) != len(v):
        raise ValueError(f"x and v shape doesn't match (ranks differ): {both}")
    for axis in range(1, len(x)):
        if x[axis] != v[axis]:
            raise ValueError(f"x and v shape doesn't match at index {axis} : {both}")
    if not len(v) or i[0] != v[0]:
        texts = f"{shape_text(i)} vs. {shape_text(v)}"
        raise ValueError(f"i and x shape doesn't match at index 0: {texts}")


def _kernel(how: str) -> Callable[[Node], Any]:
    def kernel(node: Node) -> Callable[..., Any]:
        if how != "update" and node.T in (dtypes.string, dtypes.bool):
            raise ValueError(f"Unsupported data type: {node.T.name}")

        def in_place(x: Any, i: Any, v: Any, copies: Any = None) -> Any:
            _check_rows(x.shape, i.shape, v.shape)
            if len(i) and not len(x):  # TF divides by zero
                raise ValueError(f"i[0] = {int(i[0])} names a row, but x has none")
            result = x if copies is None else copies(x)
            if how == "update" and len(v) == 1 and result.dtype is torch.float32:
                result[int(i) % len(x)] = v[0]
            elif prod(x.shape) and len(v):
                rows, flat = i.long() % len(x), v.reshape(len(v), -1)
                change_rows(result.reshape(len(x), -1), rows, flat, how)
            return result

        return partial(in_place, copies=copied)

    return kernel


def _samples() -> Samples:
    x, v = np.zeros((3, 2), np.float32), np.ones((2, 2), np.float32)
    yield Sample(x, np.array([2, 0], np.int32), v, grad=False)
    yield Sample(x[:, :0], np.array([1, 2], np.int32), v[:, :0], grad=False)
    yield Bad(x, np.array([2], np.int32), v[0, 0], match="ranks differ")
    yield Bad(x, np.array([2], np.int32), v[:1, :1], match=r"at index 1 : \[3,2\] vs. \[1,1\]")
    yield Bad(x, np.array([2], np.int32), v, match=r"at index 0: \[1\] vs. \[2,2\]")
    yield Bad(x[0, 0], np.array([2], np.int32), v[0, 0], match="doesn't match")
    yield Bad(x, np.array(2, np.int32), v, match="i must be a vector")


for _card, _how in (
    (inplace_update_op, "update"), (inplace_add_op, "add"), (inplace_sub_op, "sub"),
):  # fmt: skip
    _card.shape(_same_shape)
    _card.kernel(_kernel(_how))
    _card.samples(_samples)

empty_op = op(
    "Empty(shape: int32) -> output: dtype; dtype: type; init: bool = false; flags: stateful",
    numbers=("shape",),
)


@empty_op.shape
def empty_shape(node: Node) -> OutputDims:
    dims_lib.with_rank(node.dims(0), 1)
    return node.shape_value(0)


@empty_op.samples
def empty_samples() -> Samples:
    yield Sample([2, 0, 3], dtype=dtypes.int16, init=True)
    yield Sample([2], dtype=dtypes.string, init=True)
    yield Bad([[2]], dtype=dtypes.float32, match="must be rank 1")


@empty_op.kernel
def empty_kernel(node: Any) -> Kernel:
    # Memory is always cleared: its former content must not be visible.
    kind, device = node.op.attrs["dtype"], node.device

    def empty(shape: Any) -> torch.Tensor | Array:
        sizes = ints(shape)
        for size in sizes:
            if size < 0:
                raise ValueError(f"Dimension {size} must be >= 0")
        require_room(sizes, kind)
        return zeros(tuple(sizes), kind, device)

    return empty
