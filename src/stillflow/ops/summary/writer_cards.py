"""Operations that write summaries into a file themselves, through a resource."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from stillflow import errors
from stillflow.graph.card import Card, op
from stillflow.graph.dims import shape_text
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.summary import media
from stillflow.ops.summary.encoding import (
    GRAPH_DEF,
    SUMMARY,
    simple_value,
    value,
)
from stillflow.ops.summary.file_writer import WriterResource
from stillflow.ops.summary.histograms import histogram_summary
from stillflow.ops.summary.kernels import in_numpy, one_string
from stillflow.ops.summary.tensors import tensor_value
from stillflow.protos import Event, GraphDef, Summary

_NUMBERS = (
    "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"
)


def _card(text: str, effect: str = "writes files") -> Card:
    return op(
        f"{text}\nflags: stateful", effect=effect, differentiable=False, handle="summary writer"
    )


# ---- The writer

summary_writer_op = _card(
    """
    SummaryWriter() -> writer: resource
    shared_name: string = ""
    container: string = ""
""",
    effect="state",
)
create_summary_file_writer_op = _card("""
    CreateSummaryFileWriter(writer: resource, logdir: string, max_queue: int32, flush_millis: int32, filename_suffix: string)
""")  # noqa: E501
create_summary_db_writer_op = _card("""
    CreateSummaryDbWriter(writer: resource, db_uri: string, experiment_name: string, run_name: string, user_name: string)
""")  # noqa: E501
flush_summary_writer_op = _card("FlushSummaryWriter(writer: resource)")
close_summary_writer_op = _card("CloseSummaryWriter(writer: resource)")


@summary_writer_op.shape
def summary_writer_shape(node: Node) -> OutputDims:
    return ()


@summary_writer_op.kernel
def summary_writer_kernel(node: Any) -> Kernel:
    container = node.container.decode()
    # One that is not shared is found by nobody else, and TensorFlow names it by nothing.
    name = node.shared_name.decode() or node.op.name
    shown = node.shared_name.decode()
    made = node.resource(list, kind="container", name="summary writers")
    return node.handle(
        node.resource(
            lambda: WriterResource(container, shown, made), kind="summary writer", name=name
        )
    )


@create_summary_file_writer_op.kernel
def create_summary_file_writer_kernel(node: Node) -> Kernel:
    def create(writer: WriterResource, logdir: Any, queue: Any, millis: Any, suffix: Any) -> None:
        given = {
            "logdir": logdir, "max_queue": queue, "flush_millis": millis, "filename_suffix": suffix,
        }  # fmt: skip
        for name, tensor in given.items():
            if len(tensor.reshape(-1)) != 1:
                raise errors.InvalidArgumentError(None, None, f"{name} must be a scalar")
        directory, ending = _first(logdir).decode(), _first(suffix).decode()
        writer.create(directory, int(queue), int(millis), ending)

    return create


@create_summary_db_writer_op.kernel
def create_summary_db_writer_kernel(node: Node) -> Kernel:
    raise errors.UnimplementedError(
        node.op.node_def, node.op, "Stillflow writes summaries to event files, not to databases"
    )


@flush_summary_writer_op.kernel
def flush_summary_writer_kernel(node: Node) -> Kernel:
    return lambda writer: writer.writer().flush()


@close_summary_writer_op.kernel
def close_summary_writer_kernel(node: Node) -> Kernel:
    return lambda writer: writer.delete()


# ---- Written content


def _first(tensor: Any) -> Any:
    """Return the first element; TensorFlow takes it from a tensor of any shape."""
    return in_numpy(tensor).reshape(-1)[0]


def _refuse_bfloat16(node: Node) -> None:
    """TensorFlow declares the type for these operations, and then does not take it."""
    if node.T.name == "bfloat16":
        raise errors.UnimplementedError(
            node.op.node_def, node.op, "SummaryFileWriter bfloat16 not supported."
        )


def _add(writer: WriterResource, step: Any, summary: bytes) -> None:
    writer.writer().add_field(int(_first(step)), SUMMARY, summary)


def _writes(signature: str) -> Callable[[Any], Any]:
    """Return a card for an op that writes the decorated kernel's result for its other inputs."""

    def make(part: Callable[[Node], Callable[..., bytes]]) -> Card:
        card = _card(signature)

        def kernel(node: Node) -> Callable[..., Any]:
            summary = part(node)
            return lambda writer, step, *rest: _add(writer, step, summary(*rest))

        card.kernel(kernel)
        return card

    return make


@_writes("""
    WriteSummary(writer: resource, step: int64, tensor: T, tag: string, summary_metadata: string)
    T: type
""")
def write_summary_op(node: Node) -> Callable[..., Any]:
    dtype = node.T

    def summarize(tensor: Any, tag: Any, metadata: Any) -> bytes:
        return tensor_value(_first(tag), tensor, dtype, _first(metadata) or None)

    return summarize


@_writes(f"""
    WriteScalarSummary(writer: resource, step: int64, tag: string, value: T)
    T: {_NUMBERS}
""")
def write_scalar_summary_op(node: Node) -> Callable[..., Any]:
    _refuse_bfloat16(node)

    def summarize(tag: Any, number: Any) -> bytes:
        with np.errstate(over="ignore"):
            return value(_first(tag), simple_value(float(np.float32(_first(number)))))

    return summarize


@_writes(f"""
    WriteHistogramSummary(writer: resource, step: int64, tag: string, values: T)
    T: {_NUMBERS} = float
""")
def write_histogram_summary_op(node: Node) -> Callable[..., Any]:
    _refuse_bfloat16(node)

    def summarize(tag: Any, values: Any) -> bytes:
        label = _first(tag)
        name = label.decode(errors="replace")
        return histogram_summary(label, values, name)

    return summarize


@_writes("""
    WriteImageSummary(writer: resource, step: int64, tag: string, tensor: T, bad_color: uint8)
    max_images: int >= 1 = 3
    T: {uint8, float, half} = float
""")
def write_image_summary_op(node: Node) -> Callable[..., Any]:
    limit = node.max_images

    def summarize(tag: Any, tensor: Any, bad_color: Any) -> bytes:
        color = media.checked_color(in_numpy(bad_color))
        return media.image_values(_first(tag), in_numpy(tensor), limit, color)

    return summarize


@_writes("""
    WriteAudioSummary(writer: resource, step: int64, tag: string, tensor: float, sample_rate: float)
    max_outputs: int >= 1 = 3
""")
def write_audio_summary_op(node: Node) -> Callable[..., Any]:
    limit = node.max_outputs

    def summarize(tag: Any, tensor: Any, rate: Any) -> bytes:
        return media.audio_values(_first(tag), in_numpy(tensor), _first(rate), limit)

    return summarize


# ---- Messages that are there already

write_raw_proto_summary_op = _card(
    "WriteRawProtoSummary(writer: resource, step: int64, tensor: string)"
)
write_graph_summary_op = _card("WriteGraphSummary(writer: resource, step: int64, tensor: string)")
import_event_op = _card("ImportEvent(writer: resource, event: string)")


def _parsed(kind: Any, content: bytes, complaint: str) -> Any:
    try:
        return kind.FromString(content)
    except DecodeError:
        raise errors.DataLossError(None, None, complaint) from None


@write_raw_proto_summary_op.kernel
def write_raw_proto_summary_kernel(node: Node) -> Kernel:
    def write(writer: WriterResource, step: Any, tensor: Any) -> None:
        if step.ndim:
            raise errors.InvalidArgumentError(
                None, None, f"step must be scalar, got shape {shape_text(step.shape)}"
            )
        merged = Summary()
        for index, content in enumerate(tensor.reshape(-1)):
            complaint = f"Bad tf.compat.v1.Summary binary proto tensor string at index {index}"
            merged.MergeFrom(_parsed(Summary, content, complaint))
        _add(writer, step, merged.SerializeToString())

    return write


@write_graph_summary_op.kernel
def write_graph_summary_kernel(node: Node) -> Kernel:
    def write(writer: WriterResource, step: Any, tensor: Any) -> None:
        graph = _parsed(GraphDef, _first(tensor), "Bad tf.GraphDef binary proto tensor string")
        writer.writer().add_field(int(_first(step)), GRAPH_DEF, graph.SerializeToString())

    return write


@import_event_op.kernel
def import_event_kernel(node: Node) -> Kernel:
    def write(writer: WriterResource, content: Any) -> None:
        complaint = "Bad tf.Event binary proto tensor string"
        event = _parsed(Event, one_string(content, complaint), complaint)
        writer.writer().add(event.SerializeToString())

    return write
