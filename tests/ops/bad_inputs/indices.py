"""Ops that follow indices: segments, gathering, scattering, searching, sets."""

from __future__ import annotations

import numpy as np
from tests.ops.bad_inputs.case import HUGE, gives, ints, longs, ones, refused, scalar, zeros

INDICES = [
    *[
        refused(f"Segment{kind}", ones(3), ids)
        for kind in ("Sum", "Mean", "Prod", "Max", "Min")
        for ids in (
            longs(0, 0, 1676240524292489355),
            longs(1, 0, 2),
            longs(-1, 0, 1),
            longs(0, 0),
            longs([0, 0, 1]),
        )
    ],
    *[gives((0, 2), f"Segment{kind}", zeros(0, 2), longs()) for kind in ("Sum", "Mean", "Max")],
    *[
        refused(f"UnsortedSegment{kind}", ones(3), ids, num)
        for kind in ("Sum", "Prod", "Max", "Min")
        for ids, num in (
            (ints(0, 0, 1), scalar(-1)),
            (ints(0, 0, 1), ints()),
            (ints(0, 0, 1), ints(2, 2)),
            (ints(0, 0, 2), scalar(2)),
            (ints(0, 0), scalar(2)),
            (ints(0, 0, 1), scalar(HUGE, np.int64)),
        )
    ],
    *[
        refused(f"SparseSegment{kind}", ones(3, 2), indices, ids)
        for kind in ("Sum", "Mean", "SqrtN")
        for indices, ids in (
            (ints(0, 3), ints(0, 0)),
            (ints(0, -1), ints(0, 0)),
            (ints(0, 1), ints(1, 0)),
            (ints(0, 1), ints(-1, 0)),
            (ints(0, 1), ints(0)),
        )
    ],
    refused("SparseSegmentSumWithNumSegments", ones(3, 2), ints(0, 1), ints(0, 1), scalar(1)),
    refused("SparseSegmentSumWithNumSegments", ones(3, 2), ints(0, 1), ints(0, 1), scalar(-1)),
    refused("SparseSegmentSumWithNumSegments", ones(3, 2), ints(0, 1), ints(0, 1), ints(1, 2)),
    *[
        refused(f"SparseSegment{kind}Grad", ones(2, 2), indices, ids, rows)
        for kind in ("Mean", "SqrtN")
        for indices, ids, rows in (
            (ints(0, 3), ints(0, 1), scalar(2)),
            (ints(0, -1), ints(0, 1), scalar(2)),
            (ints(0, 1), ints(0, 5), scalar(2)),
            (ints(0, 1), ints(0, -5), scalar(2)),
            (ints(0, 1), ints(0, 1), scalar(-2)),
            (ints(0, 1), ints(0, 1), ints(2, 2)),
        )
    ],
    refused("Gather", zeros(3, 2), ints(3)),
    refused("Gather", zeros(3, 2), ints(-1)),
    refused("Gather", zeros(0, 2), ints(0)),
    refused("GatherV2", zeros(3, 2), ints(3), scalar(0)),
    refused("GatherV2", zeros(3, 2), ints(0), scalar(2)),
    refused("GatherV2", zeros(3, 2), ints(0), scalar(-3)),
    refused("GatherV2", zeros(3, 2), ints(0), ints(0, 1)),
    refused("GatherV2", zeros(3, 2), ints(0), scalar(0), batch_dims=10),
    refused("GatherV2", zeros(3, 2), ints(0), scalar(0), batch_dims=-10),
    refused("GatherV2", zeros(3, 2), ints(0), scalar(1), batch_dims=1),
    refused("GatherV2", np.float32(1), ints(0), scalar(0)),
    refused("GatherNd", zeros(3, 2), ints([3, 0])),
    refused("GatherNd", zeros(3, 2), ints([0, -1])),
    refused("GatherNd", zeros(3, 2), ints([0, 0, 0])),
    refused("GatherNd", zeros(0, 2), ints([0, 0])),
    refused("GatherNd", zeros(3, 2), scalar(0)),
    refused("ScatterNd", ints([5]), ones(1), ints(3)),
    refused("ScatterNd", ints([-1]), ones(1), ints(3)),
    refused("ScatterNd", ints([0]), ones(2), ints(3)),
    refused("ScatterNd", ints([0, 0]), ones(1), ints(3)),
    refused("ScatterNd", longs([0, 0]), ones(1), longs(2**40, 2**40)),
    refused("ScatterNd", ints([0]), ones(1), ints(-3)),
    refused("TensorScatterUpdate", zeros(3), ints([5]), ones(1)),
    refused("TensorScatterAdd", zeros(3), ints([-1]), ones(1)),
    refused("TensorScatterSub", zeros(3), ints([0]), ones(2)),
    refused("DynamicPartition", zeros(3), ints(0, 1, 2), num_partitions=2),
    refused("DynamicPartition", zeros(3), ints(0, -1, 1), num_partitions=2),
    refused("DynamicPartition", zeros(3), ints(0, 1), num_partitions=2),
    refused("DynamicStitch", [ints(0), ints(-1)], [ones(1), ones(1)]),
    refused("DynamicStitch", [ints(0), ints(1)], [ones(1), ones(2)]),
    refused("DynamicStitch", [ints(0), ints(2**31 - 1)], [ones(1, 2048), ones(1, 2048)]),
    refused("DynamicStitch", [ints(0), ints(2**31 - 1)], [ones(1), ones(1)]),
    refused("ParallelDynamicStitch", [ints(0), ints(-1)], [ones(1), ones(1)]),
    refused("LowerBound", ones(3), ones(3)),
    refused("LowerBound", ones(2, 3), ones(3, 3)),
    refused("UpperBound", ones(3), ones(3)),
    refused("UpperBound", ones(2, 3), ones(3, 3)),
    gives((2, 0), "UpperBound", ones(2, 3), ones(2, 0)),
    refused("HistogramFixedWidth", np.float32([np.nan]), np.float32([1, 1]), scalar(3)),
    refused("HistogramFixedWidth", np.float32([0.5]), np.float32([1, 0]), scalar(3)),
    refused("HistogramFixedWidth", np.float32([0.5]), np.float32([0, 1]), scalar(0)),
    refused("HistogramFixedWidth", np.float32([0.5]), np.float32([0, 1]), scalar(-1)),
    refused("HistogramFixedWidth", np.float32([0.5]), np.float32([0]), scalar(3)),
    refused("Bincount", ints(1, -1), scalar(3), zeros(0)),
    refused("Bincount", ints(1, 1), scalar(-3), zeros(0)),
    refused("Bincount", ints(1, 1), scalar(3), zeros(1)),
    refused("SetSize", longs([0, 0]), ints(1), longs([2, 2])),
    refused("SetSize", longs(0, 0), ints(1), longs(2, 2)),
    refused("SetSize", longs([5, 0]), ints(1), longs(2, 2)),
    refused("SetSize", longs([0, 0]), ints(1), longs(2**40, 2**40)),
    refused(
        "DenseToSparseSetOperation",
        ints([1, 2]),
        longs(0, 0),
        ints(1),
        longs(1, 2),
        set_operation=b"union",
    ),
    refused("DenseToDenseSetOperation", ints([1, 2]), ints([1], [2]), set_operation=b"union"),
    refused("DenseToDenseSetOperation", ints(1), ints(2), set_operation=b"union"),
    refused("DenseToDenseSetOperation", ints([1, 2]), ints([1, 2]), set_operation=b"none"),
    refused(
        "SparseToSparseSetOperation",
        longs([0, 0]),
        ints(1),
        longs(1, 2),
        longs([0, 9]),
        ints(1),
        longs(1, 2),
        set_operation=b"union",
    ),
    *[
        refused(op, x, i, v)
        for op in ("InplaceUpdate", "InplaceAdd", "InplaceSub")
        for x, i, v in (
            (zeros(0, 2), ints(-99), ones(1, 2)),
            (zeros(2, 2), ints(0, 1), ones(1, 2)),
            (zeros(2, 2), ints([0]), ones(1, 2)),
            (zeros(2, 2), ints(0), ones(1, 3)),
        )
    ],
    refused("ListDiff", ints([1]), ints(1)),
    refused("Unique", ints([1])),
    refused("UniqueV2", ints(1, 2), ints(3)),
    refused("Select", np.array([True, False]), zeros(3), zeros(3)),
    refused("Bucketize", zeros(3), boundaries=[3.0, 1.0]),
    refused("Fingerprint", zeros(0), np.array(b"other")),
]
