"""Shared parts of kernels: types missing in torch, checked division, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.dims import is_known, to_string
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node

# Torch stores these types but computes next to nothing with them on the CPU.
NUMPY_TYPES = (dtypes.uint16, dtypes.uint32, dtypes.uint64)

REAL = "{bfloat16, half, float, double}"
FIELD = "{bfloat16, half, float, double, complex64, complex128}"
NUMBER = "{bfloat16, half, float, double, int32, int64, complex64, complex128}"
REAL_NUMBER = (
    "{float, double, int32, uint8, int16, int8, int64, bfloat16, uint16, half, uint32, uint64}"
)
ANY_NUMBER = (
    "{float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, "
    "bfloat16, uint16, complex128, half, uint32, uint64}"
)


def through_numpy(function: Callable[..., Any], dtype: DType) -> Callable[..., Any]:
    """Return a kernel that computes in numpy, giving tensors of `dtype` on the inputs' device."""
    target = dtype.np_dtype

    def run(*tensors: Any) -> torch.Tensor:
        with np.errstate(all="ignore"):
            result = function(*[tensor.cpu().numpy() for tensor in tensors])
        result = np.asarray(result)
        if result.dtype != target:
            result = result.astype(target)
        return torch.from_numpy(result).to(tensors[0].device)

    return run


def element_wise(
    node: Node, function: Callable[..., Any], in_numpy: Callable[..., Any] | None = None
) -> Call | Callable[..., Any]:
    """Return a kernel that calls a torch function, or numpy's for types missing in torch."""
    if in_numpy is not None and node.dtype(0) in NUMPY_TYPES:
        return through_numpy(in_numpy, node.outputs[0].dtype.base_dtype)
    return broadcasting_call(node, function)


def broadcasting_call(node: Node, function: Callable[..., Any]) -> Call | Callable[..., Any]:
    """Return a call with all inputs; shapes not known yet are checked when it fails."""
    if len(node.inputs) != 2 or node.exporting:
        return node.call(function, *node.inputs)
    if is_known(node.dims(0)) and is_known(node.dims(1)):
        return node.call(function, *node.inputs)

    def run(x: Any, y: Any) -> torch.Tensor:
        try:
            return function(x, y)
        except RuntimeError:
            first, second = tuple(x.shape), tuple(y.shape)
            try:
                np.broadcast_shapes(first, second)
            except ValueError:
                raise invalid(
                    f"Incompatible shapes: {to_string(first)} vs. {to_string(second)}"
                ) from None
            raise

    return run


def is_finite(x: Any) -> bool:
    """Return True if all numbers are known to be finite.

    Not checked on devices, which would have to wait, nor where `torch.vmap` computes many
    iterations of a loop, which has no single answer.

    The sum is far cheaper than looking at every element. It may be infinite or NaN without any
    element being so: then the caller merely takes the longer way.
    """
    if not x.is_cpu:
        return False
    try:
        total = x.item() if x.ndim == 0 else x.sum().item()
    except RuntimeError:
        return False
    return bool(total - total == 0)


def on_strings(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel over arrays of bytes that gives an array of bytes, also for scalars."""

    def run(*arrays: Any) -> Array:
        result = np.empty(np.broadcast_shapes(*[array.shape for array in arrays]), object)
        result[...] = function(*arrays)
        return result

    return run


def no_kernel(node: Node) -> errors.OpError:
    """Return the error for a type that the op's signature allows but no kernel computes."""
    return errors.invalid_argument(
        f"No OpKernel was registered to support Op '{node.op.type}' used by "
        f"{{{{node {node.name}}}}}with these attrs: [T=DT_{node.T.name.upper()}]"
    )


invalid = errors.invalid_argument
