"""Summaries of whole tensors, and of text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.io.stored import to_stored
from stillflow.ops.samples import Sample, Samples
from stillflow.ops.summary.encoding import value
from stillflow.ops.summary.kernels import one_string, string
from stillflow.ops.summary.names import collect_summary, of_first_replica, summary_scope
from stillflow.platform.compat import as_str_any
from stillflow.protos import Summary, SummaryDescription, SummaryMetadata

tensor_summary_op = op(
    """
    TensorSummary(tensor: T) -> summary: string
    T: type
    description: string = ""
    labels: list(string) = []
    display_name: string = ""
""",
    differentiable=False,
)
tensor_summary_v2_op = op(
    """
    TensorSummaryV2(tag: string, tensor: T, serialized_summary_metadata: string) -> summary: string
    T: type
""",
    differentiable=False,
)


@tensor_summary_op.shape
@tensor_summary_v2_op.shape
def tensor_summary_shape(node: Node) -> OutputDims:
    return ()


def _store(value: Any, dtype: dtypes.DType, proto: Any) -> None:
    """Put a run-time value into a TensorProto."""
    array = to_stored(value)
    proto.dtype = dtype.as_datatype_enum
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    if dtype == dtypes.string:
        proto.string_val.extend(array.reshape(-1).tolist())
    else:
        proto.tensor_content = array.tobytes()


@tensor_summary_op.kernel
def tensor_summary_kernel(node: Node) -> Kernel:
    dtype, name = node.T, node.name

    def summarize(tensor: Any) -> Array:
        summary = Summary()
        content = summary.value.add(node_name=name)
        _store(tensor, dtype, content.tensor)
        return string(summary.SerializeToString())

    return summarize


@tensor_summary_v2_op.kernel
def tensor_summary_v2_kernel(node: Node) -> Kernel:
    dtype = node.T

    def summarize(tag: Any, tensor: Any, metadata: Any) -> Array:
        label = one_string(tag, "tag must be scalar")
        return string(tensor_value(label, tensor, dtype, metadata.reshape(-1)[0], lenient=True))

    return summarize


def tensor_value(
    tag: bytes,
    tensor: Any,
    dtype: dtypes.DType,
    metadata: bytes | None,
    lenient: bool = False,
) -> bytes:
    """Return a run-time value as a `Summary`, with a serialized `SummaryMetadata` if not None.

    If `lenient`, metadata that are something else are left empty.
    """
    content = Summary.Value()
    _store(tensor, dtype, content.tensor)
    if metadata is not None:
        content.metadata.SetInParent()
        try:
            content.metadata.ParseFromString(metadata)
        except DecodeError:
            if lenient:
                content.metadata.Clear()
                return value(tag, content.SerializeToString())
            raise errors.InvalidArgumentError(
                None, None, "Could not parse serialized_summary_metadata"
            ) from None
    return value(tag, content.SerializeToString())


@tensor_summary_v2_op.samples
def tensor_summary_v2_samples() -> Samples:
    yield Sample("t", np.arange(6, dtype=np.float32).reshape(2, 3), np.array(b"", object))
    yield Sample("t", np.array([b"a", b"b"], object), np.array(b"", object))
    yield Sample("t", np.array(1.5, np.float32), np.array(b"x", object))  # no metadata at all


@export("summary.tensor_summary")
@of_first_replica
def tensor_summary(
    name: str,
    tensor: Any,
    summary_description: Any = None,
    collections: Sequence[str] | None = None,
    summary_metadata: Any = None,
    family: str | None = None,
    display_name: str | None = None,
) -> Tensor:
    """Return a summary that holds a tensor as it is.

    Args:
      name: the name of the operation; with its scopes it is the summary's tag.
      tensor: any tensor.
      summary_description: a text, kept in the metadata.
      collections: the graph collections to add the summary to, by default that of all summaries.
      summary_metadata: a `SummaryMetadata`, which tells TensorBoard's plugins about it.
      family: the prefix of the tag.
      display_name: the name to show.

    Returns:
      A string: a serialized `tf.summary.Summary`.
    """
    metadata = SummaryMetadata() if summary_metadata is None else summary_metadata
    if summary_description is not None:
        metadata.summary_description = summary_description
    if display_name is not None:
        metadata.display_name = display_name
    content = metadata.SerializeToString()
    with summary_scope(name, family, values=[tensor]) as (tag, scope):
        summary = tensor_summary_v2_op(tag, tensor, content, name=scope)
        return collect_summary(summary, collections)


@export("summary.text")
def text(name: str, tensor: Any, collections: Sequence[str] | None = None) -> Tensor:
    """Return a summary of text, which TensorBoard shows as Markdown.

    Args:
      name: the name of the operation; with its scopes it is the summary's tag.
      tensor: strings.
      collections: the graph collections to add the summary to, by default that of all summaries.

    Returns:
      A string: a serialized `tf.summary.Summary`.

    Raises:
      ValueError: if the tensor has another type.
    """
    if tensor.dtype != dtypes.string:
        raise ValueError(f"Expected tensor {tensor.name} to have dtype string, got {tensor.dtype}")
    metadata = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))
    return tensor_summary(
        name=name, tensor=tensor, summary_metadata=metadata, collections=collections
    )


@export("summary.get_summary_description")
def get_summary_description(node_def: Any) -> Any:
    """Return the `SummaryDescription` that a node of type TensorSummary was given.

    Raises:
      ValueError: if the node is of another type.
    """
    from google.protobuf import json_format

    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    description = SummaryDescription()
    json_format.Parse(as_str_any(node_def.attr["description"].s), description)
    return description
