"""Pools over volumes: MaxPool3D, AvgPool3D and their gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow.errors import UnimplementedError
from stillflow.graph import dims
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.arrays.shape import shape
from stillflow.ops.control_flow.identity_and_group import stop_gradient
from stillflow.ops.input_ranks import kernel_ranks
from stillflow.ops.math.kernels import REAL_NUMBER
from stillflow.ops.nn import pool_kernels as kernels
from stillflow.ops.nn import windows
from stillflow.ops.nn.pool_kernels import PoolGeometry, pool_geometry
from stillflow.ops.nn.pooling import check_average_gradient, check_gradient_sizes, comparable
from stillflow.ops.nn.precision import precise_on_cpu
from stillflow.ops.samples import Bad, Sample, Samples

_WINDOW = """
    ksize: list(int) >= 5
    strides: list(int) >= 5
    padding: {"SAME", "VALID"}
    data_format: {"NDHWC", "NCDHW"} = "NDHWC"
"""


def pool3d_shape(node: Node) -> tuple[int | None, ...]:
    image, form = dims.with_rank(node.dims(0), 5), node.data_format
    if len(node.strides) != 5:
        raise ValueError(
            "Pool3D ops require the stride attribute to contain 5 values, but got: "
            f"{len(node.strides)}"
        )
    windows.require_length("Pool3D", "ksize", node.ksize, 5)
    sizes = [
        windows.output_size(
            image[axis], node.ksize[axis], node.strides[axis], node.padding, running=node.planning
        )
        for axis in windows.spatial_axes(form)
    ]
    return windows.assemble(image[0], image[windows.channel_axis(form)], sizes, form)


def _geometry(node: Node, image: Sequence[int]) -> PoolGeometry:
    channel = windows.channel_axis(node.data_format)
    for axis, what in ((0, "batch"), (channel, "depth")):
        if node.ksize[axis] != 1 or node.strides[axis] != 1:
            raise UnimplementedError(
                node.op.node_def, node.op,
                f"Pooling is not yet supported on the {what} dimension.",
            )  # fmt: skip
    return pool_geometry(
        tuple(image), tuple(node.ksize), tuple(node.strides), node.padding, node.data_format
    )


def _over_volumes(node: Node, function: Any, tensors: Sequence[int]) -> Call | Callable[..., Any]:
    sizes = node.dims(0)
    if dims.is_known(sizes):
        geometry = _geometry(node, sizes)
        return node.call(function, *[node.inputs[i] for i in tensors], geometry)
    return lambda *inputs: function(*[inputs[i] for i in tensors], _geometry(node, inputs[0].shape))


def _attributes(node: Node) -> dict[str, Any]:
    return {name: node.op.attrs[name] for name in ("ksize", "strides", "padding", "data_format")}


def _volume(*shape: int) -> np.ndarray:
    count = int(np.prod(shape))
    return np.random.RandomState(5).permutation(count).reshape(shape).astype(np.float32)


def pool3d_samples() -> Samples:
    volume, two = _volume(1, 4, 3, 5, 2), [1, 2, 2, 2, 1]
    yield Sample(volume, ksize=two, strides=two, padding="VALID")
    yield Sample(volume, ksize=[1, 3, 2, 3, 1], strides=two, padding="SAME")
    yield Sample(volume, ksize=two, strides=[1] * 5, padding="SAME")
    yield Sample(
        volume.transpose(0, 4, 1, 2, 3), ksize=[1, 1, 2, 2, 2], strides=[1, 1, 2, 1, 2],
        padding="SAME", data_format="NCDHW",
    )  # fmt: skip
    yield Bad(volume, ksize=[1, 9, 1, 1, 1], strides=two, padding="VALID", match="Negative")
    yield Bad(volume[0], ksize=two, strides=two, padding="SAME", match="must be rank 5")


# ---- maxima

max_pool3d_op = op(
    f"MaxPool3D(input: T) -> output: T\n{_WINDOW}\nT: {{half, bfloat16, float}}",
    gpu_types="fractions",
    cost=Cost("unknown"),
)
max_pool3d_op.shape(pool3d_shape)
_volume_rank = (0, 5, "tensor_in must be 5-dimensional")
max_pool3d_op.check(kernel_ranks(_volume_rank))
max_pool3d_op.samples(pool3d_samples)


@max_pool3d_op.kernel
def max_pool3d_kernel(node: Node) -> Kernel:
    return _over_volumes(node, kernels.max_pool, [0])


@max_pool3d_op.gradient
def max_pool3d_gradient(node: Node, grad: Tensor) -> Gradients:
    return max_pool3d_grad_op(node.inputs[0], node.outputs[0], grad, **_attributes(node))


def _second(card: Any) -> Callable[..., Any]:
    """Return the gradient of a gradient: the maxima's places are constant."""

    def gradient(node: Node, backprop: Tensor) -> list[Any]:
        nothing = [zeros(shape=shape(each), dtype=each.dtype) for each in node.inputs[:2]]
        return [*nothing, card(*node.inputs[:2], backprop, **_attributes(node))]

    return gradient


max_pool3d_grad_op = op(
    f"""
    MaxPool3DGrad(orig_input: TInput, orig_output: TInput, grad: T) -> output: T
    {_WINDOW}
    T: {{half, bfloat16, float}} = float
    TInput: {{half, bfloat16, float}} = float
""",
    gpu_types="fractions",
    cost=Cost("unknown"),
)
max_pool3d_grad_grad_op = op(
    f"""
    MaxPool3DGradGrad(orig_input: T, orig_output: T, grad: T) -> output: T
    {_WINDOW}
    T: {REAL_NUMBER}
""",
    gpu_types="fractions",
    cost=Cost("unknown"),
)
_pool_ranks = (_volume_rank, (1, 5, "tensor_out must be 5-dimensional"))
max_pool3d_grad_op.check(kernel_ranks(*_pool_ranks, (2, 5, "out_backprop must be 5-dimensional")))
max_pool3d_grad_grad_op.check(
    kernel_ranks(*_pool_ranks, (2, 5, "out_grad_backprop must be 5-dimensional"))
)
max_pool3d_grad_op.gradient(_second(max_pool3d_grad_grad_op))
max_pool3d_grad_grad_op.gradient(_second(max_pool3d_grad_op))


@max_pool3d_grad_op.shape
def max_pool3d_grad_shape(node: Node) -> OutputDims:
    image = dims.with_rank(node.dims(0), 5)
    if node.planning:
        pooled = pool3d_shape(node)
        dims.merge(node.dims(1), pooled)
        dims.merge(node.dims(2), pooled)
    return image


@max_pool3d_grad_op.kernel
def max_pool3d_grad_kernel(node: Node) -> Kernel:
    same = node.TInput == node.T
    function = kernels.max_pool_grad_of_all
    return _over_volumes(node, precise_on_cpu(node, function, 3) if same else function, [0, 1, 2])


@max_pool3d_grad_op.samples
def max_pool3d_grad_samples() -> Samples:
    volume = _volume(1, 4, 2, 4, 2)
    best = volume.reshape(1, 2, 2, 1, 2, 2, 2, 2).max((2, 4, 6))
    yield Sample(
        volume, best, best, ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="VALID",
        grad=False,
    )  # fmt: skip


@max_pool3d_grad_grad_op.shape
def max_pool3d_grad_grad_shape(node: Node) -> OutputDims:
    result = pool3d_shape(node)
    dims.merge(node.dims(0), node.dims(2))
    dims.merge(node.dims(1), result)
    return result


@max_pool3d_grad_grad_op.kernel
def max_pool3d_grad_grad_kernel(node: Node) -> Kernel:
    return _over_volumes(node, comparable(node, kernels.max_pool_grad_grad, 2), [0, 2])


@max_pool3d_grad_grad_op.samples
def max_pool3d_grad_grad_samples() -> Samples:
    volume = _volume(1, 4, 2, 4, 2)
    best = volume.reshape(1, 2, 2, 1, 2, 2, 2, 2).max((2, 4, 6))
    yield Sample(
        volume, best, volume, ksize=[1, 2, 2, 2, 1], strides=[1, 2, 2, 2, 1], padding="VALID",
        grad=False,
    )  # fmt: skip


# ---- averages

avg_pool3d_op = op(
    f"AvgPool3D(input: T) -> output: T\n{_WINDOW}\nT: {{half, bfloat16, float, double}}",
    gpu_types="fractions",
    cost=Cost("unknown"),
)
avg_pool3d_op.shape(pool3d_shape)
avg_pool3d_op.check(kernel_ranks(_volume_rank))


@avg_pool3d_op.samples
def avg_pool3d_samples() -> Samples:
    yield from pool3d_samples()
    yield Sample(
        _volume(1, 3, 5, 1, 2), ksize=[1, 1, 2, 3, 1], strides=[1, 2, 3, 1, 1], padding="SAME"
    )


@avg_pool3d_op.kernel
def avg_pool3d_kernel(node: Node) -> Kernel:
    return _over_volumes(node, precise_on_cpu(node, kernels.avg_pool, 1), [0])


@avg_pool3d_op.gradient
def avg_pool3d_gradient(node: Node, grad: Tensor) -> Gradients:
    return avg_pool3d_grad_op(shape(node.inputs[0]), grad, **_attributes(node))


avg_pool3d_grad_op = op(
    f"""
    AvgPool3DGrad(orig_input_shape: int32, grad: T) -> output: T
    {_WINDOW}
    T: {{half, bfloat16, float, double}}
""",
    gpu_types="fractions",
    numbers=("orig_input_shape",),
    cost=Cost("unknown"),
)


@avg_pool3d_grad_op.check
def avg_pool3d_grad_check(node: Node) -> None:
    check_average_gradient(node, 5, "stride", "tensor_in")


@avg_pool3d_grad_op.shape
def avg_pool3d_grad_shape(node: Node) -> OutputDims:
    dims.with_rank(node.dims(0), 1)
    sizes = node.shape_value(0)
    return (None,) * 5 if sizes is None else dims.with_rank(sizes, 5)


@avg_pool3d_grad_op.kernel
def avg_pool3d_grad_kernel(node: Node) -> Kernel:
    run = precise_on_cpu(node, kernels.avg_pool_grad, 1)
    sizes = node.shape_value(0)
    if dims.is_known(sizes):
        return node.call(run, node.inputs[1], sizes, _geometry(node, sizes))

    def spread(sizes: Any, grad: Any) -> torch.Tensor:
        target = tuple(sizes.tolist())
        check_gradient_sizes(node, grad.shape, target)
        return run(grad, target, _geometry(node, target))

    return spread


@avg_pool3d_grad_op.gradient
def avg_pool3d_grad_gradient(node: Node, grad: Tensor) -> Gradients:
    return [stop_gradient(node.inputs[0]), avg_pool3d_op(grad, **_attributes(node))]


@avg_pool3d_grad_op.samples
def avg_pool3d_grad_samples() -> Samples:
    yield Sample(
        np.array([1, 4, 3, 5, 2], np.int32), _volume(1, 2, 2, 3, 2), ksize=[1, 3, 2, 3, 1],
        strides=[1, 2, 2, 2, 1], padding="SAME", fixed=(0,),
    )  # fmt: skip
    yield Sample(
        np.array([1, 3, 5, 1, 2], np.int32), _volume(1, 2, 2, 1, 2), ksize=[1, 1, 2, 3, 1],
        strides=[1, 2, 3, 1, 1], padding="SAME", fixed=(0,),
    )  # fmt: skip
