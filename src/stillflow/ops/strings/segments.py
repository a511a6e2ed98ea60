"""Strings joined by segment: UnsortedSegmentJoin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.ops.samples import Bad, Sample
from stillflow.ops.strings.kernels import strings_of

unsorted_segment_join_op = op("""
    UnsortedSegmentJoin(inputs: string, segment_ids: Tindices, num_segments: Tnumsegments)
        -> output: string
    separator: string = ""
    Tindices: {int32, int64}
    Tnumsegments: {int32, int64} = int32
""")


@unsorted_segment_join_op.shape
def unsorted_segment_join_shape(node: Node) -> Any:
    inputs, ids = node.dims(0), node.dims(1)
    if node.planning:
        _check_ranks(inputs, ids)
    else:
        dims.with_rank(node.dims(2), 0)
        if ids is not None:
            inputs, ids = dims.merge_prefix(inputs, ids)
    if ids is None or inputs is None:
        return None
    count = node.value(2)
    rows = None if count is None else dims.make_dim(int(count), 2)
    return (rows, *inputs[len(ids) :])


def _check_ranks(inputs: dims.Dims, ids: dims.Dims) -> None:
    if inputs is None or ids is None:
        return
    if not ids:
        raise ValueError("Segment_id cannot have rank 0")
    if len(ids) > len(inputs):
        raise errors.OutOfRangeError(
            None, None,
            f"Invalid segment_id rank {len(ids)} for input with {len(inputs)} dimension(s)",
        )  # fmt: skip
    for axis, size in enumerate(ids):
        if size is not None and inputs[axis] not in (None, size):
            raise ValueError(
                f"Segment dimension is {size} while input dimension is {len(inputs)} in rank {axis}"
            )


@unsorted_segment_join_op.kernel
def unsorted_segment_join_kernel(node: Node) -> Any:
    separator = node.separator

    def join(inputs: Any, ids: Any, count: Any) -> Any:
        _check_ranks(inputs.shape, tuple(ids.shape))
        segments = int(count)
        outer = inputs.shape[ids.ndim :]
        numbers = ids.reshape(-1).tolist()
        if any(not 0 <= number < segments for number in numbers):
            raise ValueError(
                "segment_ids are not allowed to exceed num_segments or to have negative values."
            )
        width = int(np.prod(outer, dtype=np.int64))
        joined = [[b""] * width for _ in range(segments)]
        for number, row in zip(numbers, inputs.reshape(len(numbers), width)):
            result = joined[number]
            for place, text in enumerate(row):
                before = result[place]
                # As in TF, no separator follows what is still empty.
                result[place] = before + separator + text if before else text
        return strings_of([text for row in joined for text in row], (segments, *outer))

    return join


@unsorted_segment_join_op.samples
def unsorted_segment_join_samples() -> Iterator[Any]:
    words = np.array([[b"a", b"b"], [b"c", b""], [b"e", b"f"]], object)
    yield Sample(words, np.int32([1, 0, 1]), np.int32(3), separator="-", fixed=(2,))
    yield Sample(words, np.int64([[0, 1], [1, 0], [0, 0]]), np.int32(2))
    yield Bad(words, np.int32([0, 0, 4]), np.int32(2), match="not allowed to exceed")


@export("strings.unsorted_segment_join")
def unsorted_segment_join(
    inputs: Any, segment_ids: Any, num_segments: Any, separator: str = "", name: str | None = None
) -> Tensor:
    """The strings of each segment, joined in their order.

    Args:
      inputs: strings.
      segment_ids: int32 or int64, with the shape of `inputs` or of its first dimensions.
      num_segments: how many segments there are; a scalar.
      separator: what goes between two strings.
      name: name of the operation.

    Returns:
      Strings [num_segments, ...]; an empty string for a segment without members.
    """
    return unsorted_segment_join_op(
        inputs, segment_ids, num_segments, separator=separator, name=name
    )
