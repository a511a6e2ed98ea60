"""Comparisons with a threshold, eight to a byte."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.math.kernels import through_numpy
from stillflow.ops.samples import Bad, Sample, Samples

compare_and_bitpack_op = op("""
    CompareAndBitpack(input: T, threshold: T) -> output: uint8
    T: {bool, half, float, double, int8, int16, int32, int64}
""")


@compare_and_bitpack_op.shape
def compare_and_bitpack_shape(node: Node) -> OutputDims:
    shape = node.dims(0)
    if node.planning:
        _check(shape, node.dims(1))
    dims.with_rank_at_least(shape, 1)
    dims.with_rank(node.dims(1), 0)
    return None if shape is None else (*shape[:-1], dims.divide(shape[-1], 8))


def _check(shape: Any, threshold: Any) -> None:
    if threshold:
        raise ValueError(f"Compare must be a scalar, but saw shape: {dims.to_string(threshold)}")
    if shape == ():
        raise ValueError("Input should be at least a vector, but saw a scalar.")
    if shape is not None and shape[-1] is not None and shape[-1] % 8:
        raise ValueError(
            "Inner dimension of input should be divisible by 8, but saw shape: "
            f"{dims.to_string(shape)}"
        )


@compare_and_bitpack_op.kernel
def compare_and_bitpack_kernel(node: Node) -> Kernel:
    def pack(x: np.ndarray, threshold: np.ndarray) -> np.ndarray:
        _check(x.shape, threshold.shape)
        return np.packbits(x if x.dtype == bool else x > threshold, axis=-1)

    return through_numpy(pack, node.outputs[0].dtype)


@compare_and_bitpack_op.samples
def compare_and_bitpack_samples() -> Samples:
    x = np.arange(16, dtype=np.float32).reshape(2, 8) % 5
    yield Sample(x, np.float32(2.0))
    yield Bad(x[:, :3], np.float32(2.0), match="divisible by 8")
