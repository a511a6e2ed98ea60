"""Printing tensors when a graph runs: `tf.print`, `tf.Print`."""

from __future__ import annotations

import itertools
import logging
import os
import pprint
import random
import sys
import threading
import time
from typing import Any

import numpy as np

from stillflow import nest
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.summarize import summarize as summarize_array
from stillflow.graph.tensor_like import is_tensor
from stillflow.ops.io.variants import VariantNumber
from stillflow.platform import native_level

# ---- Print

print_op = op(
    """
    Print(input: T, data: [U]) -> output: T
    T: type
    U: list(type) >= 0
    message: string = ""
    first_n: int = -1
    summarize: int = 3
    flags: stateful
""",
    view=True,
    devices="host",
    latency="brief",
    idempotent=True,
)


@print_op.shape
def print_shape(node: Node) -> OutputDims:
    return node.dims(0)


def as_array(value: Any) -> np.ndarray:
    """Return a run-time value as a numpy array that can be printed."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, VariantNumber):
        return np.array(value, object)
    if value.dtype == torch.bfloat16:
        value = value.to(torch.float32)
    return value.detach().cpu().numpy()


@print_op.kernel
def print_kernel(node: Any) -> Kernel:
    message, first_n, limit = node.message, node.first_n, node.summarize
    count = node.own_state(itertools.count)

    def show(x: Any, *data: Any) -> Any:
        if first_n < 0 or next(count) < first_n:
            parts = [f"[{summarize_array(as_array(value), limit)}]" for value in data]
            print(message.decode(errors="replace") + "".join(parts), file=sys.stderr, flush=True)
        return x

    return show


@print_op.gradient
def print_gradient(node: Node, *grad: Any) -> Gradients:
    return [*grad, *[None] * (len(node.inputs) - 1)]


@export("Print")
def print_tensors(
    input_: Any,
    data: Any,
    message: Any = None,
    first_n: int | None = None,
    summarize: int | None = None,
    name: str | None = None,
) -> Tensor:
    """`input_` unchanged; tensors are printed to standard error when it is computed.

    Args:
      input_: a tensor.
      data: a list of tensors to print.
      message: printed before them.
      first_n: how often to print; always by default.
      summarize: how many elements of each tensor to print, 3 by default.
      name: of the operation.

    Example:
      >>> x = tf.Print([1, 2, 3], [tf.constant("seen")], message="stderr shows this when x runs: ")
      >>> print(tf.Session().run(x))
      [1 2 3]
    """
    return print_op(input_, data, message=message, first_n=first_n, summarize=summarize, name=name)


# ---- PrintV2

print_v2_op = op(
    r"""
    PrintV2(input: string)
    output_stream: string = "stderr"
    end: string = "\n"
    flags: stateful
""",
    effect="writes files",
    harmless=lambda node: not node.output_stream.startswith(b"file:"),
    devices="host",
    latency="brief",
    idempotent=True,
)


@print_v2_op.shape
def print_v2_shape(node: Node) -> OutputDims:
    if node.dims(0) is not None and not node.planning:
        dims_lib.with_rank(node.dims(0), 0)
    return []


_FILE = "file://"
_LEVELS = {
    "log(info)": native_level.INFO, "log(warning)": native_level.WARNING,
    "log(error)": native_level.ERROR,
}  # fmt: skip
_file_lock = threading.Lock()


def _write(stream: str, text: str) -> None:
    if stream.startswith(_FILE):
        with _file_lock, open(stream[len(_FILE) :], "a", encoding="utf-8") as file:
            file.write(text)
        return
    if stream in _LEVELS:
        if not native_level.wanted(_LEVELS[stream]):
            return
        text = native_level.prefix(_LEVELS[stream]) + text
    target = sys.stdout if stream == "stdout" else sys.stderr
    target.write(text)
    target.flush()


@print_v2_op.kernel
def print_v2_kernel(node: Node) -> Kernel:
    stream = node.output_stream.decode()
    end = node.end.decode()
    if stream not in ("stdout", "stderr", *_LEVELS) and not stream.startswith(_FILE):
        raise ValueError(
            f"Unknown output stream: {stream}, Valid streams are: stdout stderr log(info) "
            "log(warning) log(error), or file://<filename>"
        )

    def show(text: Any) -> None:
        if text.ndim:
            shape = dims_lib.to_string(text.shape)
            raise ValueError(f"Input is expected to be scalar, but got {shape}")
        _write(stream, text[()].decode(errors="replace") + end)

    return show


def _stream_name(stream: Any) -> str:
    """Return the name of an output stream in the graph; "" if it is not one."""
    if isinstance(stream, str) and stream.startswith(_FILE):
        return stream
    if stream is sys.stdout or stream is sys.stderr:
        return "stdout" if stream is sys.stdout else "stderr"
    from stillflow.platform import tf_logging as ours

    for level, functions in (
        ("info", (logging.INFO, logging.info, ours.INFO, ours.info)),
        ("warning", (logging.WARNING, logging.warning, ours.WARN, ours.warning, ours.warn)),
        ("error", (logging.ERROR, logging.error, ours.ERROR, ours.error)),
    ):
        if stream in functions:
            return f"log({level})"
    return ""


def _placeholder(text: str) -> str:
    """Return a placeholder that does not occur in `text`."""
    placeholder, numbers = "{}", random.Random(5)
    while placeholder in text:
        placeholder += str(numbers.randint(0, 9))
    return placeholder


def _template(item: Any, placeholder: str, tensors: list[Any]) -> str:
    """Return an argument as text with placeholders, whose tensors are added to `tensors`."""
    parts: list[Any] = []
    for leaf in nest.flatten(item):
        if isinstance(leaf, SparseTensor):
            tensors += [leaf.indices, leaf.values, leaf.dense_shape]
            parts.append(
                f"SparseTensor(indices={placeholder}, values={placeholder}, shape={placeholder})"
            )
        elif is_tensor(leaf):
            tensors.append(leaf)
            parts.append(placeholder)
        else:
            parts.append(leaf)
    if isinstance(item, str):
        return item
    return pprint.pformat(nest.pack_sequence_as(item, parts))


def _formatted(inputs: Any, sep: str, summarize: int, name: str | None) -> Tensor:
    if len(inputs) == 1 and is_tensor(inputs[0]) and not isinstance(inputs[0], SparseTensor):
        only = inputs[0]
        if only.shape.ndims == 0 and only.dtype == dtypes.string:
            return only
    from stillflow.ops.strings.joining import string_format

    bare = nest.map_structure(lambda x: "" if is_tensor(x) else x, inputs)
    placeholder = _placeholder(" ".join(pprint.pformat(x) for x in bare))
    tensors: list[Any] = []
    text = sep.join(_template(item, placeholder, tensors) for item in inputs)
    text = text.replace(f"'{placeholder}'", placeholder)
    return string_format(
        inputs=tensors, template=text, placeholder=placeholder, summarize=summarize, name=name
    )


@export("print")
def print_(*inputs: Any, **kwargs: Any) -> Operation:
    """Return an operation that prints tensors and other values when it runs.

    Args:
      *inputs: tensors, Python values, and structures of both.
      output_stream: `sys.stderr` (the default), `sys.stdout`, a function of `tf.logging`, or
        "file://" and a path.
      summarize: how many elements at either end of each dimension are printed, 3 by default; all
        if it is -1.
      sep: printed between inputs, a space by default.
      end: printed at the end, a line break by default.
      name: of the operation.

    Raises:
      ValueError: if the stream or a keyword is not known.
    """
    stream = kwargs.pop("output_stream", sys.stderr)
    name, summarize = kwargs.pop("name", None), kwargs.pop("summarize", 3)
    sep, end = kwargs.pop("sep", " "), kwargs.pop("end", os.linesep)
    if kwargs:
        raise ValueError(f"Unrecognized keyword arguments for tf.print: {kwargs}")
    target = _stream_name(stream)
    if not target:
        raise ValueError(
            f"Unsupported output stream, logging level, or file.{stream}. Supported streams are "
            "sys.stdout, sys.stderr, tf.logging.info, tf.logging.warning, tf.logging.error. File "
            "needs to be in the form of 'file://<filepath>'."
        )
    text = _formatted(inputs, sep, summarize, f"{name}_format" if name else None)
    return print_v2_op(text, output_stream=target, name=name, end=end)


# ---- Timestamp

timestamp_op = op(
    "Timestamp() -> ts: double; flags: stateful", differentiable=False, devices="host"
)


@timestamp_op.shape
def timestamp_shape(node: Node) -> OutputDims:
    return ()


@timestamp_op.kernel
def timestamp_kernel(node: Node) -> Kernel:
    return lambda: torch.tensor(int(time.time() * 1e6) / 1e6, dtype=torch.float64)


@export("timestamp")
def timestamp(name: str | None = None) -> Tensor:
    """Return the time in seconds since 1970 when it is computed, float64."""
    return timestamp_op(name=name)
