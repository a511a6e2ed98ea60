"""Operations that write summaries to the writer of the thread: `tf.contrib.summary.scalar`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import add_to_collection, control_dependencies, device, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.cond import smart_cond
from stillflow.ops.control_flow.identity_and_group import identity, no_op
from stillflow.ops.summary import writer_cards as cards
from stillflow.ops.summary.names import summary_scope as unique_scope
from stillflow.protos import GraphDef
from stillflow.summary import recording
from stillflow.summary.recording import state
from stillflow.summary.resource_writer import SUMMARIES, serialized
from stillflow.train.global_step import get_or_create_global_step

_ILLEGAL = re.compile(r"[^-_/.A-Za-z0-9]")


def _if_wanted(condition: Any, record: Callable[[], Any], name: str) -> Tensor:
    """Add a recording operation under a condition; return a bool tensor."""
    with device("cpu:0"):
        written = smart_cond(condition, record, lambda: constant(False), name=name)
        if not executing_eagerly():
            add_to_collection(SUMMARIES, written)
    return written


def _true_after(written: Any) -> Tensor:
    with control_dependencies([written]):
        return constant(True)


def _write(name: str, tensor: Any, family: str | None, operation: Callable[..., Any]) -> Any:
    """Add an operation that writes, if there is a writer.

    `operation` makes it, of the handle, the tag and the name scope.
    """
    outer = get_default_graph().get_name_scope()

    def record() -> Tensor:
        with name_scope(f"{outer}/" if outer else outer):
            with unique_scope(name, family, values=[tensor]) as (tag, scope):
                made = operation(state.writer._resource, tag, scope)
                return _true_after(made)

    if state.writer is None:
        return no_op()
    with device("cpu:0"):
        condition = recording.should_record_summaries()
    return _if_wanted(condition, record, "")


def _chosen(step: Any) -> Any:
    if step is None:
        return get_or_create_global_step()
    return step if isinstance(step, Tensor) else convert_to_tensor(step, dtypes.int64)


@export("contrib.summary.generic")
def generic(
    name: str, tensor: Any, metadata: Any = None, family: str | None = None, step: Any = None
) -> Any:
    """Write a tensor as it is.

    Args:
      name: with its scopes it is the tag.
      tensor: any tensor.
      metadata: a `SummaryMetadata`, or one serialized, also as a tensor.
      family: the prefix of the tag.
      step: by default the graph's global step.

    Returns:
      A bool tensor, or an operation that does nothing if there is no writer.
    """

    def operation(writer: Any, tag: str, scope: str) -> Operation | None:
        content = metadata
        if metadata is None:
            content = constant("")
        elif hasattr(metadata, "SerializeToString"):
            content = constant(metadata.SerializeToString())
        at = _chosen(step)
        return cards.write_summary_op(writer, at, identity(tensor), tag, content, name=scope)

    return _write(name, tensor, family, operation)


@export("contrib.summary.scalar")
def scalar(
    name: str, tensor: Any, family: str | None = None, step: Any = None
) -> Tensor | Operation | None:
    """Write a number.

    Args:
      name: with its scopes it is the tag.
      tensor: a real number.
      family: the prefix of the tag.
      step: by default the graph's global step.

    Returns:
      A bool tensor, or an operation that does nothing if there is no writer.
    """

    def operation(writer: Any, tag: str, scope: str) -> Operation | None:
        at = _chosen(step)
        return cards.write_scalar_summary_op(writer, at, tag, identity(tensor), name=scope)

    return _write(name, tensor, family, operation)


@export("contrib.summary.histogram")
def histogram(name: str, tensor: Any, family: str | None = None, step: Any = None) -> Any:
    """Write how numbers are spread.

    Args:
      name: with its scopes it is the tag.
      tensor: real numbers, any shape; finite ones.
      family: the prefix of the tag.
      step: by default the graph's global step.

    Returns:
      A bool tensor, or an operation that does nothing if there is no writer.
    """

    def operation(writer: Any, tag: str, scope: str) -> Operation | None:
        at = _chosen(step)
        return cards.write_histogram_summary_op(writer, at, tag, identity(tensor), name=scope)

    return _write(name, tensor, family, operation)


@export("contrib.summary.image")
def image(
    name: str, tensor: Any, bad_color: Any = None, max_images: int = 3, family: str | None = None,
    step: Any = None,
) -> Any:  # fmt: skip
    """Write pictures.

    Args:
      name: with its scopes it is the prefix of the tags.
      tensor: uint8, or floating-point numbers which are scaled, [batch, height, width, channels].
      bad_color: uint8, a vector: how pixels look that are not finite; red by default.
      max_images: how many of the batch to take.
      family: the prefix of the tags.
      step: by default the graph's global step.

    Returns:
      A bool tensor, or an operation that does nothing if there is no writer.
    """

    def operation(writer: Any, tag: str, scope: str) -> Operation | None:
        color = bad_color
        if color is None:
            color = constant([255, 0, 0, 255], dtype=dtypes.uint8)
        at = _chosen(step)
        return cards.write_image_summary_op(
            writer, at, tag, identity(tensor), color, max_images=max_images, name=scope
        )

    return _write(name, tensor, family, operation)


@export("contrib.summary.audio")
def audio(
    name: str, tensor: Any, sample_rate: Any, max_outputs: int, family: str | None = None,
    step: Any = None,
) -> Any:  # fmt: skip
    """Write sounds.

    Args:
      name: with its scopes it is the prefix of the tags.
      tensor: float32 [batch, frames, channels] or [batch, frames], between -1 and 1.
      sample_rate: frames a second.
      max_outputs: how many of the batch to take.
      family: the prefix of the tags.
      step: by default the graph's global step.

    Returns:
      A bool tensor, or an operation that does nothing if there is no writer.
    """

    def operation(writer: Any, tag: str, scope: str) -> Operation | None:
        at, clips = _chosen(step), identity(tensor)
        return cards.write_audio_summary_op(
            writer, at, tag, clips, sample_rate, max_outputs=max_outputs, name=scope
        )

    return _write(name, tensor, family, operation)


@export("contrib.summary.graph")
def graph(param: Any, step: Any = None, name: str | None = None) -> Operation | None:
    """Write a graph, whether or not summaries are recorded.

    Args:
      param: a serialized `GraphDef`, a string tensor; where operations run when they are called,
        a `Graph` or `GraphDef` too.
      step: by default the graph's global step.
      name: of the operation.

    Returns:
      The operation; one that does nothing if there is no writer.

    Raises:
      TypeError: if `param` is no tensor.
    """
    if not isinstance(param, Tensor) and not executing_eagerly():
        raise TypeError(
            f"graph() needs a tf.Tensor (e.g. tf.placeholder) in graph mode, but was: {type(param)}"
        )
    writer = state.writer
    if writer is None:
        return no_op()
    with device("cpu:0"):
        is_object = isinstance(param, (Graph, GraphDef))
        content = constant(serialized(param)) if is_object else identity(param)
        return cards.write_graph_summary_op(writer._resource, _chosen(step), content, name=name)


@export("contrib.summary.import_event")
def import_event(tensor: Any, name: str | None = None) -> Operation:
    """Write an event as it is, whether or not summaries are recorded.

    Args:
      tensor: a serialized `Event`, a string.
      name: of the operation.
    """
    return cards.import_event_op(state.writer._resource, tensor, name=name)


# ---- As in TensorFlow 2


@export("compat.v2.summary.experimental.summary_scope")
@contextlib.contextmanager
def summary_scope(
    name: str | None, default_name: str = "summary", values: Any = None
) -> Iterator[tuple[str, str]]:
    """Enters the name scope of a summary.

    Args:
      name: the summary's name, of any characters.
      default_name: the name if there is none.
      values: the tensors that it is made of.

    Yields:
      The tag, which need not be unique, and the scope, which is.
    """
    name = name or default_name
    outer = get_default_graph().get_name_scope()
    with name_scope(_ILLEGAL.sub("", name) or None, default_name, values) as scope:
        yield f"{outer}/{name}" if outer else name, scope


def _required_step(step: Any) -> Tensor | int:
    step = recording.get_step() if step is None else step
    if step is None:
        raise ValueError("No step set via 'step' argument or tf.summary.experimental.set_step()")
    return step


def _write_v2(
    default_name: str, name: str | None, step: Any, operation: Callable[..., Any]
) -> Tensor:
    with name_scope(name, default_name) as scope:
        writer = state.writer
        if writer is None:
            return constant(False)
        step = _required_step(step)

        def record() -> Tensor:
            with device("cpu:0"):
                return _true_after(operation(state.writer._resource, step, scope))

        with device("cpu:0"):
            condition = recording.wanted(default=True)
        return _if_wanted(condition, record, "summary_cond")


@export("compat.v2.summary.write")
def write(
    tag: Any, tensor: Any, step: Any = None, metadata: Any = None, name: str | None = None
) -> Tensor:
    """Write a tensor as it is.

    Args:
      tag: a string.
      tensor: any tensor.
      step: by default that of `set_step`.
      metadata: a `SummaryMetadata`, or one serialized.
      name: of the operation.

    Returns:
      A bool tensor: whether it was written.

    Raises:
      ValueError: if there is a writer but no step.
    """
    content = metadata
    if metadata is None:
        content = b""
    elif hasattr(metadata, "SerializeToString"):
        content = metadata.SerializeToString()

    def operation(writer: Any, step: Any, scope: str) -> Operation | None:
        return cards.write_summary_op(writer, step, identity(tensor), tag, content, name=scope)

    return _write_v2("write_summary", name, step, operation)


@export("compat.v2.summary.experimental.write_raw_pb")
def write_raw_pb(tensor: Any, step: Any = None, name: str | None = None) -> Tensor:
    """Write serialized summaries.

    Args:
      tensor: serialized `Summary` messages, strings.
      step: by default that of `set_step`.
      name: of the operation.

    Returns:
      A bool tensor: whether they were written.

    Raises:
      ValueError: if there is a writer but no step.
    """

    def operation(writer: Any, step: Any, scope: str) -> Operation:
        return cards.write_raw_proto_summary_op(writer, step, identity(tensor), name=scope)

    return _write_v2("write_raw_pb", name, step, operation)
