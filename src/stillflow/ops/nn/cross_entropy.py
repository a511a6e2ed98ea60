"""Cross entropy of softmax probabilities against dense or sparse labels."""

from __future__ import annotations

from math import nan, prod
from typing import Any

import numpy as np

from stillflow import native
from stillflow.errors import invalid_argument
from stillflow.graph import dims, dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.static_value import static_value
from stillflow.graph.traits import Cost
from stillflow.ops import native_calls
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.sequences import range as range_of
from stillflow.ops.arrays.shape import expand_dims, rank, reshape, shape, squeeze
from stillflow.ops.arrays.slicing import slice_
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.control_flow.identity_and_group import prevent_gradient, stop_gradient
from stillflow.ops.linalg.matmul import matmul
from stillflow.ops.math.binary import subtract
from stillflow.ops.math.cast import cast
from stillflow.ops.nn.softmax import log_softmax, softmax
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.util.renamed import renamed_argument

_FLOATS = "{half, bfloat16, float, double}"
_SMALL = 1 << 14  # numbers


def _times_rows(vector: Tensor, matrix: Tensor) -> Tensor:
    """Multiplies every row of a matrix by its number in a vector."""
    return expand_dims(vector, -1) * matrix


def _is_small(features: Any, labels: Any) -> bool:
    """Return True if torch's kernels would take longer than a loop over all numbers."""
    return (
        features.numel() <= _SMALL
        and labels.is_cpu
        and labels.is_contiguous()
        and native_calls.take(features)
    )


def _small_cross_entropy(features: Any, labels: Any) -> tuple[Any, Any]:
    loss, backprop = features.new_empty(features.shape[0]), torch.empty_like(features)
    library: Any = native.library()
    results = loss.data_ptr(), backprop.data_ptr()
    if labels.ndim == 2:
        library.dense_cross_entropy(
            features.data_ptr(), labels.data_ptr(), *features.shape, *results
        )
    elif library.sparse_cross_entropy(
        features.data_ptr(), labels.data_ptr(), labels.dtype is torch.int64, *features.shape,
        *results,
    ):  # fmt: skip
        refuse_labels(labels, features.shape[1])
    return loss, backprop


# ---- dense labels

softmax_cross_entropy_with_logits_op = op(
    f"""
    SoftmaxCrossEntropyWithLogits(features: T, labels: T) -> (loss: T, backprop: T)
    T: {_FLOATS}
""",
    cost=Cost(soon=True),
)


@softmax_cross_entropy_with_logits_op.shape
def softmax_cross_entropy_with_logits_shape(node: Node) -> OutputDims:
    features, labels = node.dims(0), node.dims(1)
    if node.planning:
        _check_sizes(features, labels)
    try:
        both = dims.merge(dims.with_rank(features, 2), labels)
    except ValueError:
        both = dims.broadcast(features, labels)
        if both is None:
            raise ValueError(
                "Shape must be broadcasted with rank 2, but is rank is unknown."
            ) from None
        if len(both) != 2:
            raise ValueError(
                f"Shape must be broadcasted with rank 2, but is rank {len(both)}"
            ) from None
    assert both is not None
    return [both[:1], both]


def _check_sizes(features: Any, labels: Any) -> None:
    """Raise an error for sizes that differ, with the message of the kernel."""
    try:
        both = dims.broadcast(features, labels)
    except ValueError:
        raise ValueError(
            f"logits and labels must be broadcastable: logits_size={dims.to_string(features)} "
            f"labels_size={dims.to_string(labels)}"
        ) from None
    if both is not None and len(both) != 2:
        raise ValueError(
            "logits and labels must be either 2-dimensional, or broadcasted to be 2-dimensional"
        )


def _cross_entropy(features: Any, labels: Any) -> tuple[Any, Any]:
    if features.shape != labels.shape:
        features, labels = torch.broadcast_tensors(features, labels)
    elif _is_small(features, labels) and labels.dtype is torch.float32 and features.numel():
        return _small_cross_entropy(features, labels)
    logs = torch.log_softmax(features, -1)
    loss = torch.mul(logs, labels).sum(-1).neg_()
    return loss, logs.exp_().sub_(labels)


@softmax_cross_entropy_with_logits_op.kernel
def softmax_cross_entropy_with_logits_kernel(node: Node) -> Kernel:
    return node.call(_cross_entropy, *node.inputs)


def _is_zero(grad: Tensor) -> bool:
    """Return True if a gradient is zero for sure."""
    if grad.holds_value:
        return False
    if grad.op.type in ("ZerosLike", "Zeros"):
        return True
    value = static_value(grad)
    return value is not None and bool((value == 0).all())


@softmax_cross_entropy_with_logits_op.gradient
def softmax_cross_entropy_with_logits_gradient(
    node: Node, grad_loss: Any, grad_grad: Any
) -> Gradients:
    grad = _times_rows(grad_loss, node.outputs[1])
    logits = node.inputs[0]
    if grad_grad is not None and not _is_zero(grad_grad):
        probabilities = softmax(logits)
        product = matmul(expand_dims(grad_grad, 1), expand_dims(probabilities, 2))
        grad += (grad_grad - squeeze(product, axis=1)) * probabilities
    return [grad, _times_rows(grad_loss, -log_softmax(logits))]


@softmax_cross_entropy_with_logits_op.samples
def softmax_cross_entropy_with_logits_samples() -> Samples:
    features = np.array([[1, 2, 3], [-1, 0.5, 4]], np.float32)
    labels = np.array([[0.2, 0.3, 0.5], [0, 1, 0]], np.float32)
    yield Sample(features, labels, grad=(0,))
    yield Sample(features, labels[:1], grad=False)
    yield Bad(features, labels[:, :2], match="must be equal")
    yield Bad(features[0], labels[0], match="rank 2")


# ---- sparse labels

sparse_softmax_cross_entropy_with_logits_op = op(
    f"""
    SparseSoftmaxCrossEntropyWithLogits(features: T, labels: Tlabels) -> (loss: T, backprop: T)
    T: {_FLOATS}
    Tlabels: {{int32, int64}} = int64
""",
    cost=Cost(soon=True),
)


@sparse_softmax_cross_entropy_with_logits_op.check
def sparse_softmax_cross_entropy_with_logits_check(node: Node) -> None:
    """Check the shapes: at run time TF's messages are others than at graph construction."""
    features, labels = node.dims(0), node.dims(1)
    if not (node.planning and dims.is_known(features) and dims.is_known(labels)):
        return
    assert features is not None and labels is not None
    shown = dims.to_string(features), dims.to_string(labels)
    if len(features) != 2:
        raise ValueError(f"logits must be 2-D, but got shape {shown[0]}")
    if len(labels) != 1:
        raise ValueError(f"labels must be 1-D, but got shape {shown[1]}")
    if features[0] != labels[0]:
        raise ValueError(
            "logits and labels must have the same first dimension, got logits shape "
            f"{shown[0]} and labels shape {shown[1]}"
        )


@sparse_softmax_cross_entropy_with_logits_op.shape
def sparse_softmax_cross_entropy_with_logits_shape(node: Node) -> OutputDims:
    features = dims.with_rank(node.dims(0), 2)
    (count,) = dims.with_rank(node.dims(1), 1)
    batch = dims.merge_dim(features[0], count)
    return [(batch,), (batch, features[1])]


def _sparse_cross_entropy(features: Any, labels: Any) -> tuple[Any, Any]:
    classes = features.shape[1]
    if classes == 0:
        raise invalid_argument(
            f"Must have at least one class, but got logits shape [{features.shape[0]},0]"
        )
    if labels.numel() == 0:
        return features.new_empty(0), torch.empty_like(features)
    if _is_small(features, labels) and labels.shape == features.shape[:1]:
        return _small_cross_entropy(features, labels)
    if not features.is_cpu:
        return _sparse_cross_entropy_on_gpu(features, labels)
    low, high = labels.aminmax()
    if low < 0 or high >= classes:
        refuse_labels(labels, classes)
    return _sparse_cross_entropy_of_valid(features, labels.long())


def _sparse_cross_entropy_on_gpu(features: Any, labels: Any) -> tuple[Any, Any]:
    """Return NaN for labels that are no class, as TF does on a GPU; do not wait for it."""
    classes = features.shape[1]
    wrong = (labels < 0) | (labels >= classes)
    loss, backprop = _sparse_cross_entropy_of_valid(features, labels.long().clamp(0, classes - 1))
    return loss.masked_fill_(wrong, nan), backprop.masked_fill_(wrong.unsqueeze(1), nan)


def _sparse_cross_entropy_of_valid(features: Any, labels: Any) -> tuple[Any, Any]:
    index = labels.unsqueeze(1)
    logs = torch.log_softmax(features, 1)
    loss = logs.gather(1, index).squeeze(1).neg_()
    ones = logs.new_ones(()).expand(index.shape)
    return loss, logs.exp_().scatter_add_(1, index, -ones)


def refuse_labels(labels: Any, classes: int) -> None:
    """Raise the error for a label that is no class."""
    values = labels.tolist()
    bad = next(value for value in values if not 0 <= value < classes)
    listed = " ".join(str(value) for value in values)
    raise invalid_argument(
        f"Received a label value of {bad} which is outside the valid range of [0, {classes}).  "
        f"Label values: {listed}"
    )


@sparse_softmax_cross_entropy_with_logits_op.kernel
def sparse_softmax_cross_entropy_with_logits_kernel(node: Node) -> Kernel:
    return node.call(_sparse_cross_entropy, *node.inputs)


@sparse_softmax_cross_entropy_with_logits_op.gradient
def sparse_softmax_cross_entropy_with_logits_gradient(node: Node, grad: Any, _: Any) -> Gradients:
    backprop = prevent_gradient(
        node.outputs[1],
        message="Currently there is no way to take the second derivative of "
        "sparse_softmax_cross_entropy_with_logits due to the fused implementation's interaction "
        "with tf.gradients()",
    )
    return [_times_rows(grad, backprop), None]


@sparse_softmax_cross_entropy_with_logits_op.samples
def sparse_softmax_cross_entropy_with_logits_samples() -> Samples:
    features = np.array([[1, 2, 3], [-1, 0.5, 4]], np.float32)
    yield Sample(features, np.array([2, 0], np.int64), grad=(0,))
    yield Sample(features, np.array([2, 0], np.int32), grad=(0,))
    yield Bad(features, np.array([2, 3], np.int64), match="Received a label value of 3")
    yield Bad(features, np.array([1, 2, 0], np.int64), match="must be equal")


# ---- public functions


def require_names(function: str, sentinel: Any, labels: Any, logits: Any) -> None:
    """Raise ValueError for positional arguments: labels and logits are too easily swapped."""
    if sentinel is not None:
        raise ValueError(
            f"Only call `{function}` with named arguments (labels=..., logits=..., ...)"
        )
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")


def _move_to_end(tensor: Tensor, axis: Any, count: Tensor) -> Tensor:
    order = concat([range_of(axis), range_of(axis + 1, count), [axis]], 0)
    return transpose(tensor, order)


def flatten_outer_dims(logits: Tensor) -> Tensor:
    """Return a matrix whose rows are all vectors along the last axis."""
    count = rank(logits)
    last = slice_(shape(logits), [subtract(count, 1)], [1])
    output = reshape(logits, concat([[-1], last], 0))
    sizes = logits._dims
    if sizes is not None and dims.is_known(sizes[:-1]):
        output.set_shape([prod(sizes[:-1]), sizes[-1]])
    return output


def _are_matrices(*tensors: Tensor) -> bool:
    """Return True if there is nothing to flatten, and no graph that would show it."""
    return all(tensor.holds_value and len(tensor._dims or ()) == 2 for tensor in tensors)


@export("nn.softmax_cross_entropy_with_logits_v2")
def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: Any = None, name: str | None = None, dim: Any = None
) -> Tensor:
    """Cross entropy between `labels` and `softmax(logits)`; gradients flow into both.

    Args:
      labels: probabilities, of the shape of `logits`.
      logits: floating-point.
      axis: the axis of the classes, by default the last one.
      dim: the old name of `axis`.

    Returns:
      A tensor of the shape of `logits` without `axis`.

    Example:
      >>> logits, labels = tf.constant([[0.0, 100.0]]), tf.constant([[1.0, 0.0]])
      >>> loss = tf.nn.softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits)
      >>> print(tf.Session().run(loss), tf.gradients(loss, labels)[0] is not None)
      [100.] True
    """
    axis = renamed_argument("axis", axis, "dim", dim)
    if axis is None:
        axis = -1
    values = [logits, labels]
    with name_scope(name, "softmax_cross_entropy_with_logits", values) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        narrow = logits.dtype in (dtypes.float16, dtypes.bfloat16)
        precise = cast(logits, dtypes.float32) if narrow else logits
        labels = cast(labels, precise.dtype)
        count = rank(precise)
        if axis != -1:
            precise = _move_to_end(precise, axis, count)
            labels = _move_to_end(labels, axis, count)
        if _are_matrices(precise, labels) and not narrow and len(labels) in (1, len(precise)):
            return softmax_cross_entropy_with_logits_op(precise, labels, name=scope).loss
        full = shape(precise)
        precise, labels = flatten_outer_dims(precise), flatten_outer_dims(labels)
        cost = softmax_cross_entropy_with_logits_op(precise, labels, name=scope).loss
        cost = reshape(cost, slice_(full, [0], [subtract(count, 1)]))
        if logits._dims is not None:
            sizes = list(logits._dims)
            del sizes[axis]
            cost.set_shape(sizes)
        return cast(cost, logits.dtype) if narrow else cost


@export("nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(
    _sentinel: Any = None,
    labels: Any = None,
    logits: Any = None,
    dim: int = -1,
    name: str | None = None,
    axis: Any = None,
) -> Tensor:
    """`softmax_cross_entropy_with_logits_v2` with no gradient for the labels.

    Args:
      labels: distributions over the classes, [..., classes].
      logits: scores before the softmax, of the same shape and float type.
      dim, axis: of the classes; the last one by default.
      name: of the operation.

    Returns:
      A tensor of losses, without the axis of the classes.

    Raises:
      ValueError: if arguments are not given by name.

    Example:
      >>> logits, labels = [[0.0, 100.0], [100.0, 0.0]], [[0.0, 1.0], [0.0, 1.0]]
      >>> loss = tf.nn.softmax_cross_entropy_with_logits(labels=labels, logits=logits)
      >>> print(tf.Session().run(loss))
      [  0. 100.]
    """
    axis = renamed_argument("axis", axis, "dim", dim)
    require_names("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as scope:
        labels = stop_gradient(labels, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, axis=axis, name=scope)


def _check_sparse_shapes(labels: Tensor, logits: Tensor) -> bool:
    """Raise an error for static shapes that do not fit; return True if they are fully known."""
    if logits._rank == 0:
        raise ValueError(f"Logits cannot be scalars - received shape {logits.shape}.")
    rank, labels_rank = logits._rank, labels._rank
    if rank is not None and labels_rank is not None and labels_rank != rank - 1:
        raise ValueError(
            f"Rank mismatch: Rank of labels (received {labels_rank}) should equal rank of logits "
            f"minus 1 (received {rank})."
        )
    known = labels.shape.is_fully_defined() and logits.shape[:-1].is_fully_defined()
    if known and labels.shape != logits.shape[:-1]:
        raise ValueError(
            f"Shape mismatch: The shape of labels (received {labels.shape}) should equal the "
            f"shape of logits except for the last dimension (received {logits.shape})."
        )
    return known


@export("nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(
    _sentinel: Any = None, labels: Any = None, logits: Any = None, name: str | None = None
) -> Tensor:
    """Cross entropy between class numbers and `softmax(logits)`.

    Args:
      labels: int32 or int64, of the shape of `logits` without its last axis.
      logits: floating-point, the classes along the last axis.

    Returns:
      A tensor of the shape of `labels`.

    Raises:
      ValueError: if arguments are not given by name or the shapes do not fit.

    Example:
      >>> logits, labels = [[0.0, 100.0], [100.0, 0.0]], [1, 1]
      >>> loss = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
      >>> print(tf.Session().run(loss))
      [  0. 100.]
    """
    from stillflow.ops.debugging.comparisons import assert_equal

    require_names("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "SparseSoftmaxCrossEntropyWithLogits", [labels, logits]):
        labels = convert_to_tensor(labels)
        logits = convert_to_tensor(logits)
        half = logits.dtype == dtypes.float16
        precise = cast(logits, dtypes.float32) if half else logits
        static, full = labels.shape, shape(labels)
        known = _check_sparse_shapes(labels, logits)
        if logits._rank == 2:
            cost = sparse_softmax_cross_entropy_with_logits_op(precise, labels, name=name).loss
            return cast(cost, dtypes.float16) if half else cost
        checks = [] if known else [assert_equal(shape(labels), shape(logits)[:-1])]
        with control_dependencies(checks):
            classes = shape(logits)[rank(logits) - 1]
            precise = reshape(precise, [-1, classes])
            labels = reshape(labels, [-1])
            cost = sparse_softmax_cross_entropy_with_logits_op(precise, labels, name=name).loss
            cost = reshape(cost, full)
            cost.set_shape(static)
            return cast(cost, dtypes.float16) if half else cost
