"""Pools over images: MaxPool, MaxPoolV2, AvgPool and their first and second gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow.errors import UnimplementedError
from stillflow.graph import dims
from stillflow.graph.card import Card, op
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
from stillflow.ops.nn.pool_kernels import pool_geometry
from stillflow.ops.nn.precision import in_type
from stillflow.ops.samples import Bad, Sample, Samples

if TYPE_CHECKING:
    from stillflow.ops.nn.pool_kernels import PoolGeometry


WINDOW = """
    ksize: list(int) >= 4
    strides: list(int) >= 4
    padding: {"SAME", "VALID"}
"""
_FORMAT = 'data_format: {"NHWC", "NCHW"} = "NHWC"'
_MAX_FORMAT = 'data_format: {"NHWC", "NCHW", "NCHW_VECT_C"} = "NHWC"'
_MAX_TYPES = "{half, bfloat16, float, double, int32, int64, uint8, int16, int8, uint16, qint8}"


# ---- shared parts of the cards


def window_of(node: Node, first: int) -> tuple[Any, Any]:
    """Window size and strides: attributes, or the inputs from number `first` on.

    Either is None where it is not known now.
    """
    if "ksize" in node.op.attrs:
        return tuple(node.ksize), tuple(node.strides)
    values = node.value(first), node.value(first + 1)
    ksize, strides = (None if v is None else tuple(v.ravel().tolist()) for v in values)
    return ksize, strides


def pool_shape(node: Node, label: str, first: int, with_depth: bool) -> Any:
    """Return the output of a pool over input 0."""
    form = node.op.attrs.get("data_format", b"NHWC")
    vector = form == b"NCHW_VECT_C"
    image = dims.with_rank(node.dims(0), 5 if vector else 4)
    if vector:
        dims.with_value(image[4], 4)
    if "ksize" not in node.op.attrs:
        for index in (first, first + 1):
            (count,) = dims.with_rank(node.dims(index), 1)
            dims.with_value(count, 4)
    ksize, strides = window_of(node, first)
    if ksize is None or strides is None:
        return None
    windows.require_length(label, "stride", strides, 4)
    windows.require_length(label, "ksize", ksize, 4)
    sizes = [
        windows.output_size(
            image[axis], ksize[axis], strides[axis], node.padding, running=node.planning
        )
        for axis in windows.spatial_axes(form)
    ]
    channel = windows.channel_axis(form)
    depth = image[channel]
    if with_depth:
        depth = windows.output_size(depth, ksize[channel], strides[channel], node.padding)
    result = windows.assemble(image[0], depth, sizes, form)
    return (*result, 4) if vector else result


def refuse(node: Node, message: str) -> None:
    raise UnimplementedError(node.op.node_def, node.op, message)


def check_window(node: Node, ksize: Sequence[int], strides: Sequence[int], depth: bool) -> None:
    """Raise an error for windows over the batch, and over channels unless `depth` allows them."""
    form = node.op.attrs.get("data_format", b"NHWC")
    if form == b"NCHW_VECT_C":
        refuse(node, "Pools over NCHW_VECT_C need a GPU of TensorFlow's kind")
    for axis, size in enumerate(ksize):
        if size <= 0:
            raise ValueError(f"Sliding window ksize for dimension {axis} was zero.")
    if ksize[0] != 1 or strides[0] != 1:
        refuse(node, "Pooling is not yet supported on the batch dimension.")
    channel = windows.channel_axis(form)
    if ksize[channel] == 1 and (depth or strides[channel] == 1):
        return
    if not depth:
        refuse(node, f"{node.op.type} is not yet supported on the depth dimension.")
    if any(ksize[axis] != 1 for axis in windows.spatial_axes(form)):
        refuse(
            node,
            "MaxPooling supports exactly one of pooling across depth or pooling across "
            "width/height.",
        )


def geometry_of(node: Node, image: Sequence[int], ksize: Any, strides: Any) -> PoolGeometry:
    form = node.op.attrs.get("data_format", b"NHWC")
    return pool_geometry(tuple(image), tuple(ksize), tuple(strides), node.padding, form)


def over_images(
    node: Node, function: Any, tensors: Sequence[int], first: int, depth: bool = False
) -> Call | Callable[..., Any]:
    """Return the kernel that calls `function(*tensors, geometry)` for the geometry of input 0."""
    ksize, strides = window_of(node, first)
    if ksize is not None and strides is not None:
        check_window(node, ksize, strides, depth)
        sizes = node.dims(0)
        if dims.is_known(sizes):
            geometry = geometry_of(node, sizes, ksize, strides)
            return node.call(function, *[node.inputs[i] for i in tensors], geometry)

    def pool(*inputs: Any) -> Any:
        size, step = ksize, strides
        if size is None or step is None:
            size, step = (tuple(value.tolist()) for value in inputs[first : first + 2])
            check_window(node, size, step, depth)
        geometry = geometry_of(node, inputs[0].shape, size, step)
        return function(*[inputs[i] for i in tensors], geometry)

    return pool


def attributes(node: Node) -> dict[str, Any]:
    names = ("ksize", "strides", "padding", "data_format")
    return {name: node.op.attrs[name] for name in names if name in node.op.attrs}


def no_gradient(node: Node, index: int) -> Tensor:
    """Zeros of an input's shape: the maxima's places do not move with it."""
    tensor = node.inputs[index]
    return zeros(shape=shape(tensor), dtype=tensor.dtype)


def sample_image(channels: int = 3) -> np.ndarray:
    """Return an image without ties; two steps apart, so that numerical gradients do not cross."""
    values = np.random.RandomState(7).permutation(2 * 5 * 4 * channels)
    return values.reshape(2, 5, 4, channels).astype(np.float32)


# ---- MaxPool, MaxPoolV2

max_pool_op = op(
    f"""
    MaxPool(input: T) -> output: T
    T: {_MAX_TYPES} = float
    {WINDOW}
    {_MAX_FORMAT}
""",
    gpu_types="fractions",
    cost=Cost("passes"),
)


@max_pool_op.shape
def max_pool_shape(node: Node) -> OutputDims:
    return pool_shape(node, "MaxPool", 1, with_depth=True)


def comparable(node: Node, function: Any, tensors: int) -> Callable[..., Any]:
    """Run `function` of an image (and gradients) in a type that torch can compare."""
    name = node.dtype(0).name
    if name == "uint64":
        return _in_order(function, tensors)
    wider = {"uint16": "int32", "uint32": "int64"}.get(name)
    return function if wider is None else in_type(function, getattr(torch, wider), tensors)


def _in_order(function: Any, tensors: int) -> Callable[..., Any]:
    """Compare uint64 as int64 in the same order; gradients are sums, whose bits are the same."""
    least = -(2**63)

    def computed(*args: Any) -> Any:
        image, *others = [arg.view(torch.int64) for arg in args[:tensors]]
        result = function(image ^ least, *others, *args[tensors:])
        if isinstance(result, tuple):
            return (result[0] ^ least).view(torch.uint64), *result[1:]
        return (result if others else result ^ least).view(torch.uint64)

    return computed


def _depth_window(node: Node, channels: Any, ksize: Any, strides: Any) -> int:
    """Return the size of the window along the channels, 1 if the pool is not over them."""
    axis = windows.channel_axis(node.data_format)
    if ksize is None or ksize[axis] == 1:
        return 1
    check_window(node, ksize, strides, True)
    if channels is not None and channels % ksize[axis]:
        refuse(
            node,
            "Depthwise max pooling requires the depth window to evenly divide the input depth",
        )
    if strides[axis] != ksize[axis]:
        refuse(
            node,
            "Depthwise max pooling requires the depth window to equal the depth stride",
        )
    return int(ksize[axis])


@max_pool_op.kernel
def max_pool_kernel(node: Node) -> Kernel:
    axis = windows.channel_axis(node.data_format)
    over_depth = comparable(node, kernels.depth_max_pool, 1)
    ksize, strides = window_of(node, 1)
    known = node.dims(0)
    window = _depth_window(node, None if known is None else known[axis], ksize, strides)
    if window > 1:
        return node.call(over_depth, node.inputs[0], window, axis)
    spatial = over_images(node, comparable(node, kernels.max_pool, 1), [0], 1, depth=True)
    if ksize is not None or isinstance(spatial, Call):
        return spatial

    def pool(image: Any, ksize: Any, strides: Any) -> torch.Tensor:
        sizes = tuple(ksize.tolist()), tuple(strides.tolist())
        window = _depth_window(node, image.shape[axis], *sizes)
        if window > 1:
            return over_depth(image, window, axis)
        return spatial(image, ksize, strides)

    return pool


@max_pool_op.gradient
def max_pool_gradient(node: Node, grad: Tensor) -> Gradients:
    return max_pool_grad_op(node.inputs[0], node.outputs[0], grad, **attributes(node))


@max_pool_op.samples
def max_pool_samples() -> Samples:
    image = sample_image()
    two, three = [1, 2, 2, 1], [1, 3, 3, 1]
    yield Sample(image, ksize=two, strides=two, padding="VALID")
    yield Sample(image, ksize=two, strides=two, padding="SAME")
    yield Sample(image, ksize=three, strides=two, padding="SAME")
    yield Sample(image, ksize=two, strides=[1, 1, 1, 1], padding="SAME")
    yield Sample(
        image.transpose(0, 3, 1, 2), ksize=[1, 1, 2, 2], strides=[1, 1, 2, 1], padding="SAME",
        data_format="NCHW",
    )  # fmt: skip
    yield Sample(image, ksize=[1, 1, 1, 3], strides=[1, 1, 1, 3], padding="VALID", grad=False)
    yield Bad(image, ksize=[1, 9, 1, 1], strides=two, padding="VALID", match="Negative dimension")
    yield Bad(image, ksize=two, strides=[1, 0, 1, 1], padding="SAME", match="Stride must be > 0")
    yield Bad(image[0], ksize=two, strides=two, padding="SAME", match="must be rank 4")


max_pool_v2_op = op(
    f"""
    MaxPoolV2(input: T, ksize: int32, strides: int32) -> output: T
    T: {_MAX_TYPES} = float
    padding: {{"SAME", "VALID"}}
    {_MAX_FORMAT}
""",
    gpu_types="fractions",
    numbers=("ksize", "strides"),
    cost=Cost("unknown"),
)


@max_pool_v2_op.shape
def max_pool_v2_shape(node: Node) -> OutputDims:
    return pool_shape(node, "MaxPool", 1, with_depth=True)


max_pool_v2_op.kernel(max_pool_kernel)


@max_pool_v2_op.gradient
def max_pool_v2_gradient(node: Node, grad: Tensor) -> Gradients:
    image, ksize, strides = node.inputs
    result = max_pool_grad_v2_op(image, node.outputs[0], grad, ksize, strides, **attributes(node))
    return [result, None, None]


@max_pool_v2_op.samples
def max_pool_v2_samples() -> Samples:
    two = np.array([1, 2, 2, 1], np.int32)
    yield Sample(sample_image(), two, two, padding="SAME", fixed=(1, 2))
    yield Bad(sample_image(), two[:3], two, padding="SAME", match="must be 4 but is 3")


# ---- the gradients of MaxPool


def same_as_image(node: Node) -> tuple[int | None, ...]:
    return dims.with_rank(node.dims(0), 4)


def _grad_grad_shape(node: Node) -> tuple[int | None, ...]:
    result = pool_shape(node, "MaxPool", 3, with_depth=True)
    dims.merge(node.dims(0), node.dims(2))
    dims.merge(node.dims(1), result)
    return result


def _max_pool_grad_kernel(node: Node) -> Call | Callable[..., Any]:
    function = comparable(node, kernels.max_pool_grad, 2)
    return over_images(node, function, [0, 2], 3)


def _max_pool_grad_grad_kernel(node: Node) -> Any:
    function = comparable(node, kernels.max_pool_grad_grad, 2)
    return over_images(node, function, [0, 2], 3)


_pool_ranks = kernel_ranks(
    (0, 4, "tensor_in must be 4-dimensional"),
    (1, 4, "tensor_out must be 4-dimensional"),
    (2, 4, "out_backprop must be 4-dimensional"),
)


def _grad_check(node: Node) -> None:
    """Raise an error for an output or an output gradient with another shape than the pool's."""
    if not node.planning:
        return
    _pool_ranks(node)
    expected = pool_shape(node, "MaxPool", 3, with_depth=True)
    if not dims.is_known(expected):
        return
    for index, name in ((1, "orig_output"), (2, "grad")):
        found = node.dims(index)
        if dims.is_known(found) and found != expected:
            raise ValueError(
                f"Expected {name} shape to be {dims.to_string(expected)}, but got "
                f"{dims.to_string(found)}"
            )


def _pool_grads(image: Card, grad: Card, grad_grad: Card) -> None:
    """Hangs the parts on a pair of gradient ops, with window sizes as attributes or as inputs."""
    rest = [None] * (len(grad.signature.inputs) - 3)
    grad.shape(same_as_image)
    grad.check(_grad_check)
    grad.kernel(_max_pool_grad_kernel)
    grad_grad.shape(_grad_grad_shape)
    grad_grad.kernel(_max_pool_grad_grad_kernel)

    def derivative(inner: Card) -> Callable[..., Any]:
        def gradient(node: Node, backprop: Tensor) -> list[Tensor | None]:
            nothing = [no_gradient(node, 0), no_gradient(node, 1)]
            arguments = [*node.inputs[:2], backprop, *node.inputs[3:]]
            return [*nothing, inner(*arguments, **attributes(node)), *rest]

        return gradient

    grad.gradient(derivative(grad_grad))
    if image is max_pool_op:  # the second gradient of MaxPoolV2 has none in TF
        grad_grad.gradient(derivative(grad))


max_pool_grad_op = op(
    f"""
    MaxPoolGrad(orig_input: T, orig_output: T, grad: T) -> output: T
    {WINDOW}
    {_FORMAT}
    T: {REAL_NUMBER} = float
""",
    gpu_types="fractions",
    cost=Cost("passes"),
)
max_pool_grad_grad_op = op(
    f"""
    MaxPoolGradGrad(orig_input: T, orig_output: T, grad: T) -> output: T
    {WINDOW}
    {_FORMAT}
    T: {REAL_NUMBER}
""",
    gpu_types="fractions",
    cost=Cost("unknown"),
)
_pool_grads(max_pool_op, max_pool_grad_op, max_pool_grad_grad_op)

_V2_INPUTS = "orig_input: T, orig_output: T, grad: T, ksize: int32, strides: int32"

max_pool_grad_v2_op = op(
    f"""
    MaxPoolGradV2({_V2_INPUTS}) -> output: T
    padding: {{"SAME", "VALID"}}
    {_FORMAT}
    T: {REAL_NUMBER} = float
""",
    gpu_types="fractions",
    numbers=("ksize", "strides"),
    cost=Cost("unknown"),
)
max_pool_grad_grad_v2_op = op(
    f"""
    MaxPoolGradGradV2({_V2_INPUTS}) -> output: T
    padding: {{"SAME", "VALID"}}
    {_FORMAT}
    T: {REAL_NUMBER}
""",
    gpu_types="fractions",
    numbers=("ksize", "strides"),
    cost=Cost("unknown"),
)
_pool_grads(max_pool_v2_op, max_pool_grad_v2_op, max_pool_grad_grad_v2_op)


@max_pool_grad_op.samples
def max_pool_grad_samples() -> Samples:
    image = sample_image(2)
    best = image[:, :4].reshape(2, 2, 2, 2, 2, 2).max((2, 4))
    yield Sample(
        image, best, best, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="VALID", grad=False
    )


# ---- AvgPool

avg_pool_op = op(
    f"""
    AvgPool(value: T) -> output: T
    {WINDOW}
    {_FORMAT}
    T: {{half, bfloat16, float, double}}
""",
    gpu_types="fractions",
    cost=Cost("passes"),
)


@avg_pool_op.shape
def avg_pool_shape(node: Node) -> OutputDims:
    return pool_shape(node, "AvgPool", 1, with_depth=False)


@avg_pool_op.kernel
def avg_pool_kernel(node: Node) -> Kernel:
    if node.ksize[windows.channel_axis(node.data_format)] != 1:
        refuse(node, "Non-spatial pooling is not yet supported. Volunteers? :)")
    return over_images(node, kernels.avg_pool, [0], 1)


@avg_pool_op.gradient
def avg_pool_gradient(node: Node, grad: Tensor) -> Gradients:
    return avg_pool_grad_op(shape(node.inputs[0]), grad, **attributes(node))


@avg_pool_op.samples
def avg_pool_samples() -> Samples:
    image = sample_image()
    two, three = [1, 2, 2, 1], [1, 3, 3, 1]
    yield Sample(image, ksize=two, strides=two, padding="VALID")
    yield Sample(image, ksize=three, strides=two, padding="SAME")
    yield Sample(image, ksize=two, strides=[1, 1, 1, 1], padding="SAME")
    yield Sample(
        image.transpose(0, 3, 1, 2), ksize=[1, 1, 2, 2], strides=[1, 1, 2, 1], padding="SAME",
        data_format="NCHW",
    )  # fmt: skip
    yield Bad(image, ksize=[1, 9, 1, 1], strides=two, padding="VALID", match="Negative dimension")


def check_average_gradient(node: Node, rank: int, strides: str, sizes: str) -> None:
    """Check gradients of averages as TF's kernels do, and their shapes.

    `strides` and `sizes` are what the kernel calls its strides, and its input of sizes.
    """
    if not node.planning:
        return
    for name, values in (("ksize", node.ksize), (strides, node.strides)):
        if len(values) != rank:
            raise ValueError(f"Sliding window {name} field must specify {rank} dimensions")
    shape, grad, target = node.dims(0), node.dims(1), node.shape_value(0)
    if dims.is_known(shape) and shape != (rank,):
        raise ValueError(f"{sizes} must be 1-dimensional and {rank} elements")
    if grad is not None and len(grad) != rank:
        raise ValueError(f"out_backprop must be {rank}-dimensional")
    if dims.is_known(grad) and dims.is_known(target) and min(target, default=0) > 0:
        check_gradient_sizes(node, grad, target)


def check_gradient_sizes(node: Node, grad: Sequence[int], target: Sequence[int]) -> None:
    """Raise ValueError for a gradient that is not of the size that pooling `target` gives."""
    axes = windows.spatial_axes(node.data_format)
    expected: list[Any] = list(target)
    for axis in axes:
        expected[axis] = windows.output_size(
            target[axis], node.ksize[axis], node.strides[axis], node.padding, running=True
        )
    if list(grad) != expected:
        raise ValueError(
            f"out_backprop of shape {dims.to_string(tuple(grad))} does not go with an image of "
            f"shape {dims.to_string(tuple(target))}, which makes {dims.to_string(tuple(expected))}"
        )


avg_pool_grad_op = op(
    f"""
    AvgPoolGrad(orig_input_shape: int32, grad: T) -> output: T
    {WINDOW}
    {_FORMAT}
    T: {{half, bfloat16, float, double}}
""",
    gpu_types="fractions",
    numbers=("orig_input_shape",),
    cost=Cost("passes"),
)


@avg_pool_grad_op.check
def avg_pool_grad_check(node: Node) -> None:
    check_average_gradient(node, 4, "strides", "out_backprop")


@avg_pool_grad_op.shape
def avg_pool_grad_shape(node: Node) -> OutputDims:
    dims.with_rank(node.dims(0), 1)
    sizes = node.shape_value(0)
    return (None,) * 4 if sizes is None else dims.with_rank(sizes, 4)


@avg_pool_grad_op.kernel
def avg_pool_grad_kernel(node: Node) -> Kernel:
    check_window(node, node.ksize, node.strides, False)
    sizes = node.shape_value(0)
    if dims.is_known(sizes):
        geometry = geometry_of(node, sizes, node.ksize, node.strides)
        return node.call(kernels.avg_pool_grad, node.inputs[1], sizes, geometry)

    def spread(sizes: Any, grad: Any) -> torch.Tensor:
        target = tuple(sizes.tolist())
        check_gradient_sizes(node, grad.shape, target)
        geometry = geometry_of(node, target, node.ksize, node.strides)
        return kernels.avg_pool_grad(grad, target, geometry)

    return spread


@avg_pool_grad_op.gradient
def avg_pool_grad_gradient(node: Node, grad: Tensor) -> Gradients:
    return [stop_gradient(node.inputs[0]), avg_pool_op(grad, **attributes(node))]


@avg_pool_grad_op.samples
def avg_pool_grad_samples() -> Samples:
    grad = np.arange(24, dtype=np.float32).reshape(2, 3, 2, 2)
    yield Sample(
        np.array([2, 5, 4, 2], np.int32),
        grad,
        ksize=[1, 3, 3, 1],
        strides=[1, 2, 2, 1],
        padding="SAME",
        fixed=(0,),
    )
