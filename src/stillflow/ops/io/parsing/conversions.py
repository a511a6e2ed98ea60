"""Serialized tensors, compressed strings and JSON: ParseTensor, DecodeCompressed and the like."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files.compression import inflate_error
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes, tensor_proto
from stillflow.graph.card import op
from stillflow.graph.dims import shape_text
from stillflow.graph.dtypes import cpp_name
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.io.parsing.columns import refuse
from stillflow.ops.io.stored import from_stored
from stillflow.ops.io.variants import from_message, to_message
from stillflow.ops.strings.numbers import decode_raw_op

parse_tensor_op = op(
    "ParseTensor(serialized: string) -> output: out_type\nout_type: type", differentiable=False
)
serialize_tensor_op = op(
    "SerializeTensor(tensor: T) -> serialized: string\nT: type", differentiable=False
)
decode_compressed_op = op(
    'DecodeCompressed(bytes: string) -> output: string\ncompression_type: string = ""'
)
decode_json_example_op = op("DecodeJSONExample(json_examples: string) -> binary_examples: string")
decode_padded_raw_op = op(
    """
    DecodePaddedRaw(input_bytes: string, fixed_length: int32) -> output: out_type
    out_type: {half, float, double, int32, uint16, uint8, int16, int8, int64}
    little_endian: bool = true
""",
    differentiable=False,
)


@parse_tensor_op.shape
def parse_tensor_shape(node: Node) -> OutputDims:
    if not node.planning:
        dims_lib.with_rank(node.dims(0), 0)
    return None


@parse_tensor_op.kernel
def parse_tensor_kernel(node: Node) -> Kernel:
    wanted, device = node.out_type, node.device

    def parse_tensor(serialized: np.ndarray) -> Any:
        from stillflow.protos import TensorProto

        if serialized.ndim:
            raise refuse(
                f"Expected `serialized` to be a scalar, got shape: {shape_text(serialized.shape)}"
            )
        text = serialized.item()
        try:
            message = TensorProto.FromString(text)
        except Exception:
            shown = text.decode("utf-8", "backslashreplace")
            raise refuse(f"Could not parse `serialized` as TensorProto: '{shown}'") from None
        held = dtypes.as_dtype(message.dtype) if message.dtype else None
        if held != wanted:
            found = cpp_name(held) if held else "INVALID"
            raise refuse(
                f"Type mismatch between parsed tensor ({found}) and dtype ({cpp_name(wanted)})"
            )
        if wanted == dtypes.variant:
            return from_message(message)
        return from_stored(np.asarray(tensor_proto.from_proto(message)), wanted, device)

    return parse_tensor


@export("io.parse_tensor", "parse_tensor")
def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """Return the tensor in a serialized `TensorProto`.

    Args:
      serialized: a string scalar.
      out_type: the type of the tensor.
      name: of the operation.
    """
    tensor: Tensor = parse_tensor_op(serialized, out_type=out_type, name=name)
    return tensor


serialize_tensor_op.shape(lambda node: ())


@serialize_tensor_op.kernel
def serialize_tensor_kernel(node: Node) -> Kernel:
    dtype = node.T

    def serialize_tensor(value: Any) -> np.ndarray:
        message = to_message(value, dtype)
        return np.array(message.SerializeToString(deterministic=True), dtype=object)

    return serialize_tensor


@export("io.serialize_tensor", "serialize_tensor")
def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """Return a tensor as a serialized `TensorProto`, a string scalar."""
    text: Tensor = serialize_tensor_op(tensor, name=name)
    return text


# ---- Compressed strings and JSON


def _same_shape(node: Node) -> tuple[int | None, ...] | None:
    return node.dims(0)


decode_compressed_op.shape(_same_shape)
decode_json_example_op.shape(_same_shape)
_WINDOW_BITS = {b"ZLIB": zlib.MAX_WBITS, b"GZIP": zlib.MAX_WBITS | 16}


def _map(values: np.ndarray, function: Any) -> np.ndarray:
    made = np.empty(values.size, dtype=object)
    made[:] = [function(value) for value in values.reshape(-1).tolist()]
    return made.reshape(values.shape)


@decode_compressed_op.kernel
def decode_compressed_kernel(node: Node) -> Kernel:
    kind = node.compression_type
    if kind and kind not in _WINDOW_BITS:
        raise ValueError("Only ZLIB, GZIP or NONE are supported compressions")
    if not kind:
        return lambda values: values.copy()

    def inflate(data: bytes) -> bytes:
        machine = zlib.decompressobj(_WINDOW_BITS[kind])
        try:
            return machine.decompress(data) + machine.flush()
        except zlib.error as error:
            raise errors.data_loss(inflate_error(error)) from None

    return lambda values: _map(values, inflate)


@export("io.decode_compressed", "decode_compressed")
@dispatchable
def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Tensor:
    """Strings, decompressed.

    Args:
      bytes: strings of any shape.
      compression_type: "", "ZLIB" or "GZIP".
      name: of the operation.
    """
    text: Tensor = decode_compressed_op(bytes, compression_type=compression_type, name=name)
    return text


@decode_json_example_op.kernel
def decode_json_example_kernel(node: Node) -> Kernel:
    from google.protobuf import json_format

    from stillflow.ops.io.parsing import json_examples
    from stillflow.protos import Example

    def convert(text: bytes) -> bytes:
        example = json_examples.parse(text)
        if example is None:
            try:
                example = json_format.Parse(text, Example())
            except Exception as error:
                told = "" if "TypeError" in str(error) else f": {error}"  # of Python's own
                raise refuse(f"Error while parsing JSON{told}") from error
        serialized: bytes = example.SerializeToString()
        return serialized

    return lambda values: _map(values, convert)


@export("io.decode_json_example", "decode_json_example")
def decode_json_example(json_examples: Any, name: str | None = None) -> Tensor:
    """`Example`s in JSON as serialized ones.

    Args:
      json_examples: strings of any shape.
      name: of the operation.
    """
    text: Tensor = decode_json_example_op(json_examples, name=name)
    return text


# ---- DecodePaddedRaw


@decode_padded_raw_op.shape
def decode_padded_raw_shape(node: Node) -> OutputDims:
    length, dims = node.value(1), node.dims(0)
    width = None
    if length is not None and length.ndim == 0:
        width = dims_lib.divide(dims_lib.make_dim(int(length), 1), node.out_type.size)
    return None if dims is None else (*dims, width)


@decode_padded_raw_op.kernel
def decode_padded_raw_kernel(node: Node) -> Kernel:
    kind = np.dtype(node.out_type.as_numpy_dtype)
    stored = kind.newbyteorder("<" if node.little_endian else ">")

    def decode_padded_raw(texts: np.ndarray, length: Any) -> Any:
        size = int(length)
        if size <= 0:
            raise refuse(f"fixed_length ({size}) must be greater than zero.")
        if size % kind.itemsize:
            raise refuse(
                f"fixed_length ({size}) must be a multiple of the size of out_type "
                f"({kind.itemsize})"
            )
        data = b"".join(text[:size].ljust(size, b"\0") for text in texts.reshape(-1).tolist())
        numbers = np.frombuffer(data, stored).astype(kind)
        return torch.from_numpy(numbers.reshape(*texts.shape, size // kind.itemsize))

    return decode_padded_raw


@export("compat.v2.io.decode_raw")
def decode_raw(
    input_bytes: Any,
    out_type: Any,
    little_endian: bool = True,
    fixed_length: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return the bytes of strings as numbers.

    Args:
      input_bytes: strings.
      out_type: the type of the numbers.
      little_endian: whether their first byte is the lowest.
      fixed_length: how many bytes of each string are read; shorter ones are filled up with zeros.
        None if all have the same length.
      name: of the operation.
    """
    options = {"out_type": out_type, "little_endian": little_endian, "name": name}
    if fixed_length is None:
        return decode_raw_op(input_bytes, **options)
    return decode_padded_raw_op(input_bytes, fixed_length, **options)
