"""DecodeProtoV2 and EncodeProto."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.dims import merge, shape_text, with_rank_at_least
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.io.protos.descriptors import (
    FIELD_TYPES,
    field_of,
    is_compatible,
    message_descriptor,
    refuse,
)
from stillflow.ops.io.protos.reading import Found, Wanted, data_loss, field_values
from stillflow.ops.io.protos.writing import field_bytes


def _reads_nothing(node: Node) -> bool:
    """Return True where the messages are described in the attribute, or known to the process."""
    source = node.descriptor_source
    return source in (b"", b"local://") or source.startswith(b"bytes://")


decode_proto_op = op(
    """
    DecodeProtoV2(bytes: string) -> (sizes: int32, values: [output_types])
    message_type: string
    field_names: list(string)
    output_types: list(type) >= 0
    descriptor_source: string = "local://"
    message_format: string = "binary"
    sanitize: bool = false
    """,
    effect="reads files",
    harmless=_reads_nothing,
)
encode_proto_op = op(
    """
    EncodeProto(sizes: int32, values: [Tinput_types]) -> bytes: string
    field_names: list(string)
    message_type: string
    descriptor_source: string = "local://"
    Tinput_types: list(type) >= 1
    """,
    effect="reads files",
    harmless=_reads_nothing,
)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _message(node: Any) -> Any:
    return message_descriptor(node.descriptor_source, _text(node.message_type))


# ---- taking apart


@decode_proto_op.shape
def decode_proto_shape(node: Node) -> OutputDims:
    dims, count = node.dims(0), len(node.outputs) - 1
    if dims is None:
        return [None] * (count + 1)
    return [(*dims, count), *((*dims, None) for _ in range(count))]


def _default(field: Any) -> Any:
    """Return the default of a field, as TensorFlow derives it."""
    value = field.default_value
    kind, _ = FIELD_TYPES[field.type]
    if kind in ("string", "bytes"):
        raw = value.encode() if isinstance(value, str) else value or b""
        return raw.partition(b"\0")[0]
    if kind in ("group", "message"):
        return b""
    if kind in ("uint32", "uint64", "fixed32", "fixed64"):
        return (value or 0) & 0xFF  # it keeps the last byte only
    return value or 0


def _checked_fields(node: Any, message: Any) -> list[Any]:
    names, types = [_text(name) for name in node.field_names], list(node.output_types)
    if len(names) != len(types):
        raise refuse("field_names and output_types attributes must have the same length")
    fields = []
    for name, dtype in zip(names, types, strict=True):
        field = field_of(message, name, extensions=True)
        if not is_compatible(field, dtype):
            raise refuse(
                f"Unexpected output type for {field.full_name}: {field.cpp_type} to "
                f"{dtype.as_datatype_enum}"
            )
        fields.append(field)
    return fields


def _serializer(node: Any, message: Any) -> Callable[..., Any] | None:
    """Return a function to binary messages that can be read without checks."""
    form = _text(node.message_format)
    if form not in ("binary", "text"):
        raise refuse("format must be one of binary or text")
    if form == "binary" and not node.sanitize:
        return None
    from google.protobuf import message_factory, text_format
    from google.protobuf.message import DecodeError

    made = message_factory.GetMessageClass(message)

    def serialize(data: bytes) -> bytes:
        found = made()
        try:
            if form == "binary":
                found.ParseFromString(data)
            else:
                text_format.Parse(data, found, descriptor_pool=message.file.pool)
        except (DecodeError, text_format.ParseError):
            raise data_loss(f"Unable to parse {form} protobuf") from None
        serialized: bytes = found.SerializePartialToString()
        return serialized

    return serialize


def _filled(
    found: list[Found], field: Any, dtype: Any, dims: tuple[int, ...]
) -> torch.Tensor | Array:
    """Return the values of all messages, as many for each as the one with most has."""
    longest = max(1, *(each.count for each in found))
    for each in found:
        if any(at >= longest for at in each.packed_at):
            raise data_loss(
                "ReadPackedValues: Tried to write more entries than allowed.  Field tag: "
                f"{field.number}, Max entries allowed: {longest}"
            )
    is_text = dtype.name == "string"
    numpy_type = object if is_text else dtype.as_numpy_dtype
    filled = np.full((len(found), longest), _default(field), dtype=numpy_type)
    for row, each in zip(filled, found, strict=True):
        row[: len(each.values)] = np.array(each.values, numpy_type)
    shaped = filled.reshape((*dims, longest))
    return shaped if is_text else torch.from_numpy(shaped)


@decode_proto_op.kernel
def decode_proto_kernel(node: Node) -> Kernel:
    message = _message(node)
    fields = _checked_fields(node, message)
    serialize = _serializer(node, message)
    types = [tensor.dtype for tensor in node.outputs[1:]]
    order = sorted(range(len(fields)), key=lambda index: fields[index].number)
    wanted = [
        Wanted(field.number, field.type, field.is_repeated, types[index].size == 8)
        for index, field in ((index, fields[index]) for index in order)
    ]

    def run(data: Any) -> tuple[torch.Tensor | Array, ...]:
        if not data.size:
            raise refuse("Bufs argument must contain at least one value")
        messages = [serialize(each) if serialize else each for each in data.ravel().tolist()]
        by_number = [field_values(each, wanted) for each in messages]
        dims = tuple(data.shape)
        sizes = np.zeros((len(messages), len(fields)), np.int32)
        values: list[Any] = [None] * len(fields)
        for place, index in enumerate(order):
            found = [each[place] for each in by_number]
            sizes[:, index] = [each.count for each in found]
            values[index] = _filled(found, fields[index], types[index], dims)
        shaped = torch.from_numpy(sizes.reshape((*dims, len(fields))))
        return (shaped, *values) if values else shaped

    return run


# ---- putting together


@encode_proto_op.shape
def encode_proto_shape(node: Node) -> OutputDims:
    found = None
    for index in reversed(range(1, len(node.inputs))):
        dims = node.dims(index)
        if node.inputs[index].shape.ndims is None and dims is not None and len(dims) < 2:
            return None  # known for feeds only: the kernel has another message
        dims = with_rank_at_least(dims, 2)
        if dims is not None:
            found = merge(dims[:-1], found)
    return found


def _check_values(
    fields: list[Any], names: list[str], values: Any, types: list[Any]
) -> tuple[int, ...]:
    """Return the shape that all values have before their last dimension."""
    if len(fields) != len(values):
        raise refuse("Length of inputs list must match field_names")
    common: tuple[int, ...] = ()
    for index, (field, name, value) in enumerate(zip(fields, names, values, strict=True)):
        if not is_compatible(field, types[index]):
            raise refuse(
                f"Incompatible type for field {name}.  Saw dtype: {_dtype_text(types[index])} but "
                f"field type is: {FIELD_TYPES[field.type][0]}"
            )
        shape = tuple(value.shape)
        if len(shape) < 2:
            raise refuse(
                f"Invalid shape for field {name}.  Saw shape {shape_text(shape)} but it should "
                "be at least a matrix."
            )
        if index and shape[:-1] != common:
            raise refuse("Values must match up to the last dimension")
        common = shape[:-1]
    return common


_DTYPE_TEXTS = {"float32": "float", "float64": "double"}


def _dtype_text(dtype: Any) -> str:
    return _DTYPE_TEXTS.get(dtype.base_dtype.name, dtype.base_dtype.name)


def _check_sizes(sizes: np.ndarray, values: Any, common: tuple[int, ...]) -> None:
    expected = (*common, len(values))
    if tuple(sizes.shape) != expected:
        raise refuse(
            "sizes should be batch_size + [len(field_names)].  Saw: "
            f"{shape_text(sizes.shape)} but expected: {shape_text(expected)}"
        )
    flat = sizes.reshape(-1, len(values))
    for index, value in enumerate(values):
        for row in np.flatnonzero(flat[:, index] > value.shape[-1])[:1]:
            raise refuse(
                "Size to write must not be larger than value tensor; but saw: "
                f"{flat[row, index]} > {value.shape[-1]} at message {row} field {index}"
            )


@encode_proto_op.kernel
def encode_proto_kernel(node: Node) -> Kernel:
    message = _message(node)
    names = [_text(name) for name in node.field_names]
    fields = [field_of(message, name, extensions=False) for name in names]
    order = sorted(range(len(fields)), key=lambda index: fields[index].number)
    types = [tensor.dtype for tensor in node.inputs[1:]]

    def run(sizes: Any, *values: Any) -> Array:
        common = _check_values(fields, names, values, types)
        counts = sizes.cpu().numpy()
        _check_sizes(counts, values, common)
        counts = counts.reshape(-1, len(values)).tolist()
        rows = [
            (value if isinstance(value, np.ndarray) else value.cpu().numpy())
            .reshape(-1, value.shape[-1])
            .tolist()
            for value in values
        ]
        found = np.empty(len(counts), object)
        for number, sizes_of_message in enumerate(counts):
            found[number] = b"".join(
                field_bytes(fields[index], rows[index][number][: sizes_of_message[index]])
                for index in order
                if sizes_of_message[index]
            )
        return found.reshape(common)

    return run
