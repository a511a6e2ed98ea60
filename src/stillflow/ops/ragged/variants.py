"""Ragged tensors as variants, in which they pass through datasets.

A variant holds the parts of one ragged tensor, its splits and then its values; several of them
stand in an object array.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.kernels import copied, index_tensor, type_of
from stillflow.ops.ragged.rows import check_splits

ragged_tensor_to_variant_op = op(
    """
    RaggedTensorToVariant(rt_nested_splits: RAGGED_RANK*Tsplits, rt_dense_values: Tvalues)
        -> encoded_ragged: variant
    RAGGED_RANK: int >= 1
    Tvalues: type
    Tsplits: {int32, int64}
    batched_input: bool
""",
    differentiable=False,
    view=True,
    devices="host",
)
ragged_tensor_from_variant_op = op(
    """
    RaggedTensorFromVariant(encoded_ragged: variant)
        -> (output_nested_splits: output_ragged_rank*Tsplits, output_dense_values: Tvalues)
    input_ragged_rank: int >= -1
    output_ragged_rank: int >= 1
    Tvalues: type
    Tsplits: {int32, int64}
""",
    view=True,
    devices="host",
)


class Encoded(tuple[Any, ...]):
    """The parts of a ragged tensor as one run-time value."""

    shape = ()

    def copy(self) -> Encoded:
        """Return the same in memory of its own."""
        return Encoded(map(copied, self))


@ragged_tensor_to_variant_op.shape
def ragged_tensor_to_variant_shape(node: Node) -> OutputDims:
    rank = node.RAGGED_RANK
    dims.with_rank_at_least(node.dims(rank), 1)
    for place in range(rank):
        dims.with_rank(node.dims(place), 1)
    return (dims.subtract(dims.dim(node.dims(0), 0), 1),) if node.batched_input else ()


@ragged_tensor_from_variant_op.shape
def ragged_tensor_from_variant_shape(node: Node) -> OutputDims:
    made, given = node.output_ragged_rank, node.input_ragged_rank
    if given >= 0:
        dims.with_rank(node.dims(0), made - given)
    return [*[(None,)] * made, None]


@ragged_tensor_to_variant_op.kernel
def ragged_tensor_to_variant_kernel(node: Node) -> Kernel:
    if not node.batched_input:
        return lambda *parts: Encoded(parts)

    def run(*parts: Any) -> Array:
        *nested, values = parts
        check_splits(nested, len(values))
        rows = _rows(parts)
        result = np.empty(len(rows), object)
        for place, row in enumerate(rows):
            result[place] = row
        return result

    return run


def _rows(parts: Sequence[Any]) -> list[Encoded]:
    """Return the rows of a ragged tensor, each by its parts, without the outermost splits."""
    outer, *inner, values = parts
    ends = outer.tolist()
    rows = []
    for start, end in pairwise(ends):
        row = []
        for splits in inner:
            own = splits[start : end + 1]
            start, end = int(own[0]), int(own[-1])
            row.append(own - own[0])
        rows.append(Encoded([*row, values[start:end]]))
    return rows


@ragged_tensor_from_variant_op.kernel
def ragged_tensor_from_variant_kernel(node: Node) -> Kernel:
    made, asked = node.output_ragged_rank, node.input_ragged_rank
    values_dtype, splits_dtype = node.Tvalues, node.Tsplits

    def run(encoded: Any) -> tuple[torch.Tensor, torch.Tensor]:
        size = encoded.shape if isinstance(encoded, np.ndarray) else ()
        given = made - len(size) if asked == -1 else asked
        _check_ranks(made, given, len(size), asked == -1)
        items = list(encoded.reshape(-1)) if isinstance(encoded, np.ndarray) else [encoded]
        for item in items:
            _check_item(item, given, values_dtype, splits_dtype)
        if not size:
            return tuple(items[0])
        return _stacked(items, size, given, splits_dtype)

    return run


def _check_ranks(made: int, given: int, rank: int, inferred: bool) -> None:
    if inferred and given < 0:
        raise ValueError(
            "Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) must be >= "
            f"0, found output_ragged_rank: {made}, encoded_variant.dims(): {rank}, inferred "
            f"input_ragged_rank: {given}"
        )
    if made != rank + given:
        raise ValueError(
            "output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(); "
            f"output_ragged_rank: {made}, input_ragged_rank: {given}, encoded_variant.dims(): "
            f"{rank}."
        )


def _check_item(item: Any, rank: int, values_dtype: Any, splits_dtype: Any) -> None:
    if not isinstance(item, Encoded):
        raise ValueError("Input Variant element at index 0 doesn't hold a Tensor")
    if len(item) != rank + 1:
        raise ValueError(
            "Encoded input Variant must hold either input_ragged_rank + 1 Tensors or an empty "
            f"Tensor (zero splits Tensors, 1 values Tensor), input_ragged_rank: {rank}"
        )
    for splits in item[:-1]:
        if type_of(splits) != splits_dtype:
            raise ValueError(
                f"Expected splits Tensor dtype: {splits_dtype.name}, found: {type_of(splits).name}"
            )
    if type_of(item[-1]) != values_dtype:
        raise ValueError(
            f"Expected values Tensor dtype: {values_dtype.name}, found: {type_of(item[-1]).name}"
        )


def _stacked(
    items: Sequence[Any], size: Sequence[int], rank: int, dtype: Any
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the parts of the ragged tensor that has the given ones as its rows."""
    outer = [
        index_tensor([row * width for row in range(count + 1)], dtype)
        for count, width in pairwise(size)
    ]
    heads = [len(item[0]) - (rank > 0) for item in items]
    inner = [index_tensor([0, *accumulate(heads)], dtype)]
    for level in range(rank):
        pieces, last = [index_tensor([0], dtype)], 0
        for item in items:
            pieces.append(item[level][1:] + last)
            last += int(item[level][-1])
        inner.append(torch.cat(pieces))
    values = [item[-1] for item in items]
    join = np.concatenate if isinstance(values[0], np.ndarray) else torch.cat
    return (*outer, *inner, join(values))
