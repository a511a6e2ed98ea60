"""Reductions over segments of rows picked from a table, used by embedding lookups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.card import Card, op
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients
from stillflow.ops.arrays import gather as gathers
from stillflow.ops.arrays import shape as shapes
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.math import segment_kernels as kernels
from stillflow.ops.math.kernels import REAL_NUMBER
from stillflow.ops.math.segment import unsorted_segment_sum
from stillflow.ops.samples import Bad, Sample, Samples

_MODES = {"Sum": ("sum", REAL_NUMBER), "Mean": ("mean", "{float, double}"),
          "SqrtN": ("sqrtn", "{float, double}")}  # fmt: skip


def _picked_shape(node: Node) -> tuple[int | None, ...] | None:
    shape = dims.with_rank_at_least(node.dims(0), 1)
    if not node.planning:
        dims.merge(dims.with_rank(node.dims(1), 1), dims.with_rank(node.dims(2), 1))
    rows = None
    if len(node.inputs) == 4:
        if not node.planning:
            dims.with_rank(node.dims(3), 0)
        rows = _rows(node, "num_segments")
    return None if shape is None else (rows, *shape[1:])


def _rows(node: Node, what: str) -> int | None:
    count = node.value(3)
    if count is None:
        return None
    if count < 0:
        if node.planning and what == "num_segments":
            raise ValueError("segment ids must be >= 0")
        raise ValueError(f"Cannot specify a negative value for {what}")
    return int(count)


def _gradient_shape(node: Node) -> Any:
    shape = dims.with_rank_at_least(node.dims(0), 1)
    if not node.planning:
        dims.merge(node.dims(2), dims.with_rank(node.dims(1), 1))
        dims.with_rank(node.dims(3), 0)
    rows = _rows(node, "output_dim0")
    return None if shape is None else (rows, *shape[1:])


_X = np.array([[1.0, -2.0], [0.5, 4.0], [3.0, 1.5], [-1.0, 2.0]], np.float32)


def _samples() -> Samples:
    yield Sample(_X, np.array([0, 3, 1, 0], np.int32), np.array([0, 0, 2, 2], np.int32))
    yield Bad(_X, np.array([0, 9], np.int32), np.array([0, 0], np.int32), match="out of range")
    yield Bad(_X, np.array([0, 1], np.int32), np.array([1, 0], np.int32), match="not increasing")


def _counted_samples() -> Samples:
    yield Sample(
        _X, np.array([0, 3], np.int32), np.array([0, 2], np.int32), np.int32(4), fixed=(3,)
    )
    yield Bad(
        _X, np.array([0, 1], np.int32), np.array([0, 4], np.int32), np.int32(3), match="must be <"
    )


def _picked_op(name: str, counted: bool) -> Card:
    mode, kinds = _MODES[name]
    extra = ", num_segments: Tnumsegments" if counted else ""
    text = f"""
        SparseSegment{name}{"WithNumSegments" if counted else ""}(data: T, indices: Tidx,
            segment_ids: int32{extra}) -> output: T
        T: {kinds}
        Tidx: {{int32, int64}} = int32
    """
    card = op(
        text + ("    Tnumsegments: {int32, int64} = int32\n" if counted else ""),
        gpu_types="floats",
        numbers=("indices", "segment_ids", *(("num_segments",) if counted else ())),
    )
    card.shape(_picked_shape)
    card.kernel(lambda node: kernels.picked_segments(mode, node.T))
    card.samples(_counted_samples if counted else _samples)
    return card


def _gradient_op(name: str) -> Card:
    mode = _MODES[name][0]
    card = op(
        f"""
        SparseSegment{name}Grad(grad: T, indices: Tidx, segment_ids: int32, output_dim0: int32)
            -> output: T
        T: {{float, double}}
        Tidx: {{int32, int64}} = int32
    """,
        gpu_types="floats",
        numbers=("indices", "segment_ids", "output_dim0"),
    )
    card.shape(_gradient_shape)
    card.kernel(lambda node: kernels.picked_gradient(mode, node.T))
    card.samples(
        lambda: iter(
            [
                Sample(
                    _X,
                    np.array([0, 3], np.int32),
                    np.array([0, 2], np.int32),
                    np.int32(5),
                    fixed=(3,),
                )
            ]
        )
    )
    return card


sparse_segment_sum_op = _picked_op("Sum", counted=False)
sparse_segment_mean_op = _picked_op("Mean", counted=False)
sparse_segment_sqrt_n_op = _picked_op("SqrtN", counted=False)
sparse_segment_sum_with_num_segments_op = _picked_op("Sum", counted=True)
sparse_segment_mean_with_num_segments_op = _picked_op("Mean", counted=True)
sparse_segment_sqrt_n_with_num_segments_op = _picked_op("SqrtN", counted=True)
sparse_segment_mean_grad_op = _gradient_op("Mean")
sparse_segment_sqrt_n_grad_op = _gradient_op("SqrtN")


@sparse_segment_sum_op.gradient
@sparse_segment_sum_with_num_segments_op.gradient
def sparse_segment_sum_gradient(node: Node, grad: Tensor) -> Gradients:
    data, indices, ids = node.inputs[:3]
    rows = shapes.shape(data)[0]
    result = unsorted_segment_sum(gathers.gather(grad, ids), indices, rows)
    return (result, *[None] * (len(node.inputs) - 1))


def _spread(node: Node, grad: Tensor, card: Card) -> tuple[Tensor | None, ...]:
    data, indices, ids = node.inputs[:3]
    rows = shapes.shape(data)[0]
    return (card(grad, indices, ids, rows), *[None] * (len(node.inputs) - 1))


@sparse_segment_mean_op.gradient
@sparse_segment_mean_with_num_segments_op.gradient
def sparse_segment_mean_gradient(node: Node, grad: Tensor) -> Gradients:
    return _spread(node, grad, sparse_segment_mean_grad_op)


@sparse_segment_sqrt_n_op.gradient
@sparse_segment_sqrt_n_with_num_segments_op.gradient
def sparse_segment_sqrt_n_gradient(node: Node, grad: Tensor) -> Gradients:
    return _spread(node, grad, sparse_segment_sqrt_n_grad_op)


def _public(plain: Card, counted: Card, name: str, what: str) -> Callable[..., Any]:
    def function(
        data: Any,
        indices: Any,
        segment_ids: Any,
        name: str | None = None,
        num_segments: Any = None,
    ) -> Tensor:
        if num_segments is None:
            return plain(data, indices, segment_ids, name=name)
        return counted(data, indices, segment_ids, num_segments, name=name)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = (
        f"{what} over segments of rows picked from `data`.\n\n"
        "Args:\n  data: a tensor, the table of rows.\n"
        "  indices: a vector of row numbers.\n"
        "  segment_ids: for each of them its segment: int32, sorted, from 0.\n"
        "  name: of the operation.\n"
        "  num_segments: how many segments there are; by default the last id plus 1.\n\n"
        "Returns:\n  One row for each segment, zeros for those without rows.\n\n"
        "Raises:\n  InvalidArgumentError: when run, for ids that are not sorted or out of range."
    )
    return dispatchable(function)


sparse_segment_sum = export("sparse.segment_sum", "sparse_segment_sum")(
    _public(
        sparse_segment_sum_op, sparse_segment_sum_with_num_segments_op, "sparse_segment_sum", "Sums"
    )
)
sparse_segment_mean = export("sparse.segment_mean", "sparse_segment_mean")(
    _public(
        sparse_segment_mean_op,
        sparse_segment_mean_with_num_segments_op,
        "sparse_segment_mean",
        "Means",
    )
)
sparse_segment_sqrt_n = export("sparse.segment_sqrt_n", "sparse_segment_sqrt_n")(
    _public(
        sparse_segment_sqrt_n_op,
        sparse_segment_sqrt_n_with_num_segments_op,
        "sparse_segment_sqrt_n",
        "Sums, divided by the square roots of the numbers of rows,",
    )
)
