"""Batch normalization in one op: FusedBatchNorm in its three versions, and an older one."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.card import Card, op
from stillflow.graph.lazy import aten, torch
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops import native_calls
from stillflow.ops.arrays.transpose import transpose
from stillflow.ops.input_ranks import kernel_ranks
from stillflow.ops.math.kernels import ANY_NUMBER
from stillflow.ops.nn import native_kernels, windows
from stillflow.ops.nn.batch_norm_gradient import second_gradient
from stillflow.ops.samples import Bad, Sample, Samples

_ATTRS = """
    epsilon: float = 9.9999997e-05
    data_format: {"NHWC", "NCHW"} = "NHWC"
    is_training: bool = true
"""
_ONE_TYPE = "T: {float}"
_TWO_TYPES = "T: {half, bfloat16, float}\n    U: {float}"


def _vector_merged(node: Node, size: Any, indices: range) -> int | None:
    """Return the number of channels, given vectors with one number for each."""
    for index in indices:
        (count,) = dims.with_rank(node.dims(index), 1)
        size = dims.merge_dim(size, count)
    return size


def fused_batch_norm_shape(node: Node) -> list[tuple[int | None, ...] | None]:
    image = dims.with_rank(node.dims(0), 4)
    axis = windows.channel_axis(node.data_format)
    size = _vector_merged(node, image[axis], range(1, 3 if node.is_training else 5))
    result = [dims.replace_dim(image, axis, size), (size,), (size,), (size,), (size,)]
    return result if len(node.outputs) == 5 else [*result, () if node.planning else None]


_forward_ranks = kernel_ranks(
    (0, 4, "input must be 4-dimensional{}"),
    *[
        (index, 1, f"{name} must be 1-dimensional{{}}")
        for index, name in enumerate(("scale", "offset", "estimated_mean", "estimated_variance"), 1)
    ],
)
_backward_ranks = kernel_ranks(
    (0, 4, "input must be 4-dimensional{}"),
    (1, 4, "input must be 4-dimensional{}"),
    (2, 1, "scale must be 1-dimensional{}"),
    (3, 1, "saved mean must be 1-dimensional{}"),
    (4, 1, "saved variance must be 1-dimensional{}"),
)


def fused_batch_norm_check(node: Node) -> None:
    _forward_ranks(node)
    if not (node.planning and node.is_training):
        return
    for index, name in ((3, "estimated_mean"), (4, "estimated_variance")):
        found = node.dims(index)
        if dims.is_known(found) and found != (0,):
            raise ValueError(f"{name} must be empty for training{dims.to_string(found)}")


# ---- kernels; `first` says that channels come first


def _image(image: Any, first: bool) -> torch.Tensor:
    return image if first else image.permute(0, 3, 1, 2)


def _back(image: Any, first: bool) -> torch.Tensor:
    return (image if first else image.permute(0, 2, 3, 1)).contiguous()


def train(
    x: Any, scale: Any, offset: Any, epsilon: float, first: bool, reserve: bool,
    other: Any = None, relu: bool = False,
) -> tuple[Any, ...]:  # fmt: skip
    """Normalize with the batch's own mean and variance; return the unbiased variance too.

    `reserve` adds a sixth result, which means nothing on a CPU; `other` is added to the first,
    before the ReLU if there is one.
    """
    if not x.numel():
        return _train_empty(x, scale, reserve)
    images = (x,) if other is None else (x, other)
    if not first and native_calls.take_channels(images, (scale, offset)):
        y, mean, variance, biased = native_kernels.batch_norm(
            x, scale, offset, epsilon, other, relu
        )
        result = y, mean, variance, mean.clone(), biased
    else:
        y, *statistics = _train_by_torch(x, scale, offset, epsilon, first)
        y = y if other is None else y + other
        result = (torch.relu_(y) if relu else y, *statistics)
    return (*result, scale.new_zeros(())) if reserve else result


def _train_by_torch(
    x: Any, scale: Any, offset: Any, epsilon: float, first: bool
) -> tuple[Any, ...]:
    """Torch reports mean and unbiased variance through running statistics, here of momentum 1."""
    count = x.numel() // max(scale.numel(), 1)
    mean, variance = torch.zeros_like(scale), torch.zeros_like(scale)
    y, saved_mean, _ = aten.native_batch_norm.default(
        _image(x, first), scale, offset, mean, variance, True, 1.0, epsilon
    )
    if count == 1:
        variance.zero_()  # TF divides by 1 where there is nothing to correct
    biased = variance * ((count - 1) / count) if count > 1 else variance.clone()
    return _back(y, first), mean, variance, saved_mean, biased


def _train_empty(x: Any, scale: Any, reserve: bool) -> tuple[Any, ...]:
    result = torch.empty_like(x), *[torch.full_like(scale, float("nan")) for _ in range(4)]
    return (*result, scale.new_zeros(())) if reserve else result


def infer(
    x: Any, scale: Any, offset: Any, mean: Any, variance: Any, epsilon: float, first: bool,
    reserve: bool,
) -> tuple[Any, ...]:  # fmt: skip
    """Normalize with given statistics, and return them too."""
    y, _, _ = aten.native_batch_norm.default(
        _image(x, first), scale, offset, mean, variance, False, 0.0, epsilon
    )
    result = _back(y, first), *[each.clone() for each in (mean, variance) * 2]
    return (*result, scale.new_zeros(())) if reserve else result


def fused_batch_norm_kernel(node: Node) -> Call:
    x, scale, offset, mean, variance = node.inputs
    first, reserve = node.data_format == b"NCHW", len(node.outputs) == 6
    if not node.is_training:
        return node.call(infer, x, scale, offset, mean, variance, node.epsilon, first, reserve)
    if dims.num_elements(node.dims(0)) == 0:
        return node.call(_train_empty, x, scale, reserve)
    return node.call(train, x, scale, offset, node.epsilon, first, reserve)


def backward(
    grad: Any, x: Any, scale: Any, mean: Any, variance: Any, epsilon: float, first: bool,
    training: bool, relu: Any = None, into: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Return the gradients; with `relu`, its output, also through a ReLU that followed.

    `into` is memory for the first, which may be that of `grad`; it is not always taken.
    """
    rest = scale.new_zeros(()), scale.new_zeros(())
    images = (x, grad) if relu is None else (x, grad, relu)
    plain = training and not first and bool(x.numel())
    if plain and native_calls.take_channels(images, (scale, mean, variance)):
        into = torch.empty_like(x) if into is None else into
        found = native_kernels.batch_norm_gradient(
            grad, relu, x, scale, mean, variance, epsilon, into
        )
        return (*found, *rest)
    if relu is not None:
        grad = native_kernels.relu_gradient(grad, relu)
    grad, x = _image(grad, first), _image(x, first)
    # Torch's kernel reads these without strides; a constant may be one number, expanded.
    scale, mean, variance = scale.contiguous(), mean.contiguous(), variance.contiguous()
    # On a GPU the last two are taken in either case, on a processor those of training alone.
    given = (None, None) if training else (mean, variance)
    statistics = (*given, mean, torch.rsqrt(variance + epsilon))
    if x.numel():
        dx, dscale, doffset = aten.native_batch_norm_backward.default(
            grad, x, scale, *statistics, training, epsilon, [True, True, True]
        )
    else:
        dx, dscale, doffset = torch.empty_like(x), torch.zeros_like(scale), torch.zeros_like(scale)
    return (_back(dx, first), dscale, doffset, *rest)


def backward_(
    grad: Any, x: Any, scale: Any, mean: Any, variance: Any, epsilon: float, first: bool,
    training: bool, relu: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """`backward`, the first result in the memory of `grad` where that saves any."""
    return backward(grad, x, scale, mean, variance, epsilon, first, training, relu, grad)


def fused_batch_norm_grad_kernel(node: Node) -> Call:
    first = node.data_format == b"NCHW"
    return node.call(backward, *node.inputs[:5], node.epsilon, first, node.is_training)


def fused_batch_norm_grad_shape(node: Node) -> list[tuple[int | None, ...]]:
    grad, image = dims.with_rank(node.dims(0), 4), dims.with_rank(node.dims(1), 4)
    axis = windows.channel_axis(node.data_format)
    size = _vector_merged(node, dims.merge_dim(grad[axis], image[axis]), range(2, 5))
    rest: Any = (0,) if node.is_training else (size,)
    if node.planning:
        rest = ()  # omitted outputs of kernels are scalars
    return [dims.replace_dim(grad, axis, size), (size,), (size,), rest, rest]


def fused_batch_norm_grad_check(node: Node) -> None:
    _backward_ranks(node)
    if node.planning and not dims.is_compatible(node.dims(0), node.dims(1)):
        raise ValueError(
            f"x and y_backprop must have same shape, but x has shape "
            f"{dims.to_string(node.dims(1))} and y_backprop has shape "
            f"{dims.to_string(node.dims(0))}"
        )


# ---- gradients


def fused_batch_norm_gradient(backward: Card, node: Node, *grads: Any) -> list[Tensor | None]:
    """Differentiate through the saved statistics in training; they are constants in inference."""
    x, scale, _, mean, variance = node.inputs
    grad, attrs = grads[0], {"epsilon": node.epsilon, "is_training": node.is_training}
    reserve = node.outputs[5:]
    if node.is_training:
        saved = node.outputs[3:5]
        return list(
            backward(grad, x, scale, *saved, *reserve, data_format=node.data_format, **attrs)
        )
    first = node.data_format == b"NCHW"
    if first:
        x, grad = transpose(x, [0, 2, 3, 1]), transpose(grad, [0, 2, 3, 1])
    dx, dscale, doffset, _, _ = backward(
        grad, x, scale, mean, variance, *reserve, data_format=b"NHWC", **attrs
    )
    if first:
        dx = transpose(dx, [0, 3, 1, 2])
    return [dx, dscale, doffset, None, None]


def _numbers(*shape: int) -> np.ndarray:
    return np.sin(np.arange(np.prod(shape)) * 1.7).reshape(shape).astype(np.float32)


def fused_batch_norm_samples() -> Samples:
    x, scale, offset = (
        _numbers(2, 3, 2, 3),
        np.array([1, 2, 0.5], np.float32),
        np.array([0, 1, -1], np.float32),
    )
    none, given = np.zeros(0, np.float32), np.array([0.5, 0.7, 0.9], np.float32)
    yield Sample(x, scale, offset, none, none, epsilon=0.01, grad=False)
    yield Sample(x, scale, offset, given, given, is_training=False, grad=False)
    yield Sample(x[:1, :1, :1], scale, offset, none, none, grad=False)
    yield Sample(x[:0], scale, offset, none, none, grad=False)
    yield Sample(x.transpose(0, 3, 1, 2), scale, offset, none, none, data_format="NCHW", grad=False)
    yield Bad(x, scale[:2], offset, none, none, match="must be equal")
    yield Bad(x[0], scale, offset, none, none, match="must be rank 4")


def fused_batch_norm_grad_samples(with_reserve: bool) -> Samples:
    grad, x = _numbers(2, 3, 2, 3), _numbers(2, 3, 2, 3) * 2 + 1
    scale, mean, variance = (
        np.array([1, 2, 0.5], np.float32),
        np.array([0.9, 1, 1.1], np.float32),
        np.array([2] * 3, np.float32),
    )
    reserve = [np.float32(0)] * with_reserve
    for training in (True, False):
        yield Sample(grad, x, scale, mean, variance, *reserve, is_training=training, grad=False)


def _version(suffix: str, types: str, reserve: int) -> tuple[Card, Card]:
    """Return the cards of one version: types of statistics differ, the last has one more output."""
    kind, scale = ("U", "float") if suffix else ("T", "T")
    more = f", reserve_space_3: {kind}" * reserve
    forward = op(
        f"""
        FusedBatchNorm{suffix}(x: T, scale: {kind}, offset: {kind}, mean: {kind}, variance: {kind})
            -> (y: T, batch_mean: {kind}, batch_variance: {kind}, reserve_space_1: {kind},
                reserve_space_2: {kind}{more})
        {types}
        {_ATTRS}
    """,
        cost=Cost("passes"),
    )
    backward = op(
        f"""
        FusedBatchNormGrad{suffix}(y_backprop: T, x: T, scale: {scale}, reserve_space_1: {kind},
            reserve_space_2: {kind}{more})
            -> (x_backprop: T, scale_backprop: {kind}, offset_backprop: {kind},
                reserve_space_{3 + reserve}: {kind}, reserve_space_{4 + reserve}: {kind})
        {types}
        {_ATTRS}
    """,
        cost=Cost("passes"),
    )
    forward.check(fused_batch_norm_check)
    forward.shape(fused_batch_norm_shape)
    forward.kernel(fused_batch_norm_kernel)
    forward.gradient(partial(fused_batch_norm_gradient, backward))
    forward.samples(fused_batch_norm_samples)
    backward.check(fused_batch_norm_grad_check)
    backward.shape(fused_batch_norm_grad_shape)
    backward.kernel(fused_batch_norm_grad_kernel)
    backward.gradient(second_gradient)
    backward.samples(partial(fused_batch_norm_grad_samples, bool(reserve)))
    return forward, backward


fused_batch_norm_op, fused_batch_norm_grad_op = _version("", _ONE_TYPE, 0)
fused_batch_norm_v2_op, fused_batch_norm_grad_v2_op = _version("V2", _TWO_TYPES, 0)
fused_batch_norm_v3_op, fused_batch_norm_grad_v3_op = _version("V3", _TWO_TYPES, 1)


# ---- the op of 2015, which old graphs still hold

_OLD_ATTRS = f"""
    T: {ANY_NUMBER}
    variance_epsilon: float
    scale_after_normalization: bool
"""

batch_norm_with_global_normalization_op = op(f"""
    BatchNormWithGlobalNormalization(t: T, m: T, v: T, beta: T, gamma: T) -> result: T
    {_OLD_ATTRS}
""")


@batch_norm_with_global_normalization_op.shape
def batch_norm_with_global_normalization_shape(node: Node) -> OutputDims:
    image = dims.with_rank(node.dims(0), 4)
    return dims.replace_dim(image, 3, _vector_merged(node, image[3], range(1, 5)))


def _global_normalization(
    t: Any, m: Any, v: Any, beta: Any, gamma: Any, epsilon: float, scaled: bool
) -> torch.Tensor:
    factor = torch.rsqrt(v + epsilon)
    return (t - m) * (factor * gamma if scaled else factor) + beta


@batch_norm_with_global_normalization_op.kernel
def batch_norm_with_global_normalization_kernel(node: Node) -> Kernel:
    return node.call(
        _global_normalization, *node.inputs, node.variance_epsilon, node.scale_after_normalization
    )


@batch_norm_with_global_normalization_op.gradient
def batch_norm_with_global_normalization_gradient(node: Node, grad: Tensor) -> Gradients:
    t, m, v, _, gamma = node.inputs
    return list(
        batch_norm_with_global_normalization_grad_op(
            t, m, v, gamma, grad,
            variance_epsilon=node.variance_epsilon,
            scale_after_normalization=node.scale_after_normalization,
        )
    )  # fmt: skip


@batch_norm_with_global_normalization_op.samples
def batch_norm_with_global_normalization_samples() -> Samples:
    t, vector = _numbers(2, 3, 2, 3), np.array([0.5, 1, 2], np.float32)
    for scaled in (True, False):
        yield Sample(
            t, vector, vector, vector, vector, variance_epsilon=0.01,
            scale_after_normalization=scaled,
        )  # fmt: skip


batch_norm_with_global_normalization_grad_op = op(f"""
    BatchNormWithGlobalNormalizationGrad(t: T, m: T, v: T, gamma: T, backprop: T)
        -> (dx: T, dm: T, dv: T, db: T, dg: T)
    {_OLD_ATTRS}
""")


@batch_norm_with_global_normalization_grad_op.shape
def batch_norm_with_global_normalization_grad_shape(node: Node) -> OutputDims:
    image = dims.merge(dims.with_rank(node.dims(0), 4), node.dims(4))
    assert image is not None
    size = _vector_merged(node, image[3], range(1, 4))
    return [dims.replace_dim(image, 3, size), *[(size,)] * 4]


def _global_normalization_backward(
    t: Any, m: Any, v: Any, gamma: Any, grad: Any, epsilon: float, scaled: bool
) -> tuple[Any, ...]:
    factor = torch.rsqrt(v + epsilon)
    weight = factor * gamma if scaled else factor
    db = grad.sum((0, 1, 2))
    product = (grad * (t - m)).sum((0, 1, 2))
    slope = factor * -0.5 / (v + epsilon)
    dv = product * (slope * gamma if scaled else slope)
    dg = product * factor if scaled else torch.zeros_like(gamma)
    return grad * weight, -db * weight, dv, db, dg


@batch_norm_with_global_normalization_grad_op.kernel
def batch_norm_with_global_normalization_grad_kernel(node: Node) -> Kernel:
    return node.call(
        _global_normalization_backward, *node.inputs, node.variance_epsilon,
        node.scale_after_normalization,
    )  # fmt: skip


@batch_norm_with_global_normalization_grad_op.samples
def batch_norm_with_global_normalization_grad_samples() -> Samples:
    t, vector = _numbers(2, 3, 2, 3), np.array([0.5, 1, 2], np.float32)
    for scaled in (True, False):
        yield Sample(
            t, vector, vector, vector, t, variance_epsilon=0.01, scale_after_normalization=scaled,
            grad=False,
        )  # fmt: skip
