"""Variables that start with a stored matrix whose rows or columns stand in another order."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.io.remapping import generate_vocab_remapping_op, load_and_remap_matrix_op

Initializer = Callable[..., Any]


def load_and_remap_matrix(
    ckpt_path: Any,
    old_tensor_name: Any,
    new_row_vocab_offset: int,
    num_rows_to_load: int,
    new_col_vocab_size: int,
    initializer: Initializer,
    old_row_vocab_size: int = -1,
    old_row_vocab_file: Any = None,
    new_row_vocab_file: Any = None,
    old_col_vocab_file: Any = None,
    new_col_vocab_file: Any = None,
    num_row_oov_buckets: int = 0,
    num_col_oov_buckets: int = 0,
    max_rows_in_memory: int = -1,
) -> Tensor:
    """Return the rows of a stored matrix that belong to some words of a vocabulary.

    Args:
      ckpt_path: the checkpoint, of format V2.
      old_tensor_name: the name of the matrix in it.
      new_row_vocab_offset: which word the first row belongs to.
      num_rows_to_load: how many rows.
      new_col_vocab_size: how many columns.
      initializer: makes values that are missing in the checkpoint.
      old_row_vocab_size: how many words of the old vocabulary count; -1 for all.
      old_row_vocab_file: the words of the stored rows, a line each; None if rows stay in order.
      new_row_vocab_file: the words of the new rows.
      old_col_vocab_file: the words of the stored columns; None if columns stay in order.
      new_col_vocab_file: the words of the new columns.
      num_row_oov_buckets: how many new rows follow.
      num_col_oov_buckets: how many new columns follow.
      max_rows_in_memory: how many rows to read at once; -1 for all.

    Returns:
      float32, [num_rows_to_load + num_row_oov_buckets, new_col_vocab_size + num_col_oov_buckets].

    Raises:
      ValueError: If a count of buckets is negative, one vocabulary of a pair is missing, or all.
    """
    remap_rows = _is_pair(
        "row", old_row_vocab_file, new_row_vocab_file, num_row_oov_buckets, num_col_oov_buckets
    )
    remap_columns = _is_pair("col", old_col_vocab_file, new_col_vocab_file)
    if not (remap_rows or remap_columns):
        raise ValueError(
            "Must provide either row or column vocab files. If no remapping is necessary, consider "
            "using `tf.contrib.framework.init_from_checkpoint` instead."
        )
    rows_present: Any = num_rows_to_load
    columns, columns_present = [], new_col_vocab_size
    if remap_rows:
        rows, rows_present = generate_vocab_remapping_op(
            new_row_vocab_file,
            old_row_vocab_file,
            new_vocab_offset=new_row_vocab_offset,
            num_new_vocab=num_rows_to_load,
            old_vocab_size=old_row_vocab_size,
        )
    else:
        from stillflow.ops.arrays.sequences import range as range_op

        stop = new_row_vocab_offset + num_rows_to_load
        rows = range_op(new_row_vocab_offset, stop, dtype=dtypes.int64)
    if remap_columns:
        columns, columns_present = generate_vocab_remapping_op(
            new_col_vocab_file,
            old_col_vocab_file,
            new_vocab_offset=0,
            num_new_vocab=new_col_vocab_size,
        )
    missing = num_rows_to_load * new_col_vocab_size - rows_present * columns_present
    matrix = load_and_remap_matrix_op(
        ckpt_path,
        old_tensor_name,
        rows,
        columns,
        initializer([missing, 1]),
        num_rows=num_rows_to_load,
        num_cols=new_col_vocab_size,
        max_rows_in_memory=max_rows_in_memory,
    )
    return _with_buckets(
        matrix,
        num_rows_to_load,
        new_col_vocab_size,
        num_row_oov_buckets,
        num_col_oov_buckets,
        initializer,
    )


def _is_pair(axis: str, old: Any, new: Any, *buckets: int) -> bool:
    """Return True if the two vocabularies of an axis are given; ValueError if only one is."""
    for name, count in zip(("row", "col"), buckets):
        if count < 0:
            raise ValueError(f"num_{name}_oov_buckets must be >= 0, but received {count}")
    if bool(old) != bool(new):
        names = f"old_{axis}_vocab_file and new_{axis}_vocab_file"
        raise ValueError(
            f"{names} must both be specified or left unspecified. old_{axis}_vocab_file='{old}', "
            f"new_{axis}_vocab_file='{new}'"
        )
    return bool(old)


def _with_buckets(
    matrix: Tensor,
    rows: int,
    columns: int,
    more_rows: int,
    more_columns: int,
    initializer: Initializer,
) -> Tensor:
    """Return a matrix with new rows at the bottom and new columns at the right."""
    from stillflow.ops.arrays.concat import concat

    if more_rows > 0:
        values = convert_to_tensor(initializer([more_rows, columns]))
        matrix = concat([matrix, values], 0)
    if more_columns > 0:
        values = convert_to_tensor(initializer([rows + more_rows, more_columns]))
        matrix = concat([matrix, values], 1)
    return matrix


@export("contrib.framework.load_and_remap_matrix_initializer")
def load_and_remap_matrix_initializer(
    ckpt_path: Any,
    old_tensor_name: Any,
    new_row_vocab_size: int,
    new_col_vocab_size: int,
    old_row_vocab_size: int = -1,
    old_row_vocab_file: Any = None,
    new_row_vocab_file: Any = None,
    old_col_vocab_file: Any = None,
    new_col_vocab_file: Any = None,
    num_row_oov_buckets: int = 0,
    num_col_oov_buckets: int = 0,
    initializer: Initializer | None = None,
    max_rows_in_memory: int = -1,
) -> Initializer:
    """Return an initializer that reads a matrix from a checkpoint, by vocabularies of its axes.

    Args:
      ckpt_path: the checkpoint, of format V2.
      old_tensor_name: the name of the matrix in it.
      new_row_vocab_size: how many words the new rows have.
      new_col_vocab_size: how many words the new columns have.
      old_row_vocab_size: how many words of the old vocabulary count; -1 for all.
      old_row_vocab_file: the words of the stored rows, a line each; None if rows stay in order.
      new_row_vocab_file: the words of the new rows.
      old_col_vocab_file: the words of the stored columns; None if columns stay in order.
      new_col_vocab_file: the words of the new columns.
      num_row_oov_buckets: how many rows there are for words that no vocabulary has.
      num_col_oov_buckets: how many columns there are for them.
      initializer: makes values that are missing in the checkpoint; zeros by default.
      max_rows_in_memory: how many rows to read at once; -1 for all.

    Returns:
      A function of shape, dtype and partition_info.

    Raises:
      TypeError: If `initializer` cannot be called.
    """
    if initializer is None:
        from stillflow.variables.initializers import Zeros

        initializer = Zeros()
    if not callable(initializer):
        raise TypeError(
            f"initializer must be callable, instead of being {initializer} of type "
            f"{type(initializer)}."
        )

    def initialize(
        shape: Sequence[int], dtype: Any = dtypes.float32, partition_info: Any = None
    ) -> Any:
        _check_request(shape, dtype, new_col_vocab_size, num_col_oov_buckets)
        offset = 0 if partition_info is None else partition_info.single_offset(shape)
        oov_rows = _oov_rows(shape[0], offset, new_row_vocab_size, num_row_oov_buckets)
        if offset > new_row_vocab_size:
            if shape[0] != oov_rows:
                raise ValueError(
                    "Partitioned variable offset is greater than new vocab size and not operating "
                    "on OOV-only partition."
                )
            return initializer(shape)
        return load_and_remap_matrix(
            ckpt_path,
            old_tensor_name,
            offset,
            shape[0] - oov_rows,
            new_col_vocab_size,
            initializer,
            old_row_vocab_size,
            old_row_vocab_file,
            new_row_vocab_file,
            old_col_vocab_file,
            new_col_vocab_file,
            oov_rows,
            num_col_oov_buckets,
            max_rows_in_memory,
        )

    return initialize


def _check_request(shape: Sequence[int], dtype: Any, columns: int, oov_columns: int) -> None:
    if dtype != dtypes.float32:
        raise TypeError(f"Currently, only float32 is supported. Received dtype: {dtype}")
    if len(shape) != 2:
        raise ValueError(f"Expected 2-dim shape, but received: {shape}")
    if shape[0] <= 0:
        raise ValueError(f"Expected 1st dim of shape to be > 0, but received shape: {shape}")
    if shape[1] != columns + oov_columns:
        raise ValueError(
            f"Expected 2nd dim of shape to be new_col_vocab_size ({columns}) + num_col_oov_buckets "
            f"({oov_columns}) = {columns + oov_columns}, but received shape: {shape}"
        )


def _oov_rows(rows: int, offset: int, words: int, buckets: int) -> int:
    """Return the number of rows from `offset` that belong to no word.

    ValueError if it is too large.
    """
    if offset + rows > words + buckets:
        raise ValueError(
            f"Trying to initialize {rows} additional rows after {offset} rows have already been "
            "initialized, which would exceed expected total row count of new_row_vocab_size "
            f"({words}) + num_row_oov_buckets ({buckets}) = {words + buckets}."
        )
    return min(rows, max(0, offset + rows - words))


@export("contrib.framework.load_embedding_initializer")
def load_embedding_initializer(
    ckpt_path: Any,
    embedding_tensor_name: Any,
    new_vocab_size: int,
    embedding_dim: int,
    old_vocab_file: Any,
    new_vocab_file: Any,
    old_vocab_size: int = -1,
    num_oov_buckets: int = 0,
    initializer: Initializer | None = None,
    max_rows_in_memory: int = -1,
) -> Initializer:
    """Return an initializer that reads embeddings of a new vocabulary from a checkpoint.

    Args:
      ckpt_path: the checkpoint, of format V2.
      embedding_tensor_name: the name of the embeddings in it.
      new_vocab_size: how many words there are.
      embedding_dim: how many columns the embeddings have.
      old_vocab_file: the words of the stored rows, a line each.
      new_vocab_file: the words of the new rows.
      old_vocab_size: how many words of the old vocabulary count; -1 for all.
      num_oov_buckets: how many rows there are for words that no vocabulary has.
      initializer: makes values that are missing in the checkpoint; normal ones by default.
      max_rows_in_memory: how many rows to read at once; -1 for all.

    Returns:
      A function of shape, dtype and partition_info.
    """
    if initializer is None:
        from stillflow.variables.initializers import TruncatedNormal

        initializer = TruncatedNormal(stddev=1.0 / math.sqrt(embedding_dim))
    return load_and_remap_matrix_initializer(
        ckpt_path,
        embedding_tensor_name,
        new_vocab_size,
        embedding_dim,
        old_row_vocab_size=old_vocab_size,
        old_row_vocab_file=old_vocab_file,
        new_row_vocab_file=new_vocab_file,
        num_row_oov_buckets=num_oov_buckets,
        initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )


@export("contrib.framework.load_linear_multiclass_bias_initializer")
def load_linear_multiclass_bias_initializer(
    ckpt_path: Any,
    bias_tensor_name: Any,
    new_class_vocab_size: int,
    old_class_vocab_file: Any,
    new_class_vocab_file: Any,
    num_class_oov_buckets: int = 0,
    initializer: Initializer | None = None,
    max_rows_in_memory: int = -1,
) -> Initializer:
    """Return an initializer that reads the biases [classes, 1] of new classes from a checkpoint.

    Args:
      ckpt_path: the checkpoint, of format V2.
      bias_tensor_name: the name of the biases in it.
      new_class_vocab_size: how many classes there are.
      old_class_vocab_file: the stored classes, a line each.
      new_class_vocab_file: the new classes.
      num_class_oov_buckets: how many rows there are for classes that no vocabulary has.
      initializer: makes values that are missing in the checkpoint; zeros by default.
      max_rows_in_memory: how many rows to read at once; -1 for all.

    Returns:
      A function of shape, dtype and partition_info.
    """
    return load_and_remap_matrix_initializer(
        ckpt_path,
        bias_tensor_name,
        new_class_vocab_size,
        1,
        old_row_vocab_file=old_class_vocab_file,
        new_row_vocab_file=new_class_vocab_file,
        num_row_oov_buckets=num_class_oov_buckets,
        initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )


@export("contrib.framework.load_variable_slot_initializer")
def load_variable_slot_initializer(
    ckpt_path: Any,
    old_tensor_name: Any,
    primary_partition_info: Any,
    new_row_vocab_size: int,
    new_col_vocab_size: int,
    old_row_vocab_file: Any = None,
    new_row_vocab_file: Any = None,
    old_col_vocab_file: Any = None,
    new_col_vocab_file: Any = None,
    num_row_oov_buckets: int = 0,
    num_col_oov_buckets: int = 0,
    initializer: Initializer | None = None,
    max_rows_in_memory: int = -1,
) -> Initializer:
    """Return `load_and_remap_matrix_initializer` for a slot of a part of a variable.

    Args:
      ckpt_path: the checkpoint, of format V2.
      old_tensor_name: the name of the slot in it.
      primary_partition_info: which part of the variable the slot belongs to.
      new_row_vocab_size: how many words the new rows have.
      new_col_vocab_size: how many words the new columns have.
      old_row_vocab_file: the words of the stored rows; None if rows stay in order.
      new_row_vocab_file: the words of the new rows.
      old_col_vocab_file: the words of the stored columns; None if columns stay in order.
      new_col_vocab_file: the words of the new columns.
      num_row_oov_buckets: how many rows there are for words that no vocabulary has.
      num_col_oov_buckets: how many columns there are for them.
      initializer: makes values that are missing in the checkpoint; zeros by default.
      max_rows_in_memory: how many rows to read at once; -1 for all.

    Returns:
      A function of shape, dtype and partition_info; what it is given as the last does not count.
    """
    initialize = load_and_remap_matrix_initializer(
        ckpt_path,
        old_tensor_name,
        new_row_vocab_size,
        new_col_vocab_size,
        old_row_vocab_file=old_row_vocab_file,
        new_row_vocab_file=new_row_vocab_file,
        old_col_vocab_file=old_col_vocab_file,
        new_col_vocab_file=new_col_vocab_file,
        num_row_oov_buckets=num_row_oov_buckets,
        num_col_oov_buckets=num_col_oov_buckets,
        initializer=initializer,
        max_rows_in_memory=max_rows_in_memory,
    )

    def initialize_slot(
        shape: Sequence[int], dtype: Any = dtypes.float32, partition_info: Any = None
    ) -> Any:
        return initialize(shape, dtype, partition_info=primary_partition_info)

    return initialize_slot
