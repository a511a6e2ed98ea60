"""Sources of message types, and the tensors that fit their fields."""

from __future__ import annotations

from typing import Any

from stillflow import errors, protos
from stillflow.files import gfile
from stillflow.graph.dtypes import DType

_BYTES = "bytes://"

# By the number of a field's type in descriptor.proto: its name, and the dtypes that take it.
FIELD_TYPES: dict[int, tuple[str, tuple[str, ...]]] = {
    1: ("double", ("float64",)),
    2: ("float", ("float32", "float64")),
    3: ("int64", ("int64",)),
    4: ("uint64", ("uint64",)),
    5: ("int32", ("int32", "int64")),
    6: ("fixed64", ("uint64",)),
    7: ("fixed32", ("uint32", "uint64")),
    8: ("bool", ("bool",)),
    9: ("string", ("string",)),
    10: ("group", ("string",)),
    11: ("message", ("string",)),
    12: ("bytes", ("string",)),
    13: ("uint32", ("uint32", "uint64")),
    14: ("enum", ("int32",)),
    15: ("sfixed32", ("int32", "int64")),
    16: ("sfixed64", ("int64",)),
    17: ("sint32", ("int32", "int64")),
    18: ("sint64", ("int64",)),
}


refuse = errors.invalid_argument


def is_compatible(field: Any, dtype: DType) -> bool:
    """Return True if a field's values fit a tensor of a dtype, in both directions."""
    return dtype.base_dtype.name in FIELD_TYPES[field.type][1]


def _pool_of(serialized: bytes, complaint: str) -> Any:
    from google.protobuf.descriptor_pb2 import FileDescriptorSet
    from google.protobuf.descriptor_pool import DescriptorPool
    from google.protobuf.message import DecodeError

    try:
        files = FileDescriptorSet.FromString(serialized)
    except DecodeError:
        raise refuse(complaint) from None
    pool = DescriptorPool()
    for each in files.file:
        try:
            pool.AddSerializedFile(each.SerializeToString())
        except TypeError:
            raise refuse(f"Failed to load FileDescriptorProto: {each}") from None
    return pool


def message_descriptor(source: str | bytes, message_type: str) -> Any:
    """Return the type of a message by its full name, or raise InvalidArgumentError.

    `source` is "" or "local://" for TensorFlow's own messages, the path of a file that holds a
    FileDescriptorSet, or "bytes://" and what such a file holds.
    """
    given = source if isinstance(source, bytes) else source.encode("utf-8", "surrogateescape")
    if given in (b"", b"local://"):
        found = protos.find_message(message_type)
    else:
        found = _found(_pool(given), message_type)
    if found is None:
        raise refuse(f"No descriptor found for message type {message_type}")
    return found


def _pool(source: bytes) -> Any:
    path = source.decode("utf-8", "replace")
    prefix = _BYTES.encode()
    if not source.startswith(prefix) and gfile.file_exists(path):
        complaint = f"descriptor_source contains invalid FileDescriptorSet: {path}"
        return _pool_of(gfile.read_file_to_string(path, binary_mode=True), complaint)
    complaint = "Source does not represent serialized file descriptor set proto."
    if not source.startswith(prefix):
        raise refuse(complaint)
    return _pool_of(source[len(prefix) :], complaint)


def _found(pool: Any, message_type: str) -> Any:
    try:
        return pool.FindMessageTypeByName(message_type)
    except KeyError:
        return None


def field_of(message: Any, name: str, extensions: bool) -> Any:
    """Return a message's field, or an extension, by its (full) name, or InvalidArgumentError."""
    found = message.fields_by_name.get(name)
    if found is None and extensions:
        every = message.file.pool.FindAllExtensions(message)
        found = next((each for each in every if each.full_name == name), None)
    if found is None:
        raise refuse(f"Unknown field: {name} in message type {message.full_name}")
    return found
