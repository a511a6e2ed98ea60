"""Zero initialization of variables without a tensor of zeros."""

from __future__ import annotations

from typing import Any

from stillflow import errors
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims

zero_initializer_op = op(
    """
    ZeroInitializer(ref: &T) -> output_ref: &T
    T: {float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}
    flags: uninitialized
""",
    writes=(0,),
)


@zero_initializer_op.shape
def zero_initializer_shape(node: Node) -> OutputDims:
    return node.dims(0)


def _zeros_once(buffer: Any, shape: tuple[int, ...], dtype: Any, device: Any) -> Any:
    """Set a variable's first value; InvalidArgumentError if it has one."""
    with buffer.lock:
        if buffer.value is not None:
            raise errors.invalid_argument("input is already initialized")
        buffer.value = torch.zeros(shape, dtype=dtype, device=device)
    return buffer


@zero_initializer_op.kernel
def zero_initializer_kernel(node: Any) -> Kernel:
    shape = tuple(node.op.inputs[0]._dims)
    dtype, device = getattr(torch, node.T.torch_name), node.device
    return lambda ref: _zeros_once(ref, shape, dtype, device)


zero_var_initializer_op = op(
    """
    ZeroVarInitializer(var: resource) -> output_var: resource
    dtype: type
    shape: shape
    flags: uninitialized
""",
    writes=(0,),
)


@zero_var_initializer_op.shape
def zero_var_initializer_shape(node: Node) -> OutputDims:
    handle = node.outputs[0]
    handle._handle_dims = node.op.attrs["shape"]._dims
    handle._handle_dtype = node.op.attrs["dtype"]
    return ()


@zero_var_initializer_op.kernel
def zero_var_initializer_kernel(node: Any) -> Kernel:
    shape = tuple(node.op.attrs["shape"].as_list())
    dtype, device = getattr(torch, node.op.attrs["dtype"].torch_name), node.device
    return lambda handle: _zeros_once(handle, shape, dtype, device)
