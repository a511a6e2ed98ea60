"""Parts of strings: Substr, StringSplit, StringSplitV2."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from operator import itemgetter
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.strings.kernels import strings_of
from stillflow.util.renamed import renamed_argument
from stillflow.util.texts import FEW, Texts, parts_of, strings_at, texts_of

substr_op = op("""
    Substr(input: string, pos: T, len: T) -> output: string
    T: {int32, int64}
    unit: {"BYTE", "UTF8_CHAR"} = "BYTE"
""")


@substr_op.shape
def substr_shape(node: Node) -> OutputDims:
    x, pos, length = node.dims(0), node.dims(1), node.dims(2)
    if pos is not None and length is not None and not (node.planning and not pos):
        dims_lib.with_rank(pos, len(length))
        if pos != length:
            raise ValueError(
                "pos and len shapes must match: "
                f"{dims_lib.to_string(pos)} vs. {dims_lib.to_string(length)}"
            )
    if not node.planning:
        return dims_lib.broadcast(x, pos)
    if not (dims_lib.is_known(x) and dims_lib.is_known(pos)):
        return None
    return _joined_shape(x, pos)


def _joined_shape(x: Sequence[int], pos: Sequence[int]) -> tuple[int, ...]:
    """Return the shape of parts of strings `x`: TF merges neighbour dimensions broadcast alike.

    ValueError if the shapes do not fit, UnimplementedError if over two dimensions are left.
    """
    if not pos or tuple(x) == tuple(pos):
        return tuple(x)
    result: list[int] = []
    last = None
    for mine, its in zip_longest(reversed(x), reversed(pos), fillvalue=1):
        if mine != its and 1 not in (mine, its):
            raise ValueError(
                f"Incompatible shapes: {dims_lib.to_string(tuple(x))} vs. "
                f"{dims_lib.to_string(tuple(pos))}"
            )
        if mine == its == 1:
            continue
        kind = "same" if mine == its else "x" if mine == 1 else "pos"
        size = its if mine == 1 else mine
        if kind == last:
            result[-1] *= size
        else:
            result.append(size)
        last = kind
    if len(result) > 2:
        raise errors.unimplemented(f"Substr broadcast not implemented for {len(result)} dimensions")
    return tuple(result[::-1]) or (1,)


def _cut(units: Any, pos: int, length: int, backwards: bool) -> Any:
    """Return the slice as C++'s `substr` takes it, or None if it starts outside.

    A negative length of bytes is all that is left; characters are then counted `backwards`.
    """
    start = pos + len(units) if pos < 0 else pos
    if not 0 <= start <= len(units) or (backwards and length < 0 and pos < 0):
        return None
    if length < 0:
        return units[:0] if backwards else units[start:]
    return units[start : start + length]


def _slice(pos: int, length: int) -> slice:
    """Return the slice that `_cut` takes of texts that are long enough."""
    stop = pos + length
    return slice(pos, None if length < 0 or pos < 0 <= stop else stop)


_CHARACTER = re.compile(rb"[\x80-\xbf]+|[^\x80-\xbf][\x80-\xbf]*")


def _substring(text: bytes, pos: int, length: int, by_character: bool, index: int) -> bytes:
    if not by_character:
        found = _cut(text, pos, length, False)
        if found is None:
            shown = text.decode("utf-8", "replace")
            raise ValueError(f"pos {pos} out of range for string b'{shown}' at index {index}")
        return found
    found = _cut(_characters(text), pos, length, True)
    if found is None:
        raise ValueError(f"pos {pos} out of range for string at index {index}")
    return found.encode() if isinstance(found, str) else b"".join(found)


def _characters(text: bytes) -> str | list[bytes]:
    """Return the characters of text that need not be UTF-8."""
    try:
        return text.decode()
    except UnicodeDecodeError:
        return _CHARACTER.findall(text)


def _all_cut(texts: list[bytes], pos: int, length: int, by_character: bool) -> list[bytes] | None:
    """Return one part of all texts; None if one is too short, or is not the UTF-8 it must be."""
    units: Any = texts
    if by_character and length < 0:
        return None
    if by_character:
        try:
            units = list(map(bytes.decode, texts))
        except UnicodeDecodeError:
            return None
    if min(map(len, units), default=abs(pos)) < abs(pos):
        return None
    cut = map(itemgetter(_slice(pos, length)), units)
    return list(map(str.encode, cut)) if by_character else list(cut)


def _cut_at_once(strings: np.ndarray, pos: np.ndarray, length: np.ndarray) -> np.ndarray | None:
    """Parts of strings in bytes, by loops in C; None where they are not, or one is too short."""
    if (pos.ndim and pos.shape != strings.shape) or (length < 0).any():
        return None
    texts = texts_of(strings)
    if texts is None:
        return None
    sizes, starts = texts.sizes, pos.reshape(-1).astype(np.int64)
    starts = np.where(starts < 0, starts + sizes, starts)
    if (starts < 0).any() or (starts > sizes).any():
        return None
    kept = np.minimum(length.reshape(-1).astype(np.int64), sizes - starts)
    return strings_at(Texts(texts.addresses + starts, kept, texts), strings.shape)


@substr_op.kernel
def substr_kernel(node: Node) -> Kernel:
    by_character = node.unit == b"UTF8_CHAR"

    def substr(x: Any, pos: Any, length: Any) -> Array:
        if not by_character and pos.shape == length.shape and x.size > FEW:
            found = _cut_at_once(x, pos.numpy(), length.numpy())
            if found is not None:
                return found
        if pos.ndim == 0 and length.numel() == 1:
            cut = _all_cut(x.reshape(-1).tolist(), int(pos), int(length), by_character)
            if cut is not None:
                return strings_of(cut, x.shape)
        if not pos.ndim and length.numel() == 1:
            length = length.reshape(())
        if pos.shape != length.shape:
            raise ValueError(
                f"pos and len shapes must match: {dims_lib.to_string(tuple(pos.shape))} vs. "
                f"{dims_lib.to_string(tuple(length.shape))}"
            )
        shape = _joined_shape(x.shape, pos.shape)
        texts, starts, lengths = np.broadcast_arrays(
            x, np.array(pos.tolist(), object), np.array(length.tolist(), object)
        )
        items = zip(texts.reshape(-1), starts.reshape(-1), lengths.reshape(-1))
        cut = [_substring(*item, by_character, i) for i, item in enumerate(items)]
        return strings_of(cut, shape)

    return substr


@substr_op.samples
def substr_samples() -> Samples:
    words = np.array([b"hello", "w\u00f6rld".encode()], object)
    one, two = np.int32(1), np.int32(2)
    yield Sample(words, one, two)
    yield Sample(words, one, two, unit="UTF8_CHAR")
    yield Sample(words, np.array([-3, 0], np.int64), np.array([2, 9], np.int64))
    yield Sample(words, one, np.int32(-1), unit="UTF8_CHAR")
    yield Bad(words, np.int32(10), one, match="pos 10 out of range")
    yield Bad(words, -one, -one, unit="UTF8_CHAR", match="pos -1 out of range")
    three = np.array([1, 1, 1], np.int32)
    yield Bad(words, three, three, match="must be equal|Incompatible shapes: .2. vs. .3.")


@export("strings.substr")
@dispatchable
def substr(input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE") -> Tensor:
    """Parts of strings.

    Args:
      input: strings of any shape.
      pos: where each part starts, counted from the end if negative; broadcast with `input`.
      len: how long each part is at most, of the shape of `pos`.
      unit: the counted unit: "BYTE" or "UTF8_CHAR".
    """
    return substr_op(input, pos, len, unit=unit, name=name)


@export("substr")
def substr_deprecated(
    input: Any, pos: Any, len: Any, name: str | None = None, unit: str = "BYTE"
) -> Tensor:
    """Parts of strings: `tf.strings.substr`."""
    return substr(input, pos, len, name=name, unit=unit)


# ---- StringSplit and StringSplitV2

string_split_op = op(
    """
    StringSplit(input: string, delimiter: string) -> (indices: int64, values: string, shape: int64)
    skip_empty: bool = true
""",
    differentiable=False,
)
string_split_v2_op = op("""
    StringSplitV2(input: string, sep: string) -> (indices: int64, values: string, shape: int64)
    maxsplit: int = -1
""")


@string_split_op.shape
@string_split_v2_op.shape
def string_split_shape(node: Node) -> OutputDims:
    if not node.planning:  # the kernels have words of their own
        dims_lib.with_rank(node.dims(0), 1)
        dims_lib.with_rank(node.dims(1), 0)
    return [(None, 2), (None,), (2,)]


Splitter = Callable[[bytes], list[bytes]]
_BLANKS = b" \t\n\r\v\f"
_BYTES = [bytes([byte]) for byte in range(256)]


Parts = tuple[np.ndarray, np.ndarray, int]  # their indices, the parts, how many at most


def _at_delimiters(delimiters: bytes, skip_empty: bool) -> Splitter:
    if not delimiters:
        return lambda text: [_BYTES[byte] for byte in text]
    first = delimiters[:1]
    table = bytes.maketrans(delimiters, first * len(delimiters)) if delimiters[1:] else None

    def split(text: bytes) -> list[bytes]:
        if not text:
            return []
        parts = (text.translate(table) if table else text).split(first)
        return [part for part in parts if part] if skip_empty else parts

    return split


def _at_separator(separator: bytes, most: int) -> Splitter:
    limit = max(most, -1)
    if most == 0:
        return lambda text: [text]
    if separator:
        return lambda text: text.split(separator, limit)

    def split(text: bytes) -> list[bytes]:
        parts = text.split(None, limit)
        if most > 0 and len(parts) == most:
            parts.append(b"")  # the rest is kept even where it is empty
        return parts

    return split


def _places(rows: list[list[bytes]], total: int) -> tuple[np.ndarray, int]:
    """Return the row and column of each part, and how many the longest row has."""
    indices = np.zeros((total, 2), np.int64)
    if len(rows) == 1:  # as in functions of lines
        indices[:, 1] = np.arange(total)
        return indices, total
    counts = np.fromiter(map(len, rows), np.int64, len(rows))
    indices[:, 0] = np.repeat(np.arange(len(rows)), counts)
    indices[:, 1] = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
    return indices, int(counts.max(initial=0))


def _split_one_by_one(strings: np.ndarray, split: Splitter) -> Parts:
    rows = list(map(split, strings.tolist()))
    values = list(chain.from_iterable(rows))
    indices, most = _places(rows, len(values))
    return indices, strings_of(values, (len(values),)), most


def _split_at_once(strings: np.ndarray, delimiters: bytes, *how: bool) -> Parts | None:
    """Split by native loops; None where they are not built."""
    texts = texts_of(strings) if delimiters and len(strings) > FEW else None
    return None if texts is None else parts_of(texts, delimiters, *how)


def _split_kernel(
    splitter: Callable[[bytes], Splitter], argument: str,
    at_once: Callable[[np.ndarray, bytes], Parts | None],
) -> Callable[..., Any]:  # fmt: skip
    def kernel(x: Any, separator: Any) -> tuple[torch.Tensor, Array, torch.Tensor]:
        arguments = (("input", x, 1, "vector"), (argument, separator, 0, "scalar"))
        for name, value, rank, kind in arguments:
            if value.ndim != rank:
                given = dims_lib.to_string(value.shape)
                raise ValueError(f"{name} must be a {kind}, got shape: {given}")
        by = separator.item()
        indices, values, most = at_once(x, by) or _split_one_by_one(x, splitter(by))
        shape = torch.from_numpy(np.array([len(x), most], np.int64))
        return torch.from_numpy(indices), values, shape

    return kernel


@string_split_op.kernel
def string_split_kernel(node: Node) -> Kernel:
    skip = node.skip_empty
    return _split_kernel(
        lambda by: _at_delimiters(by, skip), "delimiter",
        lambda strings, by: _split_at_once(strings, by, skip, True),
    )  # fmt: skip


@string_split_v2_op.kernel
def string_split_v2_kernel(node: Node) -> Kernel:
    most = node.maxsplit

    def at_once(strings: np.ndarray, by: bytes) -> Parts | None:
        if most >= 0 or len(by) > 1:
            return None
        return _split_at_once(strings, by or _BLANKS, not by, not by)

    return _split_kernel(lambda by: _at_separator(by, most), "sep", at_once)


@string_split_op.samples
@string_split_v2_op.samples
def string_split_samples() -> Samples:
    lines = np.array([b"a b", b"", b" c--d "], object)
    for separator in (b" ", b"", b"--"):
        yield Sample(lines, np.array(separator, object))
    yield Bad(np.array([[b"a"]], object), np.array(b" ", object), match="rank 1|must be a vector")


def split_at_characters(
    source: Any, sep: Any = None, skip_empty: bool = True, delimiter: Any = None
) -> SparseTensor:
    """Return the parts [n, most parts] of strings [n] between any of a separator's characters.

    `sep` is a scalar, a blank by default; if it is empty, each byte is one split point.
    """
    sep = renamed_argument("sep", sep, "delimiter", delimiter)
    separator = convert_to_tensor(" " if sep is None else sep, dtype=dtypes.string)
    strings = convert_to_tensor(source, dtype=dtypes.string)
    return SparseTensor(*string_split_op(strings, separator, skip_empty=skip_empty))


def split_at_separator(source: Any, sep: Any = None, maxsplit: int = -1) -> SparseTensor:
    """Return the parts [n, most parts] of strings [n], as Python's `str.split` gives them.

    `sep` is a scalar, runs of whitespace by default; `maxsplit` counts if positive.
    """
    separator = convert_to_tensor("" if sep is None else sep, dtype=dtypes.string)
    strings = convert_to_tensor(source, dtype=dtypes.string)
    return SparseTensor(*string_split_v2_op(strings, separator, maxsplit=maxsplit))
