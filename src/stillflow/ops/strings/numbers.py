"""Numbers as strings and strings as numbers: AsString, StringToNumber, DecodeRaw."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.strings.elementwise import same_shape
from stillflow.ops.strings.kernels import strings_of, to_numbers
from stillflow.util.renamed import renamed_argument
from stillflow.util.texts import address_of, library, texts_of

as_string_op = op(
    """
    AsString(input: T) -> output: string
    T: {int8, int16, int32, int64, complex64, complex128, float, double, bool}
    precision: int = -1
    scientific: bool = false
    shortest: bool = false
    width: int = -1
    fill: string = ""
""",
    differentiable=False,
)
as_string_op.shape(same_shape)


def _conversion(node: Node) -> str:
    """Return the conversion of C's printf that the attributes ask for."""
    dtype, fill = node.T, node.fill.decode("latin-1")
    is_float = dtype.is_floating or dtype.is_complex
    if not is_float and (node.scientific or node.shortest):
        raise ValueError(f"scientific and shortest format not supported for datatype {dtype.name}")
    if not is_float and node.precision >= 0:
        raise ValueError(f"precision not supported for datatype {dtype.name}")
    if len(fill) > 1:
        raise ValueError("Fill string must be one or fewer characters")
    if node.scientific and node.shortest:
        raise ValueError("Cannot select both scientific and shortest notation")
    if fill not in ("", " ", "+", "-", "0", "#"):
        raise ValueError(f'Fill argument not supported: "{fill}"')
    letter = "d"
    if is_float:
        letter = "g" if node.shortest else "e" if node.scientific else "f"
    width = str(node.width) if node.width > -1 else ""
    precision = f".{node.precision}" if node.precision > -1 else ""
    return f"%{fill}{width}{precision}{letter}"


def _printer(conversion: str) -> Callable[[list[Any]], list[bytes]]:
    # C fills up infinities and NaNs with blanks, Python with zeros.
    blank = conversion.replace("%0", "%", 1)

    def printed(numbers: list[Any]) -> list[bytes]:
        if blank != conversion and not all(map(math.isfinite, numbers)):
            shown = [(conversion if math.isfinite(x) else blank) % x for x in numbers]
            return [text.encode() for text in shown]
        # One call of the formatter for all of them; none writes a line break.
        lines = "\n".join([conversion] * len(numbers)) % tuple(numbers)
        return lines.encode().split(b"\n") if numbers else []

    return printed


def _truths(values: list[Any]) -> list[bytes]:
    return [b"true" if value else b"false" for value in values]


def _complex_printer(show: Callable[[list[Any]], list[bytes]]) -> Callable[[Any], list[bytes]]:
    def printed(numbers: list[Any]) -> list[bytes]:
        parts = show([part for number in numbers for part in (number.real, number.imag)])
        return [b"(%b,%b)" % pair for pair in zip(parts[::2], parts[1::2], strict=True)]

    return printed


@as_string_op.kernel
def as_string_kernel(node: Node) -> Kernel:
    show: Callable[[list[Any]], list[bytes]] = _printer(_conversion(node))
    if node.T.is_bool:
        show = _truths
    elif node.T.is_complex:
        show = _complex_printer(show)
    return lambda x: strings_of(show(x.reshape(-1).tolist()), tuple(x.shape))


@as_string_op.samples
def as_string_samples() -> Samples:
    yield Sample(np.array([[1, 0]], np.int32))
    yield Sample(np.array([1.5, -np.inf], np.float32), precision=1, width=7, fill="0", grad=False)
    yield Sample(np.array([[1, -2]], np.int8))
    yield Sample(np.array([True, False]))
    yield Sample(np.array([1 - 2j], np.complex64), scientific=True, grad=False)


@export("as_string", "dtypes.as_string", "strings.as_string")
@dispatchable
def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Numbers and booleans as strings, written as C's printf writes them.

    Args:
      input: any shape; integers, floating-point or complex numbers or booleans.
      precision: digits after the point (floating-point numbers only), 6 by default.
      scientific: whether to write an exponent.
      shortest: whether to take the shorter of both notations.
      width: the least width.
      fill: a flag of printf: one of " ", "+", "-", "0", "#".
    """
    return as_string_op(
        input, precision=precision, scientific=scientific, shortest=shortest, width=width,
        fill=fill, name=name,
    )  # fmt: skip


# ---- StringToNumber

string_to_number_op = op(
    """
    StringToNumber(string_tensor: string) -> output: out_type
    out_type: {float, double, int32, int64} = float
""",
    differentiable=False,
    batching="each string",
)
string_to_number_op.shape(same_shape)

_INTEGER = re.compile(rb"[ \t\n\v\f\r]*(-?[0-9]+)[ \t\n\v\f\r]*")
_FLOAT = re.compile(
    rb"\s*([+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf|nan))\s*", re.IGNORECASE
)
_HEXADECIMAL = re.compile(rb"\s*([+-]?0x[0-9a-f]+)\s*", re.IGNORECASE)
# Texts whose numbers Python reads like this operation, if it can.
_PLAIN = b"0123456789.e-\n"


def parse_float(text: bytes) -> float | None:
    """Return the number in a text, None if there is none."""
    match = _FLOAT.fullmatch(text)
    if match:
        return float(match[1])
    match = _HEXADECIMAL.fullmatch(text)
    if match:
        return float(int(match[1], 16))
    return None if text.strip() or not text else 0.0  # as TF: blanks are zero, no text is not


def integer_parser(lowest: int, highest: int) -> Callable[[bytes], int | None]:
    """Return a parser of integers; it gives None for other texts and out of range."""

    def parse(text: bytes) -> int | None:
        match = _INTEGER.fullmatch(text)
        number = int(match[1]) if match else highest + 1
        return number if lowest <= number <= highest else None

    return parse


def plain_numbers(texts: list[bytes], kind: dtypes.DType) -> np.ndarray | None:
    """Return the numbers in texts.

    None if one of them is not to be left to Python, or is no number.
    """
    if b"\n".join(texts).translate(None, _PLAIN):
        return None
    read, stored = (int, np.int64) if kind.is_integer else (float, np.float64)
    try:
        numbers = np.array(list(map(read, texts)), stored)
    except (ValueError, OverflowError):
        return None
    with np.errstate(over="ignore"):
        made = numbers.astype(kind.as_numpy_dtype)
    return None if kind.is_integer and (made != numbers).any() else made


_KINDS = {dtypes.int32: 1, dtypes.int64: 2}  # as the loop calls them
_DOUBLE = 3


def _read_numbers(
    strings: np.ndarray, kind: dtypes.DType, number: Callable[[bytes], Any]
) -> np.ndarray | None:
    """Return numbers read by a native loop, odd ones by `number`; None without a loop."""
    texts, loops = texts_of(strings), library()
    if texts is None or loops is None:
        return None
    numbers = np.empty(len(texts), np.int64 if kind.is_integer else np.float64)
    (texts_at, sizes_at, count), numbers_at, done = texts.pointers, address_of(numbers), 0
    while done < count:
        at = (texts_at + 8 * done, sizes_at + 8 * done, count - done)
        done += loops.read_numbers(*at, _KINDS.get(kind, _DOUBLE), numbers_at + 8 * done)
        if done < count:
            numbers[done] = number(strings[done])
            done += 1
    with np.errstate(over="ignore"):
        return numbers.astype(kind.as_numpy_dtype)


@string_to_number_op.kernel
def string_to_number_kernel(node: Node) -> Kernel:
    kind = node.out_type
    parse: Callable[[bytes], Any] = parse_float
    if kind.is_integer:
        parse = integer_parser(int(kind.min), int(kind.max))

    def number(text: bytes) -> Any:
        result = parse(text)
        if result is None:
            shown = text.decode("utf-8", "replace")
            raise ValueError(f"StringToNumberOp could not correctly convert string: {shown}")
        return result

    one_by_one = to_numbers(number, kind)

    def string_to_number(x: Any) -> torch.Tensor:
        numbers = _read_numbers(x.reshape(-1), kind, number)
        if numbers is None:
            numbers = plain_numbers(x.reshape(-1).tolist(), kind)
        return one_by_one(x) if numbers is None else torch.from_numpy(numbers.reshape(x.shape))

    return string_to_number


@string_to_number_op.samples
def string_to_number_samples() -> Samples:
    yield Sample(np.array([b"3", b" -7 "], object))
    yield Sample(np.array([b"3.5", b"-1e2", b" .5 "], object))
    yield Sample(np.array([[b"12", b"-7"]], object), out_type=dtypes.int64)
    yield Bad(np.array([b"abc"], object), match="could not correctly convert string: abc")
    yield Bad(np.array([b"2147483648"], object), out_type=dtypes.int32, match="2147483648")


@export("string_to_number", "strings.to_number")
@dispatchable
def string_to_number(
    string_tensor: Any = None,
    out_type: Any = dtypes.float32,
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """Strings read as decimal numbers of type `out_type`.

    Args:
      string_tensor: strings of any shape.
      out_type: float32, float64, int32 or int64.
      input: another name of `string_tensor`.
    """
    strings = renamed_argument("input", input, "string_tensor", string_tensor)
    return string_to_number_op(strings, out_type=out_type, name=name)


# ---- DecodeRaw

decode_raw_op = op(
    """
    DecodeRaw(bytes: string) -> output: out_type
    out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64, complex64, \
complex128, bool}
    little_endian: bool = true
""",
    differentiable=False,
    batching="each string",
)


@decode_raw_op.shape
def decode_raw_shape(node: Node) -> OutputDims:
    dims = node.dims(0)
    return None if dims is None else (*dims, None)


def _check_sizes(strings: list[bytes], dtype: Any) -> int:
    size = len(strings[0]) if strings else 0
    different = len(set(map(len, strings))) > 1
    for i, text in enumerate(strings if different else ()):
        if len(text) != size:
            raise ValueError(
                "DecodeRaw requires input strings to all be the same size, but element "
                f"{i} has size {size} != {len(text)}"
            )
    if size % dtype.size:
        raise ValueError(
            f"Input to DecodeRaw has length {size} that is not a multiple of {dtype.size}, "
            f"the size of {dtypes.cpp_name(dtype)}"
        )
    return size // dtype.size


@decode_raw_op.kernel
def decode_raw_kernel(node: Node) -> Kernel:
    dtype = node.out_type
    kind = np.dtype(dtype.as_numpy_dtype)
    stored = kind.newbyteorder("<" if node.little_endian else ">")
    if kind.kind == "c" and not node.little_endian:
        stored = kind  # whole numbers are reversed there, not their two parts

    def decode_raw(x: Any) -> torch.Tensor:
        strings = x.ravel().tolist()
        count = _check_sizes(strings, dtype)
        data: Any = bytearray().join(strings)  # the tensor's own memory, if nothing is to change
        if stored is kind:
            rows = np.frombuffer(data, np.uint8).reshape(-1, kind.itemsize)
            data = np.ascontiguousarray(rows[:, ::-1])
        numbers = np.frombuffer(data, stored).astype(kind, copy=False)
        return torch.from_numpy(numbers.reshape(*x.shape, count))

    return decode_raw


@decode_raw_op.samples
def decode_raw_samples() -> Samples:
    pairs = np.array([b"\x01\x02\x03\x04", b"\x05\x06\x07\x08"], object)
    yield Sample(np.array([bytes(16), bytes(16)], object), out_type=dtypes.uint8)
    for kind in (dtypes.uint8, dtypes.uint16, dtypes.int32, dtypes.half):
        yield Sample(pairs, out_type=kind)
    yield Sample(pairs, out_type=dtypes.int16, little_endian=False)
    yield Sample(
        np.array([b"\x01\x02\x03\x04" * 2], object), out_type=dtypes.complex64, little_endian=False
    )
    yield Bad(pairs, out_type=dtypes.int64, match="not a multiple of 8")


@export("decode_raw", "io.decode_raw")
def decode_raw(
    input_bytes: Any = None,
    out_type: Any = None,
    little_endian: bool = True,
    name: str | None = None,
    bytes: Any = None,
) -> Tensor:
    """Return the bytes of strings of one length as numbers, along a new last axis.

    Args:
      input_bytes: strings of any shape.
      out_type: the type of the numbers.
      little_endian: the byte order of the strings.
      bytes: deprecated name of `input_bytes`.

    Raises:
      ValueError: if `out_type` is missing.

    Example:
      >>> print(tf.Session().run(tf.decode_raw(b"ABC", tf.uint8)))
      [65 66 67]
    """
    strings = renamed_argument("input_bytes", input_bytes, "bytes", bytes)
    if out_type is None:
        raise ValueError("decode_raw_v1() missing 1 positional argument: 'out_type'")
    return decode_raw_op(strings, out_type=out_type, little_endian=little_endian, name=name)
