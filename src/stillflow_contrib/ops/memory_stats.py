"""The memory of the device that an operation is on."""

from __future__ import annotations

from stillflow.errors import invalid_argument
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.samples import Sample, Samples

# TensorFlow's limit of the processor's memory.
_NO_LIMIT = -1

bytes_in_use_op, max_bytes_in_use_op, bytes_limit_op = (
    op(f"{name}() -> out: int64; flags: stateful", differentiable=False)
    for name in ("BytesInUse", "MaxBytesInUse", "BytesLimit")
)


@bytes_in_use_op.shape
@max_bytes_in_use_op.shape
@bytes_limit_op.shape
def bytes_shape(node: Node) -> OutputDims:
    return ()


@bytes_in_use_op.kernel
def bytes_in_use_kernel(node: Node) -> Kernel:
    if torch.device(node.device).type == "mps":
        return lambda: torch.tensor(torch.mps.current_allocated_memory())
    _require_cuda(node)
    return lambda: torch.tensor(torch.cuda.memory_allocated(node.device))


@max_bytes_in_use_op.kernel
def max_bytes_in_use_kernel(node: Node) -> Kernel:
    _require_cuda(node)  # Metal keeps no peak
    return lambda: torch.tensor(torch.cuda.max_memory_allocated(node.device))


def _require_cuda(node: Node) -> None:
    if torch.device(node.device).type != "cuda":
        raise invalid_argument(
            f"No OpKernel was registered to support Op '{node.op.type}' used by "
            f"{{{{node {node.name}}}}}with these attrs: []"
        )


@bytes_limit_op.kernel
def bytes_limit_kernel(node: Node) -> Kernel:
    limit = _NO_LIMIT
    if torch.device(node.device).type == "cuda":
        limit = torch.cuda.get_device_properties(node.device).total_memory
    elif torch.device(node.device).type == "mps":
        limit = torch.mps.recommended_max_memory()
    return lambda: torch.tensor(limit)


@bytes_limit_op.samples
def bytes_limit_samples() -> Samples:
    yield Sample()


@export("contrib.memory_stats.BytesInUse")
def BytesInUse() -> Tensor:
    """Return the bytes that are in use on a GPU."""
    return bytes_in_use_op()


@export("contrib.memory_stats.MaxBytesInUse")
def MaxBytesInUse() -> Tensor:
    """Return the most bytes that have been in use on a GPU."""
    return max_bytes_in_use_op()


@export("contrib.memory_stats.BytesLimit")
def BytesLimit() -> Tensor:
    """Return the bytes that a device has; -1 for a processor."""
    return bytes_limit_op()
