"""InTopK: checks if the right class is among the k best."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import native
from stillflow.graph import dims
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel
from stillflow.ops import native_calls
from stillflow.ops.input_ranks import kernel_ranks
from stillflow.ops.samples import Bad, Sample, Samples


def _in_top_k_shape(node: Node) -> tuple[int | None, ...]:
    predictions = dims.with_rank(node.dims(0), 2)
    (count,) = dims.with_rank(node.dims(1), 1)
    return (dims.merge_dim(predictions[0], count),)


def _in_top_k(predictions: Any, targets: Any, k: Any) -> torch.Tensor:
    """Return True where fewer than k classes beat the target.

    Ties count as won, non-finite rows not.
    """
    classes = predictions.shape[1]
    if classes == 0:
        return torch.zeros(targets.shape, dtype=torch.bool, device=targets.device)
    if native_calls.take(predictions) and native_calls.reach(targets):
        hits = torch.empty(targets.shape, dtype=torch.bool)
        library: Any = native.library()
        library.are_in_top(
            predictions.data_ptr(),
            len(hits),
            classes,
            targets.data_ptr(),
            targets.itemsize,
            int(k),
            hits.data_ptr(),
        )
        return hits
    targets = targets.long()
    valid = (targets >= 0) & (targets < classes)
    own = predictions.gather(1, targets.clamp(0, classes - 1)[:, None])
    better = (predictions > own).sum(1)
    return valid & predictions.isfinite().all(1) & (better < k)


in_top_k_op = op(
    """
    InTopK(predictions: float, targets: T) -> precision: bool
    k: int
    T: {int32, int64} = int32
""",
    differentiable=False,
)
in_top_k_op.shape(_in_top_k_shape)
_OPERANDS = (
    (0, 2, "predictions must be 2-dimensional"),
    (1, 1, "targets must be 1-dimensional"),
)
in_top_k_op.check(kernel_ranks(*_OPERANDS))


@in_top_k_op.kernel
def in_top_k_kernel(node: Node) -> Kernel:
    return node.call(_in_top_k, *node.inputs, node.k)


_PREDICTIONS = np.array([[0.1, 0.3, 0.2, 0.4], [0.1, 0.2, 0.3, 0.3], [0, np.nan, 1, 2]], np.float32)


@in_top_k_op.samples
def in_top_k_samples() -> Samples:
    for targets in ([3, 2, 3], [0, 3, -1], [1, 9, 2]):
        yield Sample(_PREDICTIONS, np.array(targets, np.int32), k=2)
    yield Bad(_PREDICTIONS, np.array([1, 2], np.int32), k=2, match="must be equal")
    yield Bad(_PREDICTIONS[0], np.array([1], np.int32), k=2, match="must be rank 2")


in_top_k_v2_op = op(
    """
    InTopKV2(predictions: float, targets: T, k: T) -> precision: bool
    T: {int32, int64} = int32
""",
    differentiable=False,
    numbers=("k",),
)
in_top_k_v2_op.check(kernel_ranks((2, 0, "k must be 0-D, got shape {}"), *_OPERANDS))
in_top_k_v2_op.shape(_in_top_k_shape)


@in_top_k_v2_op.kernel
def in_top_k_v2_kernel(node: Node) -> Kernel:
    return node.call(_in_top_k, *node.inputs)


@in_top_k_v2_op.samples
def in_top_k_v2_samples() -> Samples:
    for targets, k in (([3, 2, 3], 2), ([0, 3, -1], 4)):
        yield Sample(_PREDICTIONS, np.array(targets, np.int32), np.int32(k))


@export("nn.in_top_k", "math.in_top_k")
def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """Says for every row whether its target is among the `k` largest predictions.

    Args:
      predictions: float32, [batch, classes].
      targets: class numbers, int32 or int64, [batch].
      k: an integer, or a scalar tensor of the type of `targets`.

    Example:
      >>> scores = [[0.1, 0.7, 0.2], [0.1, 0.7, 0.2]]
      >>> print(tf.Session().run(tf.nn.in_top_k(scores, targets=[2, 0], k=2)))
      [ True False]
    """
    with name_scope(name, "in_top_k"):
        return in_top_k_v2_op(predictions, targets, k, name=name)
