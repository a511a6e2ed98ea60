"""Ops on sparse tensors."""

from __future__ import annotations

import numpy as np
from tests.ops.bad_inputs.case import gives, ints, longs, no_rows, ones, refused, scalar, zeros

_TWO = (longs([0, 0], [1, 1]), ones(2), longs(2, 2))

SPARSE = [
    refused("SparseFillEmptyRows", longs([0, 0]), ones(1), longs(), np.float32(0)),
    refused("SparseFillEmptyRows", longs([5, 0]), ones(1), longs(2, 2), np.float32(0)),
    refused("SparseFillEmptyRows", longs([-1, 0]), ones(1), longs(2, 2), np.float32(0)),
    refused("SparseFillEmptyRows", longs([0, 0]), ones(2), longs(2, 2), np.float32(0)),
    refused("SparseFillEmptyRows", longs([0, 0]), ones(1), longs(0, 2), np.float32(0)),
    refused("SparseFillEmptyRows", longs([0, 0]), ones(1), longs(2, 2), zeros(1)),
    refused("SparseFillEmptyRows", longs([0, 0]), ones(1), longs(2**62, 2), np.float32(0)),
    refused("SparseFillEmptyRowsGrad", longs(0, 5), ones(2)),
    refused("SparseFillEmptyRowsGrad", longs(0, -1), ones(2)),
    refused("SparseFillEmptyRowsGrad", longs(0, 1), ones(2, 2)),
    refused("SparseFillEmptyRowsGrad", longs([0, 1]), ones(2)),
    refused("SparseSplit", scalar(2, np.int64), *_TWO, num_split=1),
    refused("SparseSplit", scalar(-3, np.int64), *_TWO, num_split=1),
    refused("SparseSplit", scalar(0, np.int64), *_TWO, num_split=3),
    refused("SparseSplit", longs(0, 1), *_TWO, num_split=1),
    refused(
        "SparseSplit",
        scalar(0, np.int64),
        longs([0, 0]),
        ones(1),
        longs(2**60 - 1, 2**60 - 1),
        num_split=1,
    ),
    refused("SparseSplit", scalar(0, np.int64), longs([9, 9]), ones(1), longs(2, 2), num_split=1),
    refused("SparseReshape", longs([0, 0]), longs(2, 3), longs(4, -1)),
    refused("SparseReshape", longs([0, 0]), longs(2, 3), longs(-1, -1)),
    refused("SparseReshape", longs([0, 0]), longs(2, 3), longs(0, -1)),
    refused("SparseReshape", longs([0, 0]), longs(2, 3), longs(-2, 3)),
    gives((0, 1), "SparseReshape", no_rows(11), np.zeros(11, np.int64), longs(-1)),
    refused("SparseReshape", longs([0, 0]), longs(2**40, 2**40), longs(-1)),
    refused("SparseReshape", longs([0, 0]), longs(2, 3, 4), longs(-1)),
    *[
        refused(op, indices, ones(1), shape, axes)
        for op in (
            "SparseReduceSum",
            "SparseReduceMax",
            "SparseReduceSumSparse",
            "SparseReduceMaxSparse",
        )
        for indices, shape, axes in (
            (longs([5, 0]), longs(2, 2), ints(0)),
            (longs([0, -1]), longs(2, 2), ints(0)),
            (longs([0, 0]), longs(2, 2), ints(2)),
            (longs([0, 0]), longs(2, 2), ints(-3)),
            (longs([0, 0]), longs([2, 2]), ints(0)),
        )
    ],
    refused(
        "EditDistance", longs([4, 0]), ones(1), longs(1, 2), longs([0, 0]), ones(1), longs(1, 2)
    ),
    refused(
        "SparseConcat", [longs([0, 0])] * 2, [ones(1)] * 2, [longs(2, 2), longs(3, 3)], concat_dim=0
    ),
    refused("SparseConcat", [longs([0, 0])] * 2, [ones(1)] * 2, [longs(2, 2)] * 2, concat_dim=2),
    refused("SparseConcat", [longs([0, 0])] * 2, [ones(1)] * 2, [longs(2, 2)] * 2, concat_dim=-3),
    refused(
        "SparseConcat", [longs([0, 0])] * 2, [ones(1)] * 2, [longs(2, 2), longs(2)], concat_dim=0
    ),
    refused("SparseConcat", [longs([0, 0])] * 2, [ones(2)] * 2, [longs(2, 2)] * 2, concat_dim=0),
    refused("SparseToDense", longs([5]), ints(3), ones(1), np.float32(0)),
    refused("SparseToDense", longs([-1]), ints(3).astype(np.int64), ones(1), np.float32(0)),
    refused("SparseToDense", longs([0], [0]), longs(3), ones(2), np.float32(0)),
    refused("SparseToDense", longs([0, 0]), longs(2**40, 2**40), ones(1), np.float32(0)),
    refused("SparseToDense", longs([0]), longs(-3), ones(1), np.float32(0)),
    refused("SparseToDense", longs([0]), longs(3), ones(2), np.float32(0)),
    refused("SparseAdd", *_TWO, longs([0, 0]), ones(1), longs(3, 3), np.float32(0)),
    refused("SparseAdd", *_TWO, longs([0, 0]), ones(2), longs(2, 2), np.float32(0)),
    refused("SparseAdd", *_TWO, longs([0]), ones(1), longs(2), np.float32(0)),
    refused("SparseAddGrad", ones(3), longs([0, 0]), longs([0, 0]), longs([0, 0])),
    refused("SparseTensorDenseAdd", longs([5, 0]), ones(1), longs(2, 2), zeros(2, 2)),
    refused("SparseTensorDenseAdd", longs([0, 0]), ones(1), longs(2, 3), zeros(2, 2)),
    refused("SparseTensorDenseMatMul", longs([5, 0]), ones(1), longs(2, 2), zeros(2, 2)),
    refused("SparseTensorDenseMatMul", longs([0, 5]), ones(1), longs(2, 2), zeros(2, 2)),
    refused("SparseTensorDenseMatMul", longs([0, -1]), ones(1), longs(2, 2), zeros(2, 2)),
    refused("SparseTensorDenseMatMul", longs([0, 0]), ones(1), longs(2, 2), zeros(3, 2)),
    refused("SparseDenseCwiseMul", longs([5, 0]), ones(1), longs(2, 2), zeros(2, 2)),
    refused("SparseDenseCwiseMul", longs([0, 0]), ones(1), longs(2, 2), zeros(3, 3)),
    refused("SparseDenseCwiseAdd", longs([-1, 0]), ones(1), longs(2, 2), zeros(2, 2)),
    refused("SparseReorder", longs([0, 0], [0, 1]), ones(1), longs(2, 2)),
    refused("SparseSlice", *_TWO, longs(0), longs(1, 1)),
    refused("SparseSlice", *_TWO, longs(0, 0), longs(1)),
    refused("SparseSoftmax", longs([0, 0]), ones(2), longs(2, 2)),
    refused("SparseSoftmax", longs([0]), ones(1), longs(2)),
    refused("SparseSparseMaximum", *_TWO, longs([0, 0]), ones(1), longs(3, 2)),
    refused("SparseMatMul", zeros(2, 3), zeros(2, 3)),
    gives((0, 3), "SparseTensorDenseMatMul", no_rows(2), zeros(0), longs(0, 2), zeros(2, 3)),
    gives((2, 2), "SparseToDense", no_rows(2), longs(2, 2), zeros(0), np.float32(0)),
]
