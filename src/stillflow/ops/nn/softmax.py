"""Probabilities from logits: Softmax, LogSoftmax."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims
from stillflow.graph.card import Card, op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel
from stillflow.graph.static_value import static_value
from stillflow.graph.traits import Cost
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.sequences import range as range_of
from stillflow.ops.arrays.shape import rank
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.math.binary import subtract
from stillflow.ops.math.comparison import less
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ops.math.unary import exp
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.util.renamed import renamed_argument

_FLOATS = "{half, bfloat16, float, double}"


def softmax_shape(node: Node) -> Any:
    return dims.with_rank_at_least(node.dims(0), 1)


def softmax_samples() -> Samples:
    yield Sample(np.array([[1, 2, 3], [-1, 0.5, 4]], np.float32))
    yield Sample(np.array([[[1, 2], [300, 2]]], np.float32))
    yield Sample(np.zeros((0, 3), np.float32))
    yield Bad(np.float32(1), match="at least rank 1")


softmax_op = op(
    f"Softmax(logits: T) -> softmax: T; T: {_FLOATS}", cost=Cost(soon=True), batching="vmap"
)
softmax_op.shape(softmax_shape)
softmax_op.samples(softmax_samples)


# Torch takes rows that do not fill a vector register number by number; of so many numbers, a few
# operations over all rows are faster.
_NARROW, _MANY, _MANY_OF_LOGARITHMS = 16, 1 << 10, 1 << 13


def _is_narrow(logits: Any, many: int) -> bool:
    narrow = logits.ndim > 0 and 0 < logits.shape[-1] < _NARROW
    return narrow and logits.numel() >= many and logits.is_cpu and logits.itemsize >= 4


def _softmax(logits: Any) -> torch.Tensor:
    if not _is_narrow(logits, _MANY):
        return torch.softmax(logits, -1)
    result = torch.sub(logits, logits.amax(-1, keepdim=True)).exp_()
    return result.div_(result.sum(-1, keepdim=True))


def _log_softmax(logits: Any) -> torch.Tensor:
    if not _is_narrow(logits, _MANY_OF_LOGARITHMS):
        return torch.log_softmax(logits, -1)
    result = torch.sub(logits, logits.amax(-1, keepdim=True))
    return result.sub_(result.exp().sum(-1, keepdim=True).log_())


@softmax_op.kernel
def softmax_kernel(node: Node) -> Kernel:
    return node.call(_softmax, node.inputs[0])


@softmax_op.gradient
def softmax_gradient(node: Node, grad: Tensor) -> Gradients:
    result = node.outputs[0]
    total = reduce_sum(grad * result, -1, keepdims=True)
    return (grad - total) * result


log_softmax_op = op(
    f"LogSoftmax(logits: T) -> logsoftmax: T; T: {_FLOATS}", cost=Cost(soon=True), batching="vmap"
)
log_softmax_op.shape(softmax_shape)
log_softmax_op.samples(softmax_samples)


@log_softmax_op.kernel
def log_softmax_kernel(node: Node) -> Kernel:
    return node.call(_log_softmax, node.inputs[0])


@log_softmax_op.gradient
def log_softmax_gradient(node: Node, grad: Tensor) -> Gradients:
    result = exp(node.outputs[0])
    return grad - reduce_sum(grad, -1, keepdims=True) * result


def _swap(logits: Tensor, axis: Any, last: Any, name: str | None = None) -> Tensor:
    """Exchanges two axes that are known when the graph runs."""
    order = concat([range_of(axis), [last], range_of(axis + 1, last), [axis]], 0)
    return transpose(logits, order, name=name)


def along_axis(card: Card, logits: Any, axis: Any, name: str | None) -> Tensor:
    """Apply a card of the last axis along another axis."""
    logits = convert_to_tensor(logits)
    count = logits.shape.ndims
    if axis == -1 or axis == count - 1:
        return card(logits, name=name)
    known = axis
    if isinstance(axis, Tensor):
        value = static_value(axis)
        known = None if value is None else int(value)
    if known is not None and not -count <= known < count:
        raise errors.invalid_argument(
            f"Dimension ({known}) must be in the range [{-count}, {count}) where {count} is the "
            "number of dimensions in the input."
        )
    total = rank(logits)
    if isinstance(axis, Tensor):
        axis = where(less(axis, 0), axis + total, axis)
    elif axis < 0:
        axis += total
    last = rank(logits)
    position = axis % count
    swapped = _swap(logits, position, subtract(last, 1))
    output = _swap(card(swapped), position, subtract(last, 1), name=name)
    output.set_shape(logits.shape)
    return output


@export("nn.softmax", "math.softmax")
def softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """`exp(logits)` divided by its sum along `axis` (the last one by default).

    Args:
      logits: floating-point.
      axis: an integer, or a scalar tensor.
      dim: the old name of `axis`.

    Raises:
      InvalidArgumentError: if `axis` is out of range.

    Example:
      >>> print(tf.Session().run(tf.nn.softmax([[0.0, 0.0], [100.0, 0.0]])).round(3))
      [[0.5 0.5]
       [1.  0. ]]
    """
    axis = renamed_argument("axis", axis, "dim", dim)
    return along_axis(softmax_op, logits, -1 if axis is None else axis, name)


@export("nn.log_softmax", "math.log_softmax")
def log_softmax(logits: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """Return the logarithm of `softmax`, without overflow. Arguments are those of `softmax`.

    Args:
      logits: [..., classes] of floats.
      axis: of the classes; the last one by default.
      name: of the operation.
      dim: older name of `axis`.

    Returns:
      A tensor of the type and shape of `logits`.

    Example:
      >>> logs = tf.nn.log_softmax([[1.0, 2.0, 3.0]])
      >>> print(tf.Session().run(tf.reduce_sum(tf.exp(logs))).round(3))
      1.0
    """
    axis = renamed_argument("axis", axis, "dim", dim)
    return along_axis(log_softmax_op, logits, -1 if axis is None else axis, name)
