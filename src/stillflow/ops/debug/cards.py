"""Ops of TensorFlow's debugger: Copy, CopyHost, DebugIdentity and similar ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import Card, op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.debug import summaries
from stillflow.ops.debug.dumps import DumpWriter
from stillflow.ops.io.stored import to_stored
from stillflow.ops.kernels import copied
from stillflow.ops.math.kernels import no_kernel
from stillflow.ops.samples import Sample, Samples

_COPY = """
    {}(input: T) -> output: T
    T: type
    tensor_name: string = ""
    debug_ops_spec: list(string) = []
    flags: uninitialized
"""
_DEBUG = """
    {}(input: T) -> output: {}
    T: type
    device_name: string = ""
    tensor_name: string = ""
    debug_urls: list(string) = []
    {}gated_grpc: bool = false
    flags: uninitialized
"""
_BOUNDS = """lower_bound: float = -inf
    upper_bound: float = inf
    mute_if_healthy: bool = false
    """


def _debug_card(name: str, output: str, more: str = "") -> Card:
    return op(_DEBUG.format(name, output, more), effect="writes files", differentiable=False,
              harmless=lambda node: not node.debug_urls)  # fmt: skip


copy_op = op(_COPY.format("Copy"), differentiable=False)
copy_host_op = op(_COPY.format("CopyHost"), differentiable=False)
debug_identity_op = _debug_card("DebugIdentity", "T")
debug_nan_count_op = _debug_card("DebugNanCount", "int64")
debug_numeric_summary_op = _debug_card("DebugNumericSummary", "double", _BOUNDS)


# ---- copies


def copy_kernel(node: Node) -> Callable[..., Any]:
    for spec in node.op.attrs["debug_ops_spec"]:
        if spec.count(b";") != 2:
            raise errors.internal(
                "Unexpected number of semicolons in debug_ops_spec element: " + spec.decode()
            )
    return _copied


def _copied(value: Any) -> torch.Tensor | Array:
    """Return a copy of a value; the objects of handles are shared."""
    return copied(value) if isinstance(value, (torch.Tensor, np.ndarray)) else value


for _card in (copy_op, copy_host_op):
    _card.shape(lambda node: node.dims(0))
    _card.kernel(copy_kernel)


@copy_op.samples
@copy_host_op.samples
def copy_samples() -> Samples:
    yield Sample(np.ones((2, 3), np.float32))
    yield Sample(np.array([b"a"], object))


# ---- tensors written to files


_FILE = "file://"


def _name_and_slot(tensor_name: str) -> tuple[str, int]:
    """Return the node and slot in a tensor's name, or raise InvalidArgumentError."""
    parts = tensor_name.split(":") if tensor_name else []
    if len(parts) not in (1, 2):
        raise errors.invalid_argument(f'Failed to parse tensor name: "{tensor_name}"')
    if len(parts) == 1:
        return parts[0], 0
    try:
        return parts[0], int(parts[1])
    except ValueError:
        raise errors.invalid_argument(
            f'Invalid string value for output_slot: "{parts[1]}"'
        ) from None


def _publisher(node: Any) -> Callable[[np.ndarray], None]:
    """Return the function that writes an array to the files of an operation's URLs.

    InvalidArgumentError if it does not name a tensor, UnimplementedError for URLs of other kinds.
    """
    name, slot = _name_and_slot(node.tensor_name.decode())
    urls, device = [url.decode() for url in node.debug_urls], node.device_name.decode()
    for url in urls:
        if not url.startswith(_FILE):
            raise errors.UnimplementedError(
                node.op.node_def,
                node.op,
                f"Stillflow cannot publish to the debug URL {url}: only file:// is supported",
            )
    writers, kind = [DumpWriter(url.removeprefix(_FILE)) for url in urls], node.op.type

    def publish(array: np.ndarray) -> None:
        for writer in writers:
            writer.tensor(device, name, slot, kind, array)

    return publish


debug_identity_op.shape(lambda node: node.dims(0))


@debug_identity_op.kernel
def debug_identity_kernel(node: Node) -> Kernel:
    publish, publishes = _publisher(node), bool(node.op.attrs["debug_urls"])

    def run(value: Any) -> torch.Tensor | Array:
        if publishes:
            publish(to_stored(value))
        return _copied(value)

    return run


def _numbers(value: Any) -> np.ndarray:
    """Return a tensor of real numbers as an array in which NumPy counts them."""
    if value.dtype in (torch.bfloat16, torch.float16):
        value = value.float()
    return to_stored(value)


@debug_nan_count_op.shape
def debug_nan_count_shape(node: Node) -> OutputDims:
    return (1,) if node.planning else ()  # graphs take it for a scalar


@debug_nan_count_op.kernel
def debug_nan_count_kernel(node: Node) -> Kernel:
    dtype = node.dtype(0).base_dtype
    if not (dtype.is_integer or dtype.is_floating) or dtype.is_quantized:
        raise no_kernel(node)
    publish, device = _publisher(node), node.device

    def run(value: Any) -> torch.Tensor:
        found = summaries.nan_count(_numbers(value))
        assert found is not None
        publish(found)
        return torch.from_numpy(found).to(device)

    return run


@debug_numeric_summary_op.shape
def debug_numeric_summary_shape(node: Node) -> OutputDims:
    dims = node.dims(0)
    return (14 + len(dims),) if node.planning and dims is not None else None


@debug_numeric_summary_op.kernel
def debug_numeric_summary_kernel(node: Node) -> Kernel:
    dtype, mutes = node.dtype(0).base_dtype, node.mute_if_healthy
    numeric = dtype.is_integer and not dtype.is_quantized
    if not (numeric or dtype in (dtypes.bool, dtypes.float32, dtypes.float64)):
        raise no_kernel(node)
    publish, device = _publisher(node), node.device
    bounds = node.lower_bound, node.upper_bound

    def run(value: Any) -> torch.Tensor:
        array = to_stored(value)
        found = summaries.numeric_summary(array, *bounds)
        assert found is not None
        if not mutes or summaries.numeric_summary(array, *bounds, mute_if_healthy=True) is not None:
            publish(found)
        return torch.from_numpy(found).to(device)

    return run


@debug_identity_op.samples
@debug_numeric_summary_op.samples
def debug_samples() -> Samples:
    yield Sample(np.array([[1, np.nan], [-np.inf, 0]], np.float32), tensor_name="a:0")
