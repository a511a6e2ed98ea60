"""Dense vectors of categorical columns: the shared part of embedding columns."""

from __future__ import annotations

import math
from typing import Any, NoReturn

import stillflow as tf
from stillflow.feature_column.base import TensorSequenceLengthPair
from stillflow.feature_column.checks import check_checkpoint
from stillflow.graph.operation import Tensor
from stillflow.variables.partitioned import PartitionedVariable


def check_embedding(
    dimension: Any, ckpt_to_load_from: Any, tensor_name_in_ckpt: Any, initializer: Any, of: str = ""
) -> Any:
    """Check the arguments of an embedding column and return its initializer.

    That is a normal distribution if None; the message about another one ends in `of`. A checkpoint
    and a name in it are given, or neither.
    """
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    check_checkpoint(ckpt_to_load_from, tensor_name_in_ckpt)
    if initializer is None:
        return tf.truncated_normal_initializer(mean=0.0, stddev=1 / math.sqrt(dimension))
    if not callable(initializer):
        raise ValueError(f"initializer must be callable if specified.{of}")
    return initializer


def restore(weights: Any, checkpoint: str | None, name: str | None) -> None:
    """Make a variable start with a value from a checkpoint, if one is given."""
    if checkpoint is not None:
        parts = list(weights) if isinstance(weights, PartitionedVariable) else weights
        tf.train.init_from_checkpoint(checkpoint, {name: parts})


def look_up(column: Any, sparse_tensors: Any, weights: Any) -> Tensor:
    """Return the vectors, out of [ids, dimension], of each example's ids, combined."""
    return tf.nn.safe_embedding_lookup_sparse(
        weights,
        sparse_tensors.id_tensor,
        sparse_weights=sparse_tensors.weight_tensor,
        combiner=column.combiner,
        name=f"{column.name}_weights",
        max_norm=column.max_norm,
    )


def with_lengths(dense_tensor: Any, sparse_tensors: Any) -> TensorSequenceLengthPair:
    """Return the vectors of steps, with the lengths of the sequences of their ids."""
    return TensorSequenceLengthPair(dense_tensor, sequence_lengths(sparse_tensors.id_tensor))


def sequence_lengths(sparse: Any, num_elements: int = 1) -> Tensor:
    """Return the number of steps, of `num_elements` numbers, in rows of a SparseTensor."""
    with tf.name_scope(None, "sequence_length") as name:
        row, column = (sparse.indices[:, axis] for axis in (0, 1))
        numbers = tf.math.segment_max(column + tf.ones_like(column), row)
        steps = tf.cast(tf.ceil(numbers / num_elements), tf.int64)
        empty = tf.zeros(tf.shape(sparse)[:1] - tf.shape(steps)[:1], steps.dtype)
        return tf.concat([steps, empty], 0, name=name)


def refuse_sequence(column: Any, kind: str, older: bool) -> NoReturn:
    """Raise ValueError for a column of sequences that was given to a layer without steps.

    `kind` is the function that makes such columns; `older` says that the layer is of the older
    generation.
    """
    categorical = column.categorical_column
    raise ValueError(
        f"In {kind}: {column.name}. categorical_column must not be of type "
        f"{'_' * older}SequenceCategoricalColumn. Suggested fix A: If you wish to use "
        "DenseFeatures, use a non-sequence categorical_column_with_*. Suggested fix B: If you wish "
        "to create sequence input, use SequenceFeatures instead of DenseFeatures. "
        f"Given (type {type(categorical)}): {categorical}"
    )


def refuse_no_sequence(column: Any, kind: str, older: bool = False) -> NoReturn:
    """Raise ValueError for a column without steps that was given to a layer of sequences.

    `kind` is the function that makes such columns; `older` says that the layer is of the older
    generation.
    """
    categorical = column.categorical_column
    raise ValueError(
        f"In {kind}: {column.name}. categorical_column must be of type "
        f"{'_' * older}SequenceCategoricalColumn to use SequenceFeatures. Suggested fix: Use one "
        f"of sequence_categorical_column_with_*. Given (type {type(categorical)}): {categorical}"
    )
