"""`GatherTree`: the sequences behind the last step of a beam search."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.samples import Bad, Sample, Samples

gather_tree_op = op("""
    GatherTree(step_ids: T, parent_ids: T, max_sequence_lengths: int32, end_token: T) -> beams: T
    T: {int32}
""")


@gather_tree_op.shape
def gather_tree_shape(node: Node) -> OutputDims:
    steps = dims.merge(dims.with_rank(node.dims(0), 3), node.dims(1))
    (batch,) = dims.with_rank(node.dims(2), 1)
    dims.with_rank(node.dims(3), 0)
    batch = dims.merge_dim(dims.dim(steps, 1), batch)
    return dims.merge(steps, (None, batch, None))


@gather_tree_op.kernel
def gather_tree_kernel(node: Node) -> Kernel:
    def run(step_ids: Any, parent_ids: Any, lengths: Any, end_token: Any) -> torch.Tensor:
        ids, parents = step_ids.cpu().numpy(), parent_ids.cpu().numpy()
        beams = _follow(ids, parents, lengths.cpu().numpy(), int(end_token))
        return torch.from_numpy(beams).to(step_ids.device)

    return run


def _follow(ids: np.ndarray, parents: np.ndarray, lengths: np.ndarray, end: int) -> np.ndarray:
    """Walk all beams from their last step to their first, and end them at the first `end`."""
    time, batch, width = ids.shape
    beams = np.full_like(ids, end)
    last = np.minimum(lengths, time).astype(np.int64) - 1
    rows = np.arange(batch)[:, None]
    at = np.broadcast_to(np.arange(width), (batch, width)).copy()
    for level in range(time - 1, -1, -1):
        active = np.broadcast_to((level <= last)[:, None], (batch, width))
        bad = active & ((at < 0) | (at >= width))
        if bad.any():
            row, beam = (int(index[0]) for index in np.nonzero(bad))
            raise ValueError(
                f"Saw invalid parent id {at[row, beam]} at (batch, time, beam) == "
                f"({row}, {level}, {beam})"
            )
        here = np.where(active, at, 0)
        beams[level] = np.where(active, ids[level][rows, here], end)
        at = np.where(active, parents[level][rows, here], at)
    finished = np.cumsum(beams == end, axis=0) > 0
    return np.where(finished, np.asarray(end, ids.dtype), beams)


@gather_tree_op.samples
def gather_tree_samples() -> Samples:
    ids = np.array([[[1, 2, 3]], [[4, 5, 6]], [[7, 8, 9]]], np.int32)
    parents = np.array([[[0, 0, 0]], [[0, 1, 1]], [[2, 1, 2]]], np.int32)
    yield Sample(ids, parents, np.array([3], np.int32), np.int32(10))
    yield Sample(ids, parents, np.array([2], np.int32), np.int32(5))
    yield Bad(ids, parents, np.int32(3), np.int32(10), match="must be rank 1")


@export("contrib.seq2seq.gather_tree")
def gather_tree(
    step_ids: Any,
    parent_ids: Any,
    max_sequence_lengths: Any,
    end_token: Any,
    name: str | None = None,
) -> Tensor:
    """Return the full sequences of the beams of a beam search.

    Args:
      step_ids: int32 [time, batch, beams], the token chosen at every step.
      parent_ids: int32 [time, batch, beams], which beam it continues.
      max_sequence_lengths: int32 [batch].
      end_token: int32 scalar; sequences hold it from their first one on.
      name: of the operation.

    Returns:
      int32 [time, batch, beams].
    """
    result: Tensor = gather_tree_op(
        step_ids, parent_ids, max_sequence_lengths, end_token, name=name
    )
    return result
