"""Joining strings that carry the same number: UnsortedSegmentJoin."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from stillflow.errors import out_of_range
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel
from stillflow.ops.math.segment import unsorted_segment_shape
from stillflow.ops.memory_limits import require_room
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.strings.kernels import strings_of

unsorted_segment_join_op = op(
    """
    UnsortedSegmentJoin(inputs: string, segment_ids: Tindices, num_segments: Tnumsegments)
        -> output: string
    separator: string = ""
    Tindices: {int32, int64}
    Tnumsegments: {int32, int64} = int32
""",
    gpu_types="floats",
)
unsorted_segment_join_op.shape(unsorted_segment_shape)


def _check(shape: tuple[int, ...], ids: Any, count: Any) -> None:
    if count.ndim:
        raise ValueError("num_segments should be a scalar")
    if not ids.ndim:
        raise ValueError("Segment_id cannot have rank 0")
    if ids.ndim > len(shape):
        raise out_of_range(
            f"Invalid segment_id rank {ids.ndim} for input with {len(shape)} dimension(s)"
        )
    for axis, (given, wanted) in enumerate(zip(ids.shape, shape, strict=False)):
        if given != wanted:
            raise ValueError(
                f"Segment dimension is {given} while input dimension is {len(shape)} in rank {axis}"
            )
    if ids.numel() and not 0 <= int(ids.min()) <= int(ids.max()) < int(count):
        raise ValueError(
            "segment_ids are not allowed to exceed num_segments or to have negative values."
        )
    if count < 0:
        raise ValueError(f"Dimension {int(count)} must be >= 0")


@unsorted_segment_join_op.kernel
def unsorted_segment_join_kernel(node: Node) -> Kernel:
    separator, dtype = node.separator.split(b"\0")[0], node.dtype(0)  # C's idea of a string

    def join(inputs: np.ndarray, ids: Any, count: Any) -> np.ndarray:
        _check(inputs.shape, ids, count)
        inner = inputs.shape[ids.ndim :]
        shape = (int(count), *inner)
        require_room((*shape, np.dtype(object).itemsize), dtype)
        width = prod(inner)
        rows = inputs.reshape(ids.numel(), width)
        parts: list[list[bytes]] = [[] for _ in range(shape[0] * width)]
        for row, segment in zip(rows, ids.reshape(-1).tolist(), strict=True):
            for column, text in enumerate(row):
                part = parts[segment * width + column]
                if part or text:  # empty parts have no separator
                    part.append(text)
        return strings_of([separator.join(texts) for texts in parts], shape)

    return join


@unsorted_segment_join_op.samples
def unsorted_segment_join_samples() -> Samples:
    words = np.array([[b"a", b"b"], [b"c", b"d"], [b"e", b"f"]], object)
    yield Sample(words, np.array([1, 0, 1], np.int32), np.int32(3), separator=":", fixed=(2,))
    yield Sample(words, np.array([[1, 0], [1, 2], [1, 1]], np.int64), np.int64(3), fixed=(2,))
    gaps = np.array([b"", b"a", b"", b"b"], object)
    yield Sample(gaps, np.array([0, 0, 0, 0], np.int32), np.int32(1), separator=":", fixed=(2,))
    yield Bad(
        words,
        np.array([1, 0, 3], np.int32),
        np.int32(3),
        match="not allowed to exceed num_segments",
    )
    yield Bad(words, np.array([1, 0, 0], np.int32), np.int32(-3), match="must be non-negative")


@export("strings.unsorted_segment_join")
def unsorted_segment_join(
    inputs: Any, segment_ids: Any, num_segments: Any, separator: str = "", name: str | None = None
) -> Tensor:
    """Return the strings of each segment joined, in the order of the input.

    Args:
      inputs: strings.
      segment_ids: int32 or int64, of a shape that that of `inputs` begins with: the number of
        the segment that each string, or slice of strings, belongs to.
      num_segments: how many segments there are, a scalar; those without strings are empty.
      separator: text between the strings.
      name: of the operation.
    """
    return unsorted_segment_join_op(
        inputs, segment_ids, num_segments, separator=separator, name=name
    )
