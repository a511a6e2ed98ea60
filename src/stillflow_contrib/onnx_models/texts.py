"""Forms of operations on texts."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow_contrib.onnx_models.nodes import Nodes, form


@form("StringSplitV2")
def string_split(o: Nodes) -> list[Any]:
    """Split into rows of the longest count; the places beyond a row's own count are no parts."""
    options: dict[str, Any] = {"maxsplit": int(o.a.maxsplit)} if o.a.maxsplit >= 0 else {}
    parts, counts = o.StringSplit(o.x, outputs=2, delimiter=o.known(1).item().decode(), **options)
    counts = o.i64(counts)
    if o.known(1).item():  # TensorFlow finds one part in an empty text then, ONNX none
        counts = o.Max(counts, [1])
        blank = o.Expand(np.array(b"", object), o.cat(o.Shape(counts), [1]))
        parts = o.Concat(parts, blank, axis=1)
    widest = o.ReduceMax(o.Concat([0], counts, axis=0), keepdims=1)
    inside = o.Less(o.Unsqueeze(o.numbers(widest), [0]), o.Unsqueeze(counts, [1]))
    indices = o.Transpose(o.NonZero(inside), perm=[1, 0])
    return [indices, o.GatherND(parts, indices), o.cat(o.Shape(counts), widest)]


@form("StringSplit")
def old_string_split(o: Nodes) -> list[Any]:
    """Split at one character; empty parts may be left out."""
    delimiter = o.known(1).item().decode()
    o.only(len(delimiter) == 1, "at several characters")
    parts, counts = o.StringSplit(o.x, outputs=2, delimiter=delimiter)
    inside = o.Less(o.Unsqueeze(o.numbers(o.size(parts, 1)), [0]), o.Unsqueeze(o.i64(counts), [1]))
    if o.a.skip_empty:
        inside = o.And(inside, o.Not(o.Equal(parts, np.array(b"", object))))
    found = o.i64(inside)
    places = o.Sub(o.CumSum(found, np.int64(1)), [1])
    chosen = o.Transpose(o.NonZero(inside), perm=[1, 0])
    rows = o.Slice(chosen, [0], [1], [1])
    indices = o.Concat(rows, o.Unsqueeze(o.GatherND(places, chosen), [1]), axis=1)
    widths = o.ReduceSum(found, [1], keepdims=0)
    widest = o.ReduceMax(o.Concat([0], widths, axis=0), keepdims=1)
    return [indices, o.GatherND(parts, chosen), o.cat(o.Shape(counts), widest)]
