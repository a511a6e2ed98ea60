"""tf.io.decode_proto and encode_proto."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.io.protos.cards import decode_proto_op, encode_proto_op


@export("io.decode_proto", "contrib.proto.decode_proto")
def decode_proto(
    bytes: Any,
    message_type: str,
    field_names: Sequence[str],
    output_types: Sequence[Any],
    descriptor_source: str | bytes = "local://",
    message_format: str = "binary",
    sanitize: bool = False,
    name: str | None = None,
) -> Any:
    """Return the values of fields of serialized messages.

    Args:
      bytes: string, of any shape `batch`.
      message_type: the full name of the type of all messages.
      field_names: fields, or full names of extensions.
      output_types: a dtype for each; what is a message within a message is a string.
      descriptor_source: "local://" for TensorFlow's own messages; else the path of a file with a
        FileDescriptorSet, as `protoc --descriptor_set_out` writes it, or "bytes://" and its bytes.
      message_format: "binary" or "text".
      sanitize: whether binary messages are read by the protobuf library first.
      name: of the operation.

    Returns:
      `sizes`, int32 `[batch, fields]`, how many values each field has, and `values`, for each
      field a tensor `[batch, most values]`, filled up with the field's default.
    """
    return decode_proto_op(
        bytes,
        message_type=message_type,
        field_names=list(field_names),
        output_types=list(output_types),
        descriptor_source=descriptor_source,
        message_format=message_format,
        sanitize=sanitize,
        name=name,
    )


@export("io.encode_proto", "contrib.proto.encode_proto")
def encode_proto(
    sizes: Any,
    values: Sequence[Any],
    field_names: Sequence[str],
    message_type: str,
    descriptor_source: str | bytes = "local://",
    name: str | None = None,
) -> Tensor:
    """Serialize messages from the values of their fields.

    Args:
      sizes: int32 `[batch, fields]`, how many values of each field are written.
      values: for each field a tensor `[batch, most values]`.
      field_names: the fields.
      message_type: the full name of the type of all messages.
      descriptor_source: as of `decode_proto`.
      name: of the operation.

    Returns:
      string, of the shape `batch`.
    """
    return encode_proto_op(
        sizes,
        list(values),
        field_names=list(field_names),
        message_type=message_type,
        descriptor_source=descriptor_source,
        name=name,
    )
