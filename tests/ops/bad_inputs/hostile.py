"""Arguments that no value makes sense of, and small ones that ask for much memory."""

from __future__ import annotations

import numpy as np
from tests.ops.bad_inputs.case import (
    HUGE,
    Case,
    ints,
    longs,
    ones,
    refused,
    scalar,
    texts,
    zeros,
)

import stillflow as tf

_ROWS = longs([0, 0], [1, 1])
_VOLUME = {"strides": [1, 2, 2, 2, 1], "padding": "SAME"}
_LABELS = (longs([0, 0]), ints(0), ints(5))
_CONVOLUTION = {"strides": [1, 1, 1, 1], "padding": "VALID"}
_MIRROR = {"mode": "REFLECT", **_CONVOLUTION}
_NO_PADDING = np.zeros((4, 2), np.int32)


def _sparse(name: str) -> list[Case]:
    op = f"SparseDenseCwise{name}"
    return [
        refused(op, longs([0], [1]), ones(2), longs(2, 2), ones(2, 2)),
        refused(op, _ROWS, ones(3), longs(2, 2), ones(2, 2)),
        refused(op, _ROWS, ones(1), longs(2, 2), ones(2, 2)),
        refused(op, longs([0, 2]), ones(1), longs(2, 2), ones(2, 2)),
    ]


WRONG = [
    *_sparse("Add"), *_sparse("Mul"), *_sparse("Div"),
    refused("CTCLoss", ones(5, 1, 3), longs([0, 0]), ints(3), ints(5)),
    refused("CTCLoss", ones(5, 1, 3), longs([0, 0]), ints(2**31 - 1), ints(5)),
    refused("CTCLoss", zeros(5, 1, 0), *_LABELS),
    refused("CTCGreedyDecoder", zeros(5, 1, 0), ints(5)),
    refused("CTCBeamSearchDecoder", zeros(5, 1, 0), ints(5), beam_width=2, top_paths=1),
    refused("BroadcastTo", ones(1), ints(-1)),
    refused("BroadcastTo", texts(b"a"), ints(3, -1)),
    refused("ParallelConcat", [zeros(1, 2)], shape=[0, 2]),
    refused("ParallelConcat", [zeros(1, 2), zeros(1, 2)], shape=[3, 2]),
    refused("AvgPool3DGrad", ints(1, 4, 4, 4, 1), ones(3, 2, 2, 2, 1), ksize=[1, 2, 2, 2, 1],
            **_VOLUME),
    refused("AvgPoolGrad", ints(1, 4, 4, 1), ones(3, 2, 2, 1), ksize=[1, 2, 2, 1],
            strides=[1, 2, 2, 1], padding="SAME"),
    refused("Conv2D", zeros(1, 4, 4, 0), zeros(2, 2, 0, 3), **_CONVOLUTION),
    refused("Conv2D", ones(1, 4, 4, 1), zeros(0, 2, 1, 2), **_CONVOLUTION),
    refused("Bincount", ints(0, 1), scalar(3), ones(1)),
    refused("QuantizeV2", ones(2), np.float32(0), np.float32("nan"), T=tf.quint8,
            mode="MIN_COMBINED"),
    refused("PrintV2", texts(b"a", b"b")),
    refused("Reshape", ones(1), np.ones(255, np.int32)),
]  # fmt: skip

MUCH = [
    refused("AddManySparseToTensorsMap", longs([0, 0]), ones(1), longs(10**9, 2)),
    refused("SerializeManySparse", longs([0, 0]), ones(1), longs(10**9, 2)),
    refused("FusedResizeAndPadConv2D", ones(1, 2, 2, 1), ints(2**30, 2**30), _NO_PADDING,
            ones(1, 1, 1, 1), **_MIRROR),
    refused("BroadcastTo", ones(1), longs(2**40)),
    refused("Range", *(np.int64(n) for n in (0, HUGE, 1))),
    refused("Range", *(np.float32(n) for n in (0, 2e18, 1))),
]  # fmt: skip
