"""Text and its code points: UnicodeDecode, UnicodeEncode, UnicodeTranscode, UnicodeScript."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.kernels import torch_type
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.strings import unicode_text
from stillflow.ops.strings.elementwise import same_shape
from stillflow.ops.strings.kernels import all_to_strings, strings_of
from stillflow.ops.strings.unicode_text import UNITS, ErrorPolicy

_OPTIONS = """
    input_encoding: string
    errors: {"strict", "replace", "ignore"} = "replace"
    replacement_char: int = 65533
    replace_control_characters: bool = false
    Tsplits: {int32, int64} = int64
"""
unicode_decode_op = op(
    f"UnicodeDecode(input: string) -> (row_splits: Tsplits, char_values: int32){_OPTIONS}"
)
unicode_decode_with_offsets_op = op(f"""
    UnicodeDecodeWithOffsets(input: string)
        -> (row_splits: Tsplits, char_values: int32, char_to_byte_starts: int64){_OPTIONS}
""")
unicode_encode_op = op("""
    UnicodeEncode(input_values: int32, input_splits: Tsplits) -> output: string
    errors: {"ignore", "replace", "strict"} = "replace"
    output_encoding: {"UTF-8", "UTF-16-BE", "UTF-32-BE"}
    replacement_char: int = 65533
    Tsplits: {int32, int64} = int64
""")
unicode_transcode_op = op("""
    UnicodeTranscode(input: string) -> output: string
    input_encoding: string
    output_encoding: {"UTF-8", "UTF-16-BE", "UTF-32-BE"}
    errors: {"strict", "replace", "ignore"} = "replace"
    replacement_char: int = 65533
    replace_control_characters: bool = false
""")
unicode_script_op = op("UnicodeScript(input: int32) -> output: int32")
unicode_transcode_op.shape(same_shape)
unicode_script_op.shape(same_shape)


@unicode_decode_op.shape
@unicode_decode_with_offsets_op.shape
def unicode_decode_shape(node: Node) -> OutputDims:
    texts = dims.num_elements(node.dims(0))
    return [(dims.add(texts, 1),), *[(None,)] * (len(node.outputs) - 1)]


@unicode_encode_op.shape
def unicode_encode_shape(node: Node) -> OutputDims:
    if not node.planning:  # the kernel takes any
        dims.with_rank(node.dims(0), 1)
    dims.with_rank(node.dims(1), 1)
    return (dims.subtract(dims.dim(node.dims(1), 0), 1),)


# ---- Kernels


def _reader(node: Node) -> Callable[[list[bytes]], tuple[np.ndarray, ...]]:
    """Return a function from texts to numbers of characters, their codes and their starts."""
    policy = ErrorPolicy(node.errors, node.replacement_char, node.replace_control_characters)
    policy.check()
    codec = unicode_text.codec_of(node.input_encoding)
    refuses_control = node.op.type == "UnicodeTranscode"

    def read(texts: list[bytes]) -> tuple[np.ndarray, ...]:
        found = unicode_text.characters(texts, codec)
        refused = policy.refused(found)
        wrong = refused if refuses_control else found.malformed
        if policy.errors == b"strict" and wrong.any():
            raise ValueError("Invalid formatting on input string")
        if policy.errors == b"ignore":
            return (*found.chosen(~refused), found.starts()[~refused])
        codes = np.where(refused, policy.replacement, found.codes)
        return found.counts, codes, found.starts()

    return read


def _of_malformed(node: Node) -> tuple[int, int]:
    """Return what becomes of malformed characters, and the first one allowed, for native loops."""
    kept = {b"replace": node.replacement_char, b"ignore": unicode_text.IGNORE}
    first_allowed = 0x20 if node.replace_control_characters else 0
    return kept.get(node.errors, unicode_text.STRICT), first_allowed


@unicode_decode_op.kernel
@unicode_decode_with_offsets_op.kernel
def unicode_decode_kernel(node: Node) -> Kernel:
    read, kind = _reader(node), torch_type(node.Tsplits)
    with_offsets = len(node.outputs) == 3
    how = _of_malformed(node)
    is_utf8 = unicode_text.codec_of(node.input_encoding) == "utf-8"
    has_loop = is_utf8 and not (node.errors == b"strict" and node.replace_control_characters)

    def decode(texts: np.ndarray) -> tuple[torch.Tensor, ...]:
        found = unicode_text.characters_of_utf8(texts, *how) if has_loop else None
        if found is None:
            counts, codes, starts = read(texts.reshape(-1).tolist())
            found = np.cumsum([0, *counts.tolist()]), codes.astype(np.int32), starts
        splits, *parts = map(torch.from_numpy, found)
        return (splits.to(kind), *parts[: 1 + with_offsets])

    return decode


@unicode_transcode_op.kernel
def unicode_transcode_kernel(node: Node) -> Kernel:
    read, encoding = _reader(node), node.output_encoding
    replacement, first_allowed = _of_malformed(node)

    def transcode(texts: list[bytes]) -> list[bytes]:
        counts, codes, _ = read(texts)
        return unicode_text.encode(codes, counts, encoding)

    if unicode_text.codec_of(node.input_encoding) != "utf-8" or 0xD800 <= replacement <= 0xDFFF:
        return all_to_strings(transcode)  # halves of pairs might meet
    return all_to_strings(transcode, "change_encoding", replacement, first_allowed, UNITS[encoding])


@unicode_encode_op.kernel
def unicode_encode_kernel(node: Node) -> Kernel:
    policy = ErrorPolicy(node.errors, node.replacement_char)
    policy.check()
    encoding = node.output_encoding

    def encode(values: Any, splits: Any) -> np.ndarray:
        if not len(splits):
            raise ValueError(
                "Input_splits should contain elements, but given input_values has 0 elements"
            )
        values = values.reshape(-1)
        # The first split says nothing; one that falls behind those before it ends an empty row.
        later = splits[1:].numpy().astype(np.int64)
        ends = np.maximum.accumulate(np.concatenate([[0], later]))
        if ends[-1] > len(values):  # TF would read past the end
            raise ValueError(f"Invalid split value {ends[-1]}, must be in [0,{len(values)}]")
        codes, counts = values[: ends[-1]].numpy(), np.diff(ends)
        wrong = (codes < 0) | (codes > unicode_text.MAX_CODE_POINT)
        if wrong.any():
            codes, counts = _repaired(codes, counts, wrong, policy)
        codes = np.ascontiguousarray(codes, np.int32)
        found = unicode_text.texts_of_codes(codes, np.cumsum(counts), encoding)
        if found is not None:
            return found
        return strings_of(unicode_text.encode(codes, counts, encoding), (len(counts),))

    return encode


def _repaired(
    codes: np.ndarray, counts: np.ndarray, wrong: np.ndarray, policy: ErrorPolicy
) -> tuple[np.ndarray, np.ndarray]:
    """Return valid code points of texts, and their number in each text."""
    if policy.errors == b"strict":
        raise ValueError("Code point value out of valid Unicode range.")
    if policy.errors == b"replace":
        return np.where(wrong, policy.replacement, codes), counts
    rows = np.repeat(np.arange(len(counts)), counts)[~wrong]
    return codes[~wrong], np.bincount(rows, minlength=len(counts))


@unicode_script_op.kernel
def unicode_script_kernel(node: Node) -> Kernel:
    device = node.device

    def script(codes: Any) -> torch.Tensor:
        return torch.from_numpy(unicode_text.scripts_of(codes.cpu().numpy())).to(device)

    return script


# ---- Samples


_TEXTS = np.array([[b"abc", "\u00f6\u4eca\U0001f60a".encode()], [b"", b"a\xffb\x01"]], object)


@unicode_decode_op.samples
@unicode_decode_with_offsets_op.samples
def unicode_decode_samples() -> Samples:
    for errors in ("replace", "ignore"):
        yield Sample(_TEXTS, input_encoding="UTF-8", errors=errors, replace_control_characters=True)
    yield Sample(_TEXTS, input_encoding="latin1")
    yield Bad(_TEXTS, input_encoding="UTF-8", errors="strict", match="Invalid formatting")
    yield Bad(_TEXTS, input_encoding="klingon", match="input encoding")


@unicode_transcode_op.samples
def unicode_transcode_samples() -> Samples:
    for encoding in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
        yield Sample(_TEXTS, input_encoding="UTF-8", output_encoding=encoding)
    strict = {"input_encoding": "UTF-8", "output_encoding": "UTF-8", "errors": "strict"}
    yield Bad(_TEXTS, **strict, match="Invalid formatting")


@unicode_encode_op.samples
def unicode_encode_samples() -> Samples:
    codes, splits = np.array([72, 105, 0x1F60A, -1], np.int32), np.array([0, 2, 2, 4])
    for encoding in ("UTF-8", "UTF-16-BE", "UTF-32-BE"):
        yield Sample(codes, splits, output_encoding=encoding)
    yield Bad(codes, splits, output_encoding="UTF-8", errors="strict", match="out of valid")


@unicode_script_op.samples
def unicode_script_samples() -> Samples:
    yield Sample(np.array([[65, 0x3B1], [0x4ECA, -1]], np.int32))
    yield Sample(np.array(65, np.int32))


# ---- Public functions


@export("strings.unicode_script")
@dispatchable
def unicode_script(input: Any, name: str | None = None) -> Tensor:
    """Return the script (in ICU's numbering) of every code point, -1 where it is none: int32."""
    return unicode_script_op(input, name=name)


@export("strings.unicode_transcode")
@dispatchable
def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Text in another encoding.

    Args:
      input: strings of any shape.
      input_encoding: any that Python knows.
      output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
      errors: "replace" or "ignore" malformed bytes, or "strict": raise an error.
      replacement_char: the code point of replacements.
      replace_control_characters: whether U+0000 to U+001F count as malformed.
      name: of the operation.
    """
    return unicode_transcode_op(
        input,
        input_encoding=input_encoding,
        output_encoding=output_encoding,
        errors=errors,
        replacement_char=replacement_char,
        replace_control_characters=replace_control_characters,
        name=name,
    )
