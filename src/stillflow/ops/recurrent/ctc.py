"""`tf.nn.ctc_loss` and the decoders of connectionist temporal classification."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.errors import FailedPreconditionError, InvalidArgumentError, failed_precondition
from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.arrays.shape import expand_dims
from stillflow.ops.control_flow.identity_and_group import prevent_gradient
from stillflow.ops.input_ranks import kernel_ranks
from stillflow.ops.recurrent import ctc_beams, native_kernels
from stillflow.ops.recurrent.ctc_lattice import loss_and_gradient, read_labels, without_blanks
from stillflow.ops.samples import Bad, Sample, Samples

ctc_loss_op = op(
    """
    CTCLoss(inputs: T, labels_indices: int64, labels_values: int32, sequence_length: int32) -> \
(loss: T, gradient: T)
    preprocess_collapse_repeated: bool = false
    ctc_merge_repeated: bool = true
    ignore_longer_outputs_than_inputs: bool = false
    T: {float, double} = float
""",
    devices="host",
    cost=Cost(nanoseconds=40.0, soon=True),
)


def _check_batch(node: Node, lengths: int, kind: Any) -> None:
    """Raise kernels' errors for ranks and batches of input 0 and of its lengths, at `lengths`.

    `kind` is the class of the error about batches.
    """
    kernel_ranks((0, 3, "inputs is not a 3-Tensor"))(node)
    logits, given = node.dims(0), node.dims(lengths)
    if node.planning and logits is not None and logits[0] == 0 and lengths == 1:
        raise ValueError("max_time is 0")
    if node.planning and logits is not None and logits[2] == 0:
        raise ValueError("num_classes is 0: there must be at least the blank")
    kernel_ranks((lengths, 1, "sequence_length is not a vector"))(node)
    if not (node.planning and dims.is_known(logits) and dims.is_known(given)):
        return
    if logits[1] != given[0]:
        raise kind(
            node.op.node_def, node.op,
            "len(sequence_length) != batch_size.  len(sequence_length):  "
            f"{given[0]} batch_size: {logits[1]}",
        )  # fmt: skip


@ctc_loss_op.check
def ctc_loss_check(node: Node) -> None:
    kernel_ranks(
        (0, 3, "inputs is not a 3-Tensor"),
        (3, 1, "sequence_length is not a vector"),
        (1, 2, "labels_indices is not a matrix"),
        (2, 1, "labels_values is not a vector"),
    )(node)
    _check_batch(node, 3, InvalidArgumentError)


@ctc_loss_op.shape
def ctc_loss_shape(node: Node) -> OutputDims:
    time, batch, classes = dims.with_rank(node.dims(0), 3)
    count, _ = dims.with_rank(node.dims(1), 2)
    (values,) = dims.with_rank(node.dims(2), 1)
    (lengths,) = dims.with_rank(node.dims(3), 1)
    dims.merge_dim(count, values)
    batch = dims.merge_dim(batch, lengths)
    return [(batch,), (time, batch, classes)]


def _check_lengths(lengths: np.ndarray, time: int) -> None:
    for b, length in enumerate(lengths.tolist()):
        if length > time:
            raise ValueError(f"sequence_length({b}) <= {time}")
        if length < 0:
            raise ValueError(f"seq_len({b}) < 0")


@ctc_loss_op.kernel
def ctc_loss_kernel(node: Node) -> Kernel:
    collapse, merge = node.preprocess_collapse_repeated, node.ctc_merge_repeated
    ignore_longer = node.ignore_longer_outputs_than_inputs

    def run(
        inputs: Any, indices: Any, values: Any, sequence_length: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        logits, lengths = inputs.cpu().numpy(), sequence_length.cpu().numpy()
        time, batch, classes = logits.shape
        if time == 0:
            raise ValueError("Max time or first dimension of input cannot be 0.")
        if batch == 0:
            raise ValueError("batch_size must not be 0")
        labels = read_labels(indices.cpu().numpy(), values.cpu().numpy(), batch)
        _check_lengths(lengths, time)
        kept = without_blanks(labels, lengths, classes, collapse, ignore_longer)
        # Sequences without steps, or with fewer steps than labels, cost nothing.
        used = [
            b for b in range(batch)
            if lengths[b] and not (ignore_longer and len(labels[b]) > lengths[b])
        ]  # fmt: skip
        found = _losses(logits, kept, lengths, used, merge)
        return tuple(torch.from_numpy(a).to(inputs.device) for a in found)

    return run


def _losses(
    logits: np.ndarray, labels: list[list[int]], lengths: np.ndarray, used: list[int], merge: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Losses and their gradients, zeros for all sequences but those that are used."""
    steps = np.zeros_like(lengths)
    steps[used] = lengths[used]
    found = native_kernels.ctc_loss_and_gradient(logits, labels, steps, merge)
    if found is not None:
        return found
    losses, gradient = np.zeros(len(labels), logits.dtype), np.zeros_like(logits)
    if used:
        given = [labels[b] for b in used]
        losses[used], gradient[:, used] = loss_and_gradient(
            logits[:, used], given, lengths[used], merge
        )
    return losses, gradient


@ctc_loss_op.gradient
def ctc_loss_gradient(node: Node, grad_loss: Any, _: Any) -> Gradients:
    gradient = prevent_gradient(
        node.outputs[1],
        message="Currently there is no way to take the second  derivative of ctc_loss due to the "
        "fused implementation's interaction  with tf.gradients()",
    )
    return [expand_dims(grad_loss, -1) * gradient, None, None, None]


@ctc_loss_op.samples
def ctc_loss_samples() -> Samples:
    logits = np.random.RandomState(0).randn(4, 2, 3).astype(np.float32)
    indices = np.array([[0, 0], [0, 1], [1, 0]], np.int64)
    values, lengths = np.array([0, 1, 1], np.int32), np.array([4, 3], np.int32)
    yield Sample(logits, indices, values, lengths, grad=(0,))
    yield Sample(logits, indices, values, lengths, ctc_merge_repeated=False, grad=(0,))
    yield Bad(logits[0], indices, values, lengths, match="must be rank 3")


# ---- decoders

_DECODED = "decoded_indices: {0}int64, decoded_values: {0}int64, decoded_shape: {0}int64"

ctc_greedy_decoder_op = op(
    f"""
    CTCGreedyDecoder(inputs: T, sequence_length: int32) -> ({_DECODED.format("")}, \
log_probability: T)
    merge_repeated: bool = false
    T: {{float, double}} = float
""",
    differentiable=False,
    devices="host",
)

ctc_beam_search_decoder_op = op(
    f"""
    CTCBeamSearchDecoder(inputs: T, sequence_length: int32) -> \
({_DECODED.format("top_paths*")}, log_probability: T)
    beam_width: int >= 1
    top_paths: int >= 1
    merge_repeated: bool = true
    T: {{float, double}} = float
""",
    differentiable=False,
    devices="host",
)


def _batch(node: Node) -> int | None:
    _, batch, _ = dims.with_rank(node.dims(0), 3)
    (lengths,) = dims.with_rank(node.dims(1), 1)
    return dims.merge_dim(batch, lengths)


@ctc_greedy_decoder_op.check
@ctc_beam_search_decoder_op.check
def ctc_decoder_check(node: Node) -> None:
    _check_batch(node, 1, FailedPreconditionError)


@ctc_greedy_decoder_op.shape
def ctc_greedy_decoder_shape(node: Node) -> OutputDims:
    return [(None, 2), (None,), (2,), (_batch(node), 1)]


@ctc_beam_search_decoder_op.shape
def ctc_beam_search_decoder_shape(node: Node) -> OutputDims:
    paths = node.top_paths
    return [(None, 2)] * paths + [(None,)] * paths + [(2,)] * paths + [(_batch(node), paths)]


def _arrays(inputs: Any, sequence_length: Any) -> tuple[np.ndarray, np.ndarray]:
    logits, lengths = inputs.cpu().numpy(), sequence_length.cpu().numpy()
    if logits.shape[0] == 0:
        raise ValueError("max_time is 0")
    for b, length in enumerate(lengths.tolist()):
        if length > logits.shape[0]:
            raise failed_precondition(f"sequence_length({b}) <= {logits.shape[0]}")
    return logits, lengths


def _sparse(sequences: list[list[int]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the parts of a sparse tensor whose rows are sequences."""
    places = [(b, t) for b, sequence in enumerate(sequences) for t in range(len(sequence))]
    values = [value for sequence in sequences for value in sequence]
    longest = max((len(sequence) for sequence in sequences), default=0)
    return (
        np.array(places, np.int64).reshape(-1, 2),
        np.array(values, np.int64),
        np.array([len(sequences), longest], np.int64),
    )


def _tensors(arrays: Any, device: Any) -> tuple[Any, ...]:
    return tuple(torch.from_numpy(array).to(device) for array in arrays)


@ctc_greedy_decoder_op.kernel
def ctc_greedy_decoder_kernel(node: Node) -> Kernel:
    merge = node.merge_repeated

    def run(inputs: Any, sequence_length: Any) -> tuple[Any, ...]:
        logits, lengths = _arrays(inputs, sequence_length)
        logits = logits[: lengths.max(initial=0)]
        highest, best = (found.numpy() for found in torch.max(torch.from_numpy(logits), 2))
        active = np.arange(len(logits))[:, None] < lengths
        keep = active & (best != logits.shape[2] - 1)
        if merge:
            keep[1:] &= best[1:] != best[:-1]
        scores = -np.where(active, highest, 0).sum(axis=0, dtype=logits.dtype)
        return _tensors((*_kept(best.T, keep.T), scores[:, None] + 0), inputs.device)

    return run


def _kept(rows: np.ndarray, keep: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the parts of a sparse tensor with the kept elements of rows, moved to the left."""
    counts = np.count_nonzero(keep, axis=1)
    numbers = np.repeat(np.arange(len(rows)), counts)
    places = np.arange(len(numbers)) - np.repeat(np.cumsum(counts) - counts, counts)
    shape = np.array([len(rows), counts.max(initial=0)], np.int64)
    return np.column_stack([numbers, places]), rows[keep], shape


@ctc_beam_search_decoder_op.kernel
def ctc_beam_search_decoder_kernel(node: Node) -> Kernel:
    width, paths, merge = node.beam_width, node.top_paths, node.merge_repeated

    def run(inputs: Any, sequence_length: Any) -> tuple[torch.Tensor, ...]:
        logits, lengths = _arrays(inputs, sequence_length)
        found = [
            ctc_beams.search(logits[: max(length, 0), b], width, paths, merge)
            for b, length in enumerate(lengths.tolist())
        ]
        parts = [_sparse([labels[p] for labels, _ in found]) for p in range(paths)]
        scores = np.array([log_probs for _, log_probs in found], logits.dtype)
        scores = scores.reshape(-1, paths)
        indices, values, shapes = (
            list(_tensors(part, inputs.device)) for part in zip(*parts, strict=True)
        )
        return (*indices, *values, *shapes, torch.from_numpy(scores).to(inputs.device))

    return run


@ctc_greedy_decoder_op.samples
def ctc_greedy_decoder_samples() -> Samples:
    logits = np.random.RandomState(0).randn(4, 2, 3).astype(np.float32)
    yield Sample(logits, np.array([4, 3], np.int32))
    yield Sample(logits, np.array([4, 3], np.int32), merge_repeated=True)
    yield Bad(logits, np.int32(4), match="must be rank 1")


@ctc_beam_search_decoder_op.samples
def ctc_beam_search_decoder_samples() -> Samples:
    logits = np.random.RandomState(0).randn(4, 2, 3).astype(np.float32)
    yield Sample(logits, np.array([4, 3], np.int32), beam_width=3, top_paths=2)
    yield Bad(logits, np.int32(4), beam_width=3, top_paths=2, match="must be rank 1")
