"""Strings and assertions."""

from __future__ import annotations

import numpy as np
from tests.ops.bad_inputs.case import ints, refused, scalar, texts, zeros

STRINGS = [
    *[
        refused("UnsortedSegmentJoin", texts(b"a", b"b"), ids, count)
        for ids, count in (
            (ints(0, 1), scalar(-2)),
            (ints(0, 1), ints()),
            (ints(0, 1), ints(2, 2)),
            (ints(0, 2), scalar(2)),
            (ints(-1, 0), scalar(2)),
            (ints(0), scalar(2)),
            (scalar(0), scalar(2)),
            (ints(0, 1), scalar(2**62, np.int64)),
        )
    ],
    refused("AsString", ints(1), fill=b"h"),
    refused("AsString", ints(1), fill=b"d"),
    refused("AsString", ints(1), fill=b"00"),
    refused("AsString", ints(1), precision=3),
    refused("AsString", ints(1), scientific=True),
    refused("AsString", zeros(1), scientific=True, shortest=True),
    refused("Substr", texts(b"abc"), ints(1, 1, 1), ints(1, 1, 1, 1)),
    refused("Substr", texts(b"abc", b"de"), ints(1, 1, 1), ints(1, 1, 1)),
    refused("Substr", texts(b"abc"), ints(4), ints(1)),
    refused("Substr", texts(b"abc"), ints(-4), ints(1)),
    refused("DecodeRaw", texts(b"12345"), out_type=np.uint16),
    refused("DecodeRaw", texts(b"1234", b"12"), out_type=np.uint16),
    refused("StringSplit", texts(b"a b"), texts(b" ", b",")),
    refused("StringSplitV2", texts(b"a b"), texts(b" ", b",")),
    refused("StringToNumber", texts(b"1x"), out_type=np.float32),
    refused("StringToNumber", texts(b""), out_type=np.int32),
    refused("StringToNumber", texts(b"99999999999"), out_type=np.int32),
    refused("StringToHashBucketFast", texts(b"a"), num_buckets=0),
    refused("StringToHashBucketStrong", texts(b"a"), num_buckets=2, key=[1]),
    refused("ReduceJoin", texts(b"a"), ints(1)),
    refused("ReduceJoin", texts(b"a"), ints(0, 0)),
    refused("RegexReplace", texts(b"a"), np.array(b"("), np.array(b"")),
    refused("RegexFullMatch", texts(b"a"), np.array(b"(")),
    refused("DecodeBase64", texts(b"#")),
    refused("StringJoin", [texts(b"a", b"b"), texts(b"a", b"b", b"c")]),
]

ASSERTIONS = [
    refused("Assert", np.array(False), [texts(b"told")]),
    refused("Assert", np.array([True, False]), [texts(b"told")]),
]
