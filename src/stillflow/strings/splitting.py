"""Strings split into ragged rows: by separators, into bytes, into n-grams."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.shape import reshape, shape
from stillflow.ops.arrays.stack import stack
from stillflow.ops.strings.ngrams import string_n_grams_op
from stillflow.ops.strings.parts import (
    split_at_characters,
    split_at_separator,
    string_split_op,
)
from stillflow.ragged.conversion import convert_to_tensor_or_ragged_tensor, is_ragged
from stillflow.ragged.tensor import RaggedTensor
from stillflow.util.renamed import renamed_argument


def _rows(indices: Any, values: Any, size: Any) -> RaggedTensor:
    """Return the rows of a sparse matrix."""
    return RaggedTensor.from_value_rowids(values, indices[:, 0], nrows=size[0], validate=False)


def _ragged(parts: SparseTensor) -> RaggedTensor:
    return _rows(parts.indices, parts.values, parts.dense_shape)


# ---- At separators


@export("compat.v2.strings.split")
def split(
    input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None
) -> Tensor | RaggedTensor:
    """Split strings at a separator, as Python's `str.split` does.

    Args:
      input: strings of any shape, dense or ragged.
      sep: scalar string; runs of whitespace by default.
      maxsplit: how many splits to make at most, if positive.
      name: of the scope.

    Returns:
      The parts of each string in a row; a vector for a single string.
    """
    with name_scope(name, "StringSplit", [input]):
        strings = convert_to_tensor_or_ragged_tensor(input, dtype=dtypes.string, name="input")
        if is_ragged(strings):
            return strings.with_flat_values(split(strings.flat_values, sep, maxsplit))
        rank = strings.shape.ndims
        if rank == 0:
            return split(stack([strings]), sep, maxsplit)[0]
        if rank == 1 or rank is None:
            return _ragged(split_at_separator(strings, sep=sep, maxsplit=maxsplit))
        return split(RaggedTensor.from_tensor(strings), sep, maxsplit)


@export("strings.split")
def strings_split(
    input: Any = None,
    sep: Any = None,
    maxsplit: int = -1,
    result_type: str = "SparseTensor",
    source: Any = None,
    name: str | None = None,
) -> Any:
    """Split strings at a separator, as Python's `str.split` does.

    Args:
      input: strings of any shape.
      sep: scalar string; runs of whitespace by default.
      maxsplit: how many splits to make at most, if positive.
      result_type: "SparseTensor" or "RaggedTensor".
      source: another name of `input`.
      name: of the scope.

    Returns:
      The parts of each string in a row.

    Raises:
      ValueError: for another `result_type`.
    """
    input = renamed_argument("input", input, "source", source)
    with name_scope(name, "StringSplit", [input]):
        strings = convert_to_tensor_or_ragged_tensor(input, dtype=dtypes.string, name="input")
        if result_type == "SparseTensor" and strings.shape.ndims == 1:
            return split_at_separator(strings, sep=sep, maxsplit=maxsplit)
        rows: Any = split(strings, sep=sep, maxsplit=maxsplit)  # ragged, but for a scalar
        _check_result_type(result_type)
        return rows if result_type == "RaggedTensor" else rows.to_sparse()


@export("string_split")
def string_split(
    source: Any,
    sep: Any = None,
    skip_empty: bool = True,
    delimiter: Any = None,
    result_type: str = "SparseTensor",
    name: str | None = None,
) -> RaggedTensor | SparseTensor:
    """Split strings at every one of the characters of `sep`.

    Args:
      source: string [n].
      sep: scalar string, a blank by default; each byte is one split point if it is empty.
      skip_empty: whether empty parts are left out.
      delimiter: deprecated name of `sep`.
      result_type: "SparseTensor" or "RaggedTensor".
      name: of the scope.

    Returns:
      The parts of each string in a row.

    Raises:
      ValueError: for another `result_type`.
    """
    with name_scope(name, "StringSplit", [source]):
        parts = split_at_characters(source, sep, skip_empty, delimiter)
        _check_result_type(result_type)
        return _ragged(parts) if result_type == "RaggedTensor" else parts


def _check_result_type(result_type: str) -> None:
    if result_type not in ("RaggedTensor", "SparseTensor"):
        raise ValueError("result_type must be 'RaggedTensor' or 'SparseTensor'.")


# ---- Into bytes


@export("strings.bytes_split")
def bytes_split(input: Any, name: str | None = None) -> Tensor | RaggedTensor:
    """Return the bytes of each string in a row, each a string.

    Args:
      input: strings of any known rank, dense or ragged.
      name: of the scope.

    Raises:
      ValueError: if the rank is not known.
    """
    with name_scope(name, "StringsByteSplit", [input]):
        strings = convert_to_tensor_or_ragged_tensor(input, name="input")
        if is_ragged(strings):
            return strings.with_flat_values(bytes_split(strings.flat_values))
        rank = strings.shape.ndims
        if rank is None:
            raise ValueError("input must have a statically-known rank.")
        if rank == 0:
            return bytes_split(stack([strings]))[0]
        if rank == 1:
            return _rows(*string_split_op(strings, "", skip_empty=False))
        return bytes_split(RaggedTensor.from_tensor(strings))


# ---- Into n-grams


@export("strings.ngrams")
def ngrams(
    data: Any,
    ngram_width: Any,
    separator: str = " ",
    pad_values: Any = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Tensor | RaggedTensor:
    """Run of neighbouring strings, joined.

    Args:
      data: strings of known rank, at least 1, dense or ragged; runs are taken along the last
        dimension.
      ngram_width: how long a run is, or several such lengths.
      separator: text between the strings of a run.
      pad_values: a string that sequences are padded with, or a pair for both ends.
      padding_width: how many at each end, at most one less than the run is long (the default).
      preserve_short_sequences: whether a sequence too short for any run becomes one itself.
      name: of the scope.

    Raises:
      TypeError: if `pad_values` is something else.
      ValueError: if a width is not positive, or the rank is not known.
    """
    with name_scope(name, "StringNGrams", [data]):
        pads = _pads(pad_values)
        if padding_width is not None and padding_width < 1:
            raise ValueError("padding_width must be greater than 0.")
        if padding_width is not None and pad_values is None:
            raise ValueError("pad_values must be provided if padding_width is set.")
        data = convert_to_tensor_or_ragged_tensor(data, name="data", dtype=dtypes.string)
        options = (separator, pad_values, padding_width, preserve_short_sequences, name)
        is_dense = isinstance(data, Tensor)
        if is_dense:
            result_shape = concat([shape(data)[:-1], [-1]], axis=0)
            rank = data.shape.ndims
            if not rank:
                raise ValueError("Rank of data must be known." if rank is None
                                 else "Data must have rank>0")  # fmt: skip
            if rank == 1:
                row = RaggedTensor.from_row_starts(data, [0], validate=False)
                return ngrams(row, ngram_width, *options)[0]
            data = RaggedTensor.from_tensor(data, ragged_rank=rank - 1)
        if data.ragged_rank > 1:
            made = data.with_values(ngrams(data.values, ngram_width, *options))
        else:
            padding = padding_width if pad_values is None or padding_width else -1
            made = _runs(data, ngram_width, separator, pads, padding, preserve_short_sequences)
        return reshape(made.flat_values, result_shape) if is_dense else made


def _runs(
    data: Any, width: Any, separator: str, pads: tuple[Any, Any], padding: int | None, short: bool
) -> RaggedTensor:
    made, splits = string_n_grams_op(
        data.flat_values,
        data.row_splits,
        separator=separator,
        ngram_widths=_widths(width),
        left_pad=pads[0],
        right_pad=pads[1],
        pad_width=padding or 0,
        preserve_short_sequences=short,
    )
    return RaggedTensor.from_row_splits(made, splits, validate=False)


def _widths(ngram_width: Any) -> Sequence[int]:
    widths = ngram_width if isinstance(ngram_width, (list, tuple)) else [ngram_width]
    if any(width < 1 for width in widths):
        raise ValueError(f"All ngram_widths must be greater than 0. Got {ngram_width}")
    return widths


def _pads(pad_values: Any) -> tuple[Any, Any]:
    """Return the paddings of sequences, before and after."""
    if pad_values is None:
        return "", ""
    pads = pad_values if isinstance(pad_values, (list, tuple)) else (pad_values, pad_values)
    if not all(isinstance(pad, (bytes, str)) for pad in pads[:2]):
        raise TypeError("pad_values must be a string, tuple of strings, or None.")
    return pads[0], pads[1]
