"""Stored matrices in another order: GenerateVocabRemapping and LoadAndRemapMatrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files import tensor_types
from stillflow.files.bundle_reader import BundleReader
from stillflow.files.failures import os_errors
from stillflow.files.filesystem import open_file
from stillflow.files.staging import open_bundle
from stillflow.files.tensor_slice import TensorSlice
from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.dims import shape_text
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.io.stored import path_in

generate_vocab_remapping_op = op(
    """
    GenerateVocabRemapping(new_vocab_file: string, old_vocab_file: string)
        -> (remapping: int64, num_present: int32)
    new_vocab_offset: int >= 0
    num_new_vocab: int >= 0
    old_vocab_size: int >= -1 = -1
""",
    effect="reads files",
    differentiable=False,
)


@generate_vocab_remapping_op.shape
def generate_vocab_remapping_shape(node: Node) -> OutputDims:
    if not node.planning:
        dims_lib.with_rank(node.dims(0), 0)
        dims_lib.with_rank(node.dims(1), 0)
    return [(node.num_new_vocab,), ()]


@generate_vocab_remapping_op.kernel
def generate_vocab_remapping_kernel(node: Node) -> Kernel:
    first, count, old_size = node.new_vocab_offset, node.num_new_vocab, node.old_vocab_size

    def remap(new_file: Any, old_file: Any) -> tuple[torch.Tensor, torch.Tensor]:
        new = _words(_file_name(new_file, "new_vocab_file"))
        if first + count > len(new):
            raise errors.invalid_argument(
                "lookup table size must be larger than last new vocab entry's line"
            )
        old = _words(_file_name(old_file, "old_vocab_file"), old_size)
        ids: dict[bytes, int] = {}
        for index, word in enumerate(old):
            if ids.setdefault(word, index) != index:
                raise _duplicate(word, ids[word], index)
        remapping = [ids.get(word, -1) for word in new[first : first + count]]
        present = sum(index >= 0 for index in remapping)
        return (
            torch.tensor(remapping, dtype=torch.int64),
            torch.tensor(present, dtype=torch.int32),
        )

    return remap


def _file_name(value: Any, what: str) -> str:
    if value.ndim:
        raise errors.invalid_argument(
            f"{what} should be a single string, but got {shape_text(value.shape)}"
        )
    if not value[()]:
        raise errors.invalid_argument("new vocab filename cannot be empty.")
    return path_in(value)


def _words(path: str, size: int = -1) -> list[bytes]:
    """Return the lines of a vocabulary, or the first `size` of them."""
    with open_file(path) as file, os_errors(path):
        words = list(_lines(file, path, size))
    if 0 <= len(words) < size:
        raise errors.invalid_argument(
            f"Invalid vocab_size in {path}: expected {size} but got {len(words)}"
        )
    return words


def _lines(file: Any, path: str, size: int) -> Iterator[bytes]:
    position = 0
    for number, line in enumerate(file):
        if number == size:
            return
        position += len(line)
        word = line.rstrip(b"\n").replace(b"\r", b"")
        if not word:
            raise errors.invalid_argument(
                f"Invalid content in {path}: empty line found at position {position}."
            )
        yield word


def _duplicate(word: bytes, first: int, second: int) -> errors.OpError:
    return errors.failed_precondition(
        "HashTable has different value for same key. Key "
        f"{word.decode(errors='replace')} has {first} and trying to add value {second}"
    )


load_and_remap_matrix_op = op(
    """
    LoadAndRemapMatrix(ckpt_path: string, old_tensor_name: string, row_remapping: int64,
                       col_remapping: int64, initializing_values: float) -> output_matrix: float
    num_rows: int >= 0
    num_cols: int >= 1
    max_rows_in_memory: int = -1
    flags: stateful
""",
    effect="reads files",
    differentiable=False,
)


@load_and_remap_matrix_op.shape
def load_and_remap_matrix_shape(node: Node) -> OutputDims:
    if not node.planning:
        dims_lib.with_rank(node.dims(1), 0)
    return (node.num_rows, node.num_cols)


@load_and_remap_matrix_op.kernel
def load_and_remap_matrix_kernel(node: Node) -> Kernel:
    rows, columns, at_once = node.num_rows, node.num_cols, node.max_rows_in_memory

    def load(path: Any, name: Any, row_ids: Any, column_ids: Any, initial: Any) -> torch.Tensor:
        row_ids, column_ids = row_ids.cpu().numpy(), column_ids.cpu().numpy()
        if row_ids.size != rows:
            raise errors.invalid_argument(
                f"Size of row_remapping is {row_ids.size} instead of being equal to num_rows={rows}"
            )
        _check_unique(row_ids)
        if column_ids.size:
            if column_ids.size != columns:
                raise errors.invalid_argument(
                    f"Provided col_remapping, but its size is {column_ids.size} instead "
                    f"of being equal to num_cols={columns}"
                )
            _check_unique(column_ids)
        reader = open_bundle(path_in(path))
        key = name.reshape(-1)[0]
        shape = _check_stored(reader, key, columns if not column_ids.size else None)
        result = np.zeros((rows, columns), np.float32)
        missing = np.zeros((rows, columns), bool)
        missing[row_ids < 0] = True
        if column_ids.size:
            missing[:, column_ids < 0] = True
        for start, block in _blocks(reader, key, shape, row_ids, at_once):
            _copy(block, start, row_ids, column_ids, result)
        _fill(result, missing, initial.cpu().numpy().reshape(-1))
        return torch.from_numpy(result)

    return load


def _check_unique(ids: np.ndarray) -> None:
    new_of: dict[int, int] = {}
    for new, old in enumerate(ids.tolist()):
        if old >= 0 and new_of.setdefault(old, new) != new:
            raise errors.unimplemented(
                f"Old ID {old} is mapped to both new ID {new_of[old]} and {new}, which "
                "is not supported."
            )


def _check_stored(reader: BundleReader, key: bytes, columns: int | None) -> tuple[int, ...]:
    """Return the shape of the stored matrix, which must have so many columns."""
    entry = reader.entry(key)
    name, shape = key.decode(errors="replace"), shape_text(entry.shape)
    if entry.number != 1:
        raise errors.invalid_argument(
            f"Tensor {name} has invalid type {tensor_types.name_of(entry.number)} "
            "instead of expected type float"
        )
    if len(entry.shape) != 2:
        raise errors.invalid_argument(
            f"Tensor {name} has shape {shape} of invalid rank {len(entry.shape)} "
            "instead of expected shape of rank 2."
        )
    if columns is not None and entry.shape[1] != columns:
        raise errors.invalid_argument(
            f"Tensor {name} has shape {shape}, where the size of its 2nd dimension is "
            f"{entry.shape[1]} instead of being equal to num_cols={columns}"
        )
    return entry.shape


def _blocks(
    reader: BundleReader, key: bytes, shape: tuple[int, ...], ids: np.ndarray, at_once: int
) -> Iterator[tuple[int, np.ndarray]]:
    """Yield the rows from the first that is wanted to the last, so many at once."""
    wanted = ids[ids >= 0]
    if not wanted.size:
        return
    start, stop = int(wanted.min()), int(wanted.max()) + 1
    if stop > shape[0]:
        raise errors.invalid_argument(
            f"Extent in dimension 0 out of bounds: shape = {shape_text(shape)}, row {stop - 1}"
        )
    step = at_once if at_once > 0 else stop - start
    while start < stop:
        size = min(step, stop - start)
        yield start, reader.lookup_slice(key, TensorSlice(((start, size), (0, -1))))
        start += size


def _copy(
    block: np.ndarray, start: int, row_ids: np.ndarray, column_ids: np.ndarray, out: np.ndarray
) -> None:
    new_rows = np.flatnonzero((row_ids >= start) & (row_ids < start + len(block)))
    taken = block[row_ids[new_rows] - start]
    if not column_ids.size:
        out[new_rows] = taken
        return
    new_columns = np.flatnonzero((column_ids >= 0) & (column_ids < block.shape[1]))
    out[np.ix_(new_rows, new_columns)] = taken[:, column_ids[new_columns]]


def _fill(result: np.ndarray, missing: np.ndarray, values: np.ndarray) -> None:
    """Put values into the missing rows, in order; the numbers of both must be equal."""
    count = int(missing.sum())
    if count > values.size:
        raise errors.invalid_argument(
            f"initializing_values contained {values.size} elements, but more missing values remain."
        )
    if count < values.size:
        raise errors.invalid_argument(
            f"initializing_values contained {values.size} elements, but only {count} "
            "elements were used to fill in missing values."
        )
    result[missing] = values
