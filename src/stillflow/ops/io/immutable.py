"""Constants that are not in the graph's constants: ImmutableConst of a file, HostConst."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files.failures import os_errors
from stillflow.files.filesystem import open_file
from stillflow.graph.card import op
from stillflow.graph.dims import to_string
from stillflow.graph.dtypes import as_dtype, cpp_name
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.constants import const_array
from stillflow.ops.io.stored import from_stored

immutable_const_op = op(
    """
    ImmutableConst() -> tensor: dtype
    dtype: type
    shape: shape
    memory_region_name: string
    """,
    effect="reads files",
)
host_const_op = op("""
    HostConst() -> output: dtype
    value: tensor
    dtype: type
""")


@immutable_const_op.shape
def immutable_const_shape(node: Node) -> OutputDims:
    return node.op.attrs["shape"]._dims


@immutable_const_op.kernel
def immutable_const_kernel(node: Node) -> Kernel:
    dtype, path = node.op.attrs["dtype"], node.memory_region_name.decode()
    dims, device = node.op.attrs["shape"]._dims or (), node.device
    if None in dims:
        raise errors.invalid_argument(f"Shape {to_string(dims)} is not fully defined")
    if dtype.torch_name is None:
        raise errors.invalid_argument(f"The elements of a file cannot be of type {cpp_name(dtype)}")
    kind = np.dtype(dtype.as_numpy_dtype)
    needed = prod(dims) * kind.itemsize

    def read() -> Any:
        with open_file(path) as file, os_errors(path):
            content = file.read()
        if len(content) < needed:
            raise errors.internal(
                f"Readonly memory region has wrong length ({len(content)}) when allocating {needed}"
            )
        array = np.frombuffer(content, kind, prod(dims)).reshape(dims)
        return from_stored(array.copy(), dtype, device)

    return read


@host_const_op.shape
def host_const_shape(node: Node) -> OutputDims:
    return None


@host_const_op.kernel
def host_const_kernel(node: Node) -> Kernel:
    value, dtype, device = node.op.attrs["value"], node.op.attrs["dtype"], node.device
    given = as_dtype(value.dtype)
    if given != dtype:
        raise errors.invalid_argument(
            f"Type mismatch between value ({cpp_name(given)}) and dtype ({cpp_name(dtype)})"
        )
    array = const_array(value)
    return lambda: from_stored(array, dtype, device)
