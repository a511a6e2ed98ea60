"""Text and its characters in ragged rows: `tf.strings.unicode_decode` and its kin."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.shape import reshape, shape
from stillflow.ops.arrays.stack import stack
from stillflow.ops.strings.unicode import (
    unicode_decode_op,
    unicode_decode_with_offsets_op,
    unicode_encode_op,
)
from stillflow.ragged.conversion import convert_to_tensor_or_ragged_tensor, is_ragged
from stillflow.ragged.ranks import expand_dims
from stillflow.ragged.tensor import RaggedTensor

_REPLACEMENT = 65533


@export("strings.unicode_encode")
def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    name: str | None = None,
) -> Tensor | RaggedTensor:
    """Text made of code points.

    Args:
      input: int32, dense or ragged, of known rank, at least 1; the last dimension is joined.
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: "replace" or "ignore" what is no code point, or "strict": raise an error.
      replacement_char: the code point of replacements.
      name: of the scope.

    Raises:
      ValueError: if the rank is not known, or 0.
    """
    options = (output_encoding, errors, replacement_char)
    with name_scope(name, "UnicodeEncode", [input]):
        codes = convert_to_tensor_or_ragged_tensor(input)
        if codes.shape.ndims is None:
            raise ValueError("Rank of input_tensor must be statically known.")
        if not is_ragged(codes):
            return _encode_dense(codes, options)
        if (codes.flat_values.shape.ndims or 0) > 1:
            return codes.with_flat_values(unicode_encode(codes.flat_values, *options))
        if codes.ragged_rank > 1:
            return codes.with_values(unicode_encode(codes.values, *options))
        return unicode_encode_op(
            codes.values,
            codes.row_splits,
            output_encoding=output_encoding,
            errors=errors,
            replacement_char=replacement_char,
        )


def _encode_dense(codes: Tensor, options: tuple[Any, ...]) -> Any:
    rank = codes.shape.ndims
    if rank == 0:
        raise ValueError("input_tensor's rank must be at least 1.")
    if rank == 1:
        splits = stack([0, shape(codes, out_type=dtypes.int32)[0]])
        row = RaggedTensor.from_row_splits(codes, splits, validate=False)
        return reshape(unicode_encode(row, *options), [])
    if rank == 2:
        return unicode_encode(RaggedTensor.from_tensor(codes), *options)
    rows = reshape(codes, stack([-1, shape(codes)[-1]]))
    return reshape(unicode_encode(rows, *options), codes.shape[:-1])


@export("strings.unicode_decode")
def unicode_decode(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor | RaggedTensor:
    """Return the code points of each text in a row: int32.

    Args:
      input: strings of any known rank, dense or ragged.
      input_encoding: any that Python knows.
      errors: "replace" or "ignore" malformed bytes, or "strict": raise an error.
      replacement_char: the code point of replacements.
      replace_control_characters: whether U+0000 to U+001F count as malformed.
      name: of the scope.

    Raises:
      ValueError: if the rank is not known.
    """
    with name_scope(name, "UnicodeDecode", [input]):
        return _decode(
            unicode_decode_op, input, input_encoding, errors, replacement_char,
            replace_control_characters,
        )[0]  # fmt: skip


@export("strings.unicode_decode_with_offsets")
def unicode_decode_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return the code points of each text, and where each starts in bytes; see `unicode_decode`."""
    with name_scope(name, "UnicodeDecodeWithOffsets", [input]):
        codes, starts = _decode(
            unicode_decode_with_offsets_op, input, input_encoding, errors, replacement_char,
            replace_control_characters,
        )  # fmt: skip
        return codes, starts


@export("strings.unicode_split")
def unicode_split(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    name: str | None = None,
) -> Tensor | RaggedTensor:
    """Return the characters of each text in a row, each a string; see `unicode_decode`."""
    options = (input_encoding, errors, replacement_char)
    with name_scope(name, "UnicodeSplit", [input]):
        (codes,) = _decode(unicode_decode_op, input, *options, False)
        return unicode_encode(expand_dims(codes, -1), *options)


@export("strings.unicode_split_with_offsets")
def unicode_split_with_offsets(
    input: Any,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = _REPLACEMENT,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return the characters of each text, and where each starts in bytes; see `unicode_split`."""
    options = (input_encoding, errors, replacement_char)
    with name_scope(name, "UnicodeSplitWithOffsets", [input]):
        codes, starts = _decode(unicode_decode_with_offsets_op, input, *options, False)
        return unicode_encode(expand_dims(codes, -1), *options), starts


def _decode(
    card: Any, input: Any, encoding: str, errors: str, replacement: int, controls: bool
) -> list[Any]:
    """Decode each text to rows of code points and their places."""
    texts = convert_to_tensor_or_ragged_tensor(input, name="input")
    rank = texts.shape.ndims
    if rank is None:
        raise ValueError("Rank of `input` must be statically known.")
    if rank > 1:
        texts = _as_rows(texts, rank)
    flat = reshape(texts.flat_values if is_ragged(texts) else texts, [-1])
    splits, *found = card(
        flat,
        input_encoding=encoding,
        errors=errors,
        replacement_char=replacement,
        replace_control_characters=controls,
    )
    if rank == 0:
        return found
    rows = [RaggedTensor.from_row_splits(part, splits, validate=False) for part in found]
    if rank == 1 or not is_ragged(texts):
        return rows
    return [texts.with_flat_values(part) for part in rows]


def _as_rows(texts: Any, rank: int) -> Any:
    """Texts with all dimensions but the first ragged, so that their values are a vector."""
    if not is_ragged(texts):
        return RaggedTensor.from_tensor(texts, ragged_rank=rank - 1)
    if texts.ragged_rank == rank - 1:
        return texts
    inner = RaggedTensor.from_tensor(texts.flat_values, ragged_rank=rank - texts.ragged_rank + 1)
    return texts.with_flat_values(inner)
