"""`tf.nn.ctc_loss` and its relatives."""

from __future__ import annotations

from typing import Any

from stillflow.functional.map_fn import map_fn
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.nn.ctc_alignments import loss_and_gradient, size
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones_like
from stillflow.ops.arrays.masks import boolean_mask, sequence_mask
from stillflow.ops.arrays.pad import pad
from stillflow.ops.arrays.scatter import scatter_nd
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import expand_dims, reshape
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.arrays.unique import unique as unique_
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import logical_and, not_equal
from stillflow.ops.math.reductions import reduce_max, reduce_sum
from stillflow.ops.recurrent.ctc import (
    ctc_beam_search_decoder_op,
    ctc_greedy_decoder_op,
    ctc_loss_op,
)
from stillflow.ops.sparse.rearranging import sparse_reshape
from stillflow.util.renamed import renamed_argument
from stillflow.variables.custom_gradient import custom_gradient


@export("nn.ctc_loss")
def ctc_loss(
    labels: Any,
    inputs: Any = None,
    sequence_length: Any = None,
    preprocess_collapse_repeated: bool = False,
    ctc_merge_repeated: bool = True,
    ignore_longer_outputs_than_inputs: bool = False,
    time_major: bool = True,
    logits: Any = None,
) -> Tensor:
    """Return the loss of connectionist temporal classification (Graves et al., 2006).

    Args:
      labels: int32 SparseTensor [batch, labels].
      inputs: [time, batch, classes], unnormalized logarithms; the last class is the blank.
      sequence_length: int32 [batch], how many steps each sequence has.
      preprocess_collapse_repeated: whether repeated labels are made one before.
      ctc_merge_repeated: whether a class that stays counts once.
      ignore_longer_outputs_than_inputs: whether sequences with more labels than steps cost
        nothing, else they are errors.
      time_major: whether inputs are [time, batch, ...], else [batch, time, ...].
      logits: another name of `inputs`.

    Returns:
      The losses [batch].

    Raises:
      TypeError: if `labels` is no SparseTensor.
    """
    if not isinstance(labels, SparseTensor):
        raise TypeError("Expected labels (first argument) to be a SparseTensor")
    inputs = renamed_argument("logits", logits, "inputs", inputs)
    if not time_major:
        inputs = transpose(inputs, [1, 0, 2])
    return ctc_loss_op(
        inputs, labels.indices, labels.values, sequence_length,
        preprocess_collapse_repeated=preprocess_collapse_repeated,
        ctc_merge_repeated=ctc_merge_repeated,
        ignore_longer_outputs_than_inputs=ignore_longer_outputs_than_inputs,
    ).loss  # fmt: skip


@export("nn.ctc_loss_v2", "compat.v2.nn.ctc_loss")
def ctc_loss_v2(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """`ctc_loss` with the blank anywhere, and labels that may be dense.

    Args:
      labels: int SparseTensor [batch, labels], or dense with zeros behind the labels.
      logits: [time, batch, classes].
      label_length: int [batch], how many labels each row has; not used for sparse labels.
      logit_length: int [batch], how many steps each sequence has.
      logits_time_major: whether logits are [time, batch, ...].
      unique: the result of `ctc_unique_labels` for dense labels, or None.
      blank_index: the class of the blank; negative ones count from the last. For dense labels it
        is 0 by default.
      name: of the scope, for dense labels.

    Raises:
      ValueError: if `blank_index` is missing for sparse labels.
    """
    if not isinstance(labels, SparseTensor):
        return ctc_loss_dense(
            labels, logits, label_length, logit_length, logits_time_major, unique,
            blank_index or 0, name,
        )  # fmt: skip
    if blank_index is None:
        raise ValueError("blank_index must be given when using SparseTensor labels.")
    if blank_index < 0:
        blank_index += size(logits, 2)
    if blank_index != size(logits, 2) - 1:
        before = logits[:, :, :blank_index]
        after = logits[:, :, blank_index + 1 :]
        blank = logits[:, :, blank_index : blank_index + 1]
        logits = concat([before, after, blank], axis=2)
        values = where(labels.values < blank_index, labels.values, labels.values - 1)
        labels = SparseTensor(labels.indices, values, labels.dense_shape)
    return ctc_loss(labels, logits, logit_length, time_major=logits_time_major)


def ctc_loss_dense(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int = 0,
    name: str | None = None,
) -> Tensor:
    """See `ctc_loss_v2`, for dense labels."""
    with name_scope(name, "ctc_loss_dense", [logits, labels, label_length, logit_length]):
        logits = convert_to_tensor(logits, name="logits")
        labels = convert_to_tensor(labels, name="labels")
        label_length = convert_to_tensor(label_length, name="label_length")
        logit_length = convert_to_tensor(logit_length, name="logit_length")
        if not logits_time_major:
            logits = transpose(logits, perm=[1, 0, 2])
        if blank_index != 0:
            if blank_index < 0:
                blank_index += size(logits, 2)
            blank = logits[:, :, blank_index : blank_index + 1]
            before, after = logits[:, :, :blank_index], logits[:, :, blank_index + 1 :]
            logits = concat([blank, before, after], axis=2)
            labels = where(labels < blank_index, labels + 1, labels)
        given = [logits, labels, label_length, logit_length, *(unique or ())]

        @custom_gradient
        def loss(*args: Any) -> tuple[Any, Any]:
            for tensor, original in zip(args[:4], given[:4], strict=True):
                tensor.set_shape(original.shape)
            logits, labels, label_length, logit_length, *of_unique = args
            losses, gradient = loss_and_gradient(
                logits, labels, label_length, logit_length, of_unique
            )

            def backward(grad: Any) -> list[Any]:
                return [reshape(grad, [1, -1, 1]) * gradient] + [None] * (len(given) - 1)

            return losses, backward

        return loss(*given)


def dense_labels_to_sparse(dense: Any, length: Any) -> SparseTensor:
    """Return the first labels of every row, int [batch, labels], as a SparseTensor.

    `length`, int [batch], says how many labels each row has.
    """
    values = reshape(dense, [-1])
    positions = range_(shape_of(values, out_type=dtypes.int64)[0])
    within = reshape(sequence_mask(length, maxlen=shape_of(dense)[1]), [-1])
    flat = SparseTensor(
        indices=expand_dims(boolean_mask(positions, within), 1),
        values=cast(boolean_mask(values, within), dtypes.int32),
        dense_shape=shape_of(values, out_type=dtypes.int64),
    )
    sparse = sparse_reshape(flat, shape_of(dense))
    longest = reduce_max(length)
    rows = cast(sparse.dense_shape[0], dtypes.int64)
    return SparseTensor(sparse.indices, sparse.values, [rows, cast(longest, dtypes.int64)])


@export("nn.ctc_greedy_decoder")
def ctc_greedy_decoder(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True
) -> tuple[list[Any], Any]:
    """Return the labels of the most likely class at every step.

    Args:
      inputs: [time, batch, classes]; the last class is the blank.
      sequence_length: int32 [batch].
      merge_repeated: whether repeated classes are one label.

    Returns:
      A list of one int64 SparseTensor [batch, labels], and [batch, 1], minus the sums of the
      largest inputs.
    """
    indices, values, shape, score = ctc_greedy_decoder_op(
        inputs, sequence_length, merge_repeated=merge_repeated
    )
    return [SparseTensor(indices, values, shape)], score


@export("nn.ctc_beam_search_decoder")
def ctc_beam_search_decoder(
    inputs: Any,
    sequence_length: Any,
    beam_width: int = 100,
    top_paths: int = 1,
    merge_repeated: bool = True,
) -> tuple[list[Any], Any]:
    """Return the most likely labels.

    Args:
      inputs: [time, batch, classes]; the last class is the blank.
      sequence_length: int32 [batch].
      beam_width: how many beginnings are kept.
      top_paths: how many results are asked for.
      merge_repeated: whether repeated labels come out once.

    Returns:
      A list of `top_paths` int64 SparseTensors [batch, labels], and the logarithms of their
      probabilities [batch, top_paths].
    """
    indices, values, shapes, scores = ctc_beam_search_decoder_op(
        inputs, sequence_length, beam_width=beam_width, top_paths=top_paths,
        merge_repeated=merge_repeated,
    )  # fmt: skip
    parts = zip(indices, values, shapes, strict=True)
    return [SparseTensor(*part) for part in parts], scores


@export("nn.ctc_beam_search_decoder_v2", "compat.v2.nn.ctc_beam_search_decoder")
def ctc_beam_search_decoder_v2(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[Any], Any]:
    """`ctc_beam_search_decoder` that gives repeated labels."""
    return ctc_beam_search_decoder(
        inputs, sequence_length, beam_width, top_paths, merge_repeated=False
    )


@export("nn.collapse_repeated")
def collapse_repeated(labels: Any, seq_length: Any, name: str | None = None) -> tuple[Any, Any]:
    """Make repeated labels one.

    Args:
      labels: [batch, labels].
      seq_length: [batch].
      name: of the scope.

    Returns:
      The labels, moved to the front, and the new lengths.
    """
    with name_scope(name, "collapse_repeated_labels", [labels, seq_length]):
        labels = convert_to_tensor(labels, name="labels")
        seq_length = convert_to_tensor(seq_length, name="seq_length")
        collapsed, lengths = _moved_to_front(labels, _begins_run(labels, seq_length))
        return collapsed, cast(lengths, seq_length.dtype)


def _begins_run(labels: Any, lengths: Any) -> Tensor:
    """Return True for labels within the lengths that differ from the one before."""
    differs = [ones_like(labels[:, :1], dtypes.bool), not_equal(labels[:, 1:], labels[:, :-1])]
    begins = concat(differs, axis=1)
    return logical_and(begins, sequence_mask(lengths, maxlen=size(labels, 1)))


def _moved_to_front(labels: Any, kept: Any) -> tuple[Any, Any]:
    """Return the kept labels at the beginnings of their rows, and how many each row has."""
    lengths = reduce_sum(cast(kept, dtypes.int32), axis=1)
    longest = reduce_max(lengths)
    filled = sequence_mask(lengths, maxlen=longest)
    values, is_kept, is_filled = (reshape(each, [-1]) for each in (labels, kept, filled))
    places = boolean_mask(range_(size(is_filled, 0)), is_filled)
    places = expand_dims(places, axis=1)
    flat = scatter_nd(places, boolean_mask(values, is_kept), shape_of(is_filled))
    return reshape(flat, [size(labels, 0), longest]), lengths


@export("nn.ctc_unique_labels")
def ctc_unique_labels(labels: Any, name: str | None = None) -> list[Tensor]:
    """Return the distinct labels of every row, and each label's index in that row.

    Args:
      labels: [batch, labels].
      name: of the scope.

    Returns:
      int64 [batch, labels], behind the last zeros; and int32 [batch, labels].
    """
    with name_scope(name, "ctc_unique_labels", [labels]):
        labels = convert_to_tensor(labels, name="labels")

        def unique(x: Any) -> list[Any]:
            found = unique_(x)
            y = pad(found.y, [[0, size(found.idx, 0) - size(found.y, 0)]])
            return [cast(y, dtypes.int64), found.idx]

        return map_fn(unique, labels, dtype=[dtypes.int64, dtypes.int32])
