"""Draws from a stream whose position is in a resource variable, and ops on the position."""

from __future__ import annotations

import secrets
from math import prod
from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.card import Card, op
from stillflow.graph.dtypes import cpp_name
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.random.arguments import check_range, read_sizes, shape_argument, shape_sizes
from stillflow.ops.random.distributions import (
    FULL_RANGE,
    NORMAL,
    TRUNCATED_NORMAL,
    UNIFORM,
    Distribution,
    drawn,
    int_range,
    uniform_ints,
)
from stillflow.ops.random.generator_state import draw_from_variable, tagged_algorithm
from stillflow.ops.random.streams import to_tensor
from stillflow.ops.samples import Bad, Sample, Samples

_FLOATS = ("float16", "bfloat16", "float32", "float64")


def _supported(node: Node, types: tuple[str, ...]) -> str:
    """Return the torch name of the node's dtype, which must be among `types`."""
    dtype = node.op.attrs["dtype"]
    if dtype.torch_name not in types:
        raise ValueError(f"{node.op.type} does not draw values of type {dtype.name}")
    name: str = dtype.torch_name
    return name


def _shape(node: Node) -> Any:
    dims.with_rank(node.dims(1), 0)
    return shape_argument(node, 2)


def _stateful_op(name: str, default: str, what: Distribution, types: tuple[str, ...]) -> Card:
    card = op(f"""
        {name}(resource: resource, algorithm: int64, shape: shape_dtype) -> output: dtype
        dtype: type = {default}
        shape_dtype: type = int64
        flags: stateful
    """)
    card.shape(_shape)

    @card.kernel
    def kernel(node: Node) -> Kernel:
        known, device, dtype = shape_sizes(node, 2), node.device, _supported(node, types)

        def run(handle: Any, algorithm: Any, shape: Any) -> torch.Tensor:
            sizes = known if known is not None else read_sizes(shape)
            stream = draw_from_variable(handle, int(algorithm), prod(sizes))
            return drawn(what, stream, sizes, dtype, device)

        return run

    return card


stateful_uniform_op = _stateful_op("StatefulUniform", "float", UNIFORM, _FLOATS)
stateful_standard_normal_v2_op = _stateful_op("StatefulStandardNormalV2", "float", NORMAL, _FLOATS)
stateful_truncated_normal_op = _stateful_op(
    "StatefulTruncatedNormal", "float", TRUNCATED_NORMAL, _FLOATS
)
stateful_uniform_full_int_op = _stateful_op(
    "StatefulUniformFullInt", "uint64", FULL_RANGE, ("int32", "int64", "uint32", "uint64")
)

stateful_uniform_int_op = op("""
    StatefulUniformInt(resource: resource, algorithm: int64, shape: shape_dtype, minval: dtype, maxval: dtype) -> output: dtype
    dtype: type = int64
    shape_dtype: type = int64
    flags: stateful
""")  # noqa: E501 - a signature is one line


@stateful_uniform_int_op.shape
def stateful_uniform_int_shape(node: Node) -> OutputDims:
    check_range(node, 3)
    return _shape(node)


@stateful_uniform_int_op.kernel
def stateful_uniform_int_kernel(node: Node) -> Kernel:
    known, device, dtype = shape_sizes(node, 2), node.device, _supported(node, ("int32", "int64"))

    def run(handle: Any, algorithm: Any, shape: Any, minval: Any, maxval: Any) -> torch.Tensor:
        sizes = known if known is not None else read_sizes(shape)
        low, high = int_range(minval, maxval)
        stream = draw_from_variable(handle, int(algorithm), prod(sizes))
        return uniform_ints(stream, sizes, low, high, dtype, device)

    return run


# Its variable starts with a number for the algorithm.
stateful_standard_normal_op = op("""
    StatefulStandardNormal(resource: resource, shape: shape_dtype) -> output: dtype
    dtype: type = float
    shape_dtype: type = int64
    flags: stateful
""")


@stateful_standard_normal_op.shape
def stateful_standard_normal_shape(node: Node) -> OutputDims:
    return shape_argument(node, 1)


@stateful_standard_normal_op.kernel
def stateful_standard_normal_kernel(node: Node) -> Kernel:
    known, device, dtype = shape_sizes(node, 1), node.device, _supported(node, _FLOATS)

    def run(handle: Any, shape: Any) -> Any:
        sizes = known if known is not None else read_sizes(shape)
        stream = draw_from_variable(handle, tagged_algorithm(handle), prod(sizes), tag=1)
        return drawn(NORMAL, stream, sizes, dtype, device)

    return run


rng_skip_op = op("RngSkip(resource: resource, algorithm: int64, delta: int64); flags: stateful")


@rng_skip_op.shape
def rng_skip_shape(node: Node) -> OutputDims:
    dims.with_rank(node.dims(1), 0)
    dims.with_rank(node.dims(2), 0)
    return []


@rng_skip_op.kernel
def rng_skip_kernel(node: Node) -> Kernel:
    def run(handle: Any, algorithm: Any, delta: Any) -> None:
        draw_from_variable(handle, int(algorithm), int(delta))

    return run


non_deterministic_ints_op = op(
    """
    NonDeterministicInts(shape: shape_dtype) -> output: dtype
    dtype: type = int64
    shape_dtype: type = int64
    flags: stateful
""",
    numbers=("shape",),
)


@non_deterministic_ints_op.shape
def non_deterministic_ints_shape(node: Node) -> OutputDims:
    kind = node.dtype(0)
    dims.with_rank(node.dims(0), 1)
    if node.value(0) is not None and kind not in (dtypes.int32, dtypes.int64):
        raise dims.InvalidSize(f"Input tensor must be int32 or int64, but was {cpp_name(kind)}")
    return shape_argument(node)


@non_deterministic_ints_op.kernel
def non_deterministic_ints_kernel(node: Node) -> Kernel:
    known, device = shape_sizes(node), node.device
    dtype = _supported(node, ("int32", "int64", "uint32", "uint64"))

    def run(shape: Any) -> torch.Tensor:
        sizes = known if known is not None else read_sizes(shape)
        bits = secrets.token_bytes(prod(sizes) * np.dtype(dtype).itemsize)
        values = np.frombuffer(bytearray(bits), dtype)
        return to_tensor(values, sizes, dtype, device)

    return run


@non_deterministic_ints_op.samples
def non_deterministic_ints_samples() -> Samples:
    yield Sample([0, 3], fixed=(0,))
    yield Bad([[2]], match="Shape must be rank 1 but is rank 2")
