"""Ragged tensors and Unicode text."""

from __future__ import annotations

import numpy as np
from tests.ops.bad_inputs.case import HUGE, ints, longs, ones, refused, scalar, texts, zeros

_ANY_SHAPE = scalar(-1, np.int64)
_BAD_SPLITS = (longs(), longs(1, 2), longs(0, 2, 1, 2), longs(0, 5), longs(0, -1, 2))


def _dense(partitions: list[np.ndarray], *kinds: str) -> object:
    return refused(
        "RaggedTensorToTensor", _ANY_SHAPE, ones(2), np.float32(0), partitions,
        row_partition_types=list(kinds),
    )  # fmt: skip


RAGGED = [
    *[_dense([splits], "ROW_SPLITS") for splits in _BAD_SPLITS],
    *[refused("RaggedTensorToSparse", [splits], ones(2)) for splits in _BAD_SPLITS],
    *[
        refused("RaggedTensorToVariant", [splits], ones(2), batched_input=True)
        for splits in _BAD_SPLITS
    ],
    *[
        refused("RaggedGather", [splits], ones(2), ints(0), OUTPUT_RAGGED_RANK=1)
        for splits in (longs(), longs(0, 2, 1), longs(0, 5), longs(-1, 2))
    ],
    _dense([]),
    _dense([scalar(2, np.int64), longs(0, 5)], "FIRST_DIM_SIZE", "VALUE_ROWIDS"),
    _dense([scalar(2, np.int64), longs(0, -1)], "FIRST_DIM_SIZE", "VALUE_ROWIDS"),
    _dense([scalar(-2, np.int64), longs(0, 0)], "FIRST_DIM_SIZE", "VALUE_ROWIDS"),
    _dense([longs(0, 1)], "VALUE_ROWIDS"),
    _dense([longs(0, 2)], "ROW_LENGTHS"),
    _dense([longs(0, 2)], "NEVER_WAS"),
    _dense([longs(0, 2)], "ROW_SPLITS", "ROW_SPLITS"),
    refused("RaggedTensorToTensor", longs(HUGE, HUGE), ones(2), np.float32(0), [longs(0, 2)],
            row_partition_types=["ROW_SPLITS"]),
    refused("RaggedTensorToTensor", _ANY_SHAPE, ones(2), zeros(2, 2), [longs(0, 2)],
            row_partition_types=["ROW_SPLITS"]),
    refused("RaggedGather", [longs(0, 2)], ones(2), ints(1), OUTPUT_RAGGED_RANK=1),
    refused("RaggedGather", [longs(0, 2)], ones(2), ints(-1), OUTPUT_RAGGED_RANK=1),
    refused("RaggedRange", ints(0), ints(2), ints(0)),
    refused("RaggedRange", longs(0), longs(HUGE), longs(1)),
    refused("RaggedRange", longs(-HUGE - HUGE), longs(HUGE), longs(1)),
    refused("RaggedRange", ones(1), np.float32([1e38]), np.float32([1e-30])),
    refused("RaggedRange", ones(1), np.float32([np.inf]), ones(1)),
    refused("RaggedRange", ints(0, 1), ints(2, 3, 4), ints(1)),
    refused("UnicodeEncode", ints(65), longs(), output_encoding="UTF-8"),
    refused("UnicodeEncode", ints(65), longs(0, 2), output_encoding="UTF-8"),
    refused("UnicodeEncode", ints(65), longs(0, 1), output_encoding="UTF-8", replacement_char=-1),
    refused("UnicodeDecode", texts(b"a"), input_encoding="UTF-8", replacement_char=0x110000),
    refused("UnicodeTranscode", texts(b"a"), input_encoding="", output_encoding="UTF-8"),
    refused("StringNGrams", texts(b"a"), longs(0, 2), separator="", ngram_widths=[1], left_pad="",
            right_pad="", pad_width=0, preserve_short_sequences=False),
    refused("StringNGrams", texts(b"a"), longs(0, 1), separator="", ngram_widths=[], left_pad="",
            right_pad="", pad_width=-5, preserve_short_sequences=True),
]  # fmt: skip
