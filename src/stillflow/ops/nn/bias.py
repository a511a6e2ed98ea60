"""Adding one number per channel: BiasAdd."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from stillflow.graph import dims
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.input_ranks import in_turn, kernel_ranks
from stillflow.ops.kernels import torch_type
from stillflow.ops.samples import Bad, Sample, Samples

_TYPES = (
    "{float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16,"
    " uint16, complex128, half, uint32, uint64}"
)


def _is_channels_first(node: Node) -> bool:
    return bool(node.op.attrs.get("data_format") == b"NCHW")


def _channel(node: Node, rank: int) -> int:
    return 1 if _is_channels_first(node) else rank - 1


def bias_shape(node: Node) -> tuple[int | None, ...] | None:
    value = dims.with_rank_at_least(node.dims(0), 3 if _is_channels_first(node) else 2)
    (size,) = dims.with_rank(node.dims(1), 1)
    if value is None:
        return None
    axis = _channel(node, len(value))
    return dims.replace_dim(value, axis, dims.merge_dim(value[axis], size))


def _as_torch_counts(node: Node, function: Any) -> Callable[..., Any]:
    """Compute `function`, made of sums only, for types that torch cannot add, in signed types."""
    signed = {"uint16": "int16", "uint32": "int32", "uint64": "int64"}.get(node.T.name)
    if signed is None:
        return function
    inner, outer = getattr(torch, signed), torch_type(node.T)
    return lambda *tensors: function(*[tensor.view(inner) for tensor in tensors]).view(outer)


def _add_to_channels(value: Any, bias: Any) -> torch.Tensor:
    return value + bias.view(-1, *(1,) * (value.ndim - 2))


def bias_kernel(node: Node) -> Call:
    function = _add_to_channels if _is_channels_first(node) else torch.add
    return node.call(_as_torch_counts(node, function), *node.inputs)


# Kernels ask for two dimensions of values, and one of biases.
_value_rank = kernel_ranks((0, 2, "Input tensor must be at least 2D: {}"), least=True)
_bias_ranks = in_turn(_value_rank, kernel_ranks((1, 1, "Biases must be 1D: {}")))

bias_add_op = op(
    f"""
    BiasAdd(value: T, bias: T) -> output: T
    T: {_TYPES}
    data_format: {{"NHWC", "NCHW"}} = "NHWC"
""",
    batching="vmap",
)
bias_add_op.shape(bias_shape)
bias_add_op.check(_bias_ranks)
bias_add_op.kernel(bias_kernel)


@bias_add_op.gradient
def bias_add_gradient(node: Node, grad: Tensor) -> Gradients:
    return [grad, bias_add_grad_op(grad, data_format=node.data_format)]


@bias_add_op.samples
def bias_add_samples() -> Samples:
    value = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    yield Sample(value, np.array([1, 2, 3, 4], np.float32))
    yield Sample(value, np.array([1, 2, 3], np.float32), data_format="NCHW")
    yield Sample(value[0], np.array([1, 2, 3, 4], np.float32))
    yield Bad(value, np.array([1, 2], np.float32), match="must be equal")
    yield Bad(value, value, match="must be rank 1")


def _bias_v1_check(node: Node) -> None:
    _bias_ranks(node)
    value, bias = node.dims(0), node.dims(1)
    if node.planning and dims.is_known(value) and dims.is_known(bias) and value[-1:] != bias:
        raise ValueError(
            "Must provide as many biases as the last dimension of the input tensor: "
            f"{dims.to_string(bias)} vs. {dims.to_string(value)}"
        )


bias_add_v1_op = op(f"""
    BiasAddV1(value: T, bias: T) -> output: T
    T: {_TYPES}
""")
bias_add_v1_op.shape(bias_shape)
bias_add_v1_op.check(_bias_v1_check)
bias_add_v1_op.kernel(bias_kernel)


@bias_add_v1_op.gradient
def bias_add_v1_gradient(node: Node, grad: Tensor) -> Gradients:
    from stillflow.ops.arrays.sequences import range as range_
    from stillflow.ops.arrays.shape import rank
    from stillflow.ops.math.reductions import reduce_sum

    return [grad, reduce_sum(grad, range_(rank(grad) - 1))]


@bias_add_v1_op.samples
def bias_add_v1_samples() -> Samples:
    yield Sample(np.ones((2, 3), np.float32), np.array([1, 2, 3], np.float32))


bias_add_grad_op = op(
    f"""
    BiasAddGrad(out_backprop: T) -> output: T
    T: {_TYPES}
    data_format: {{"NHWC", "NCHW"}} = "NHWC"
""",
    batching="vmap",
)
bias_add_grad_op.check(_value_rank)


@bias_add_grad_op.shape
def bias_add_grad_shape(node: Node) -> OutputDims:
    value = dims.with_rank_at_least(node.dims(0), 3 if _is_channels_first(node) else 2)
    return (None,) if value is None else (value[_channel(node, len(value))],)


def _sum_to_channels(grad: Any) -> torch.Tensor:
    axes = [axis for axis in range(grad.ndim) if axis != 1]
    return grad.sum(axes, dtype=grad.dtype)


def sum_to_last(grad: Any) -> torch.Tensor:
    """Return BiasAddGrad with channels last."""
    return grad.flatten(0, -2).sum(0, dtype=grad.dtype)


@bias_add_grad_op.kernel
def bias_add_grad_kernel(node: Node) -> Kernel:
    function = _sum_to_channels if _is_channels_first(node) else sum_to_last
    return node.call(_as_torch_counts(node, function), node.inputs[0])


@bias_add_grad_op.gradient
def bias_add_grad_gradient(node: Node, grad: Tensor) -> Gradients:
    from stillflow.ops.arrays.concat import concat
    from stillflow.ops.arrays.fill import ones_like
    from stillflow.ops.arrays.shape import reshape, shape
    from stillflow.ops.arrays.tile import tile

    full, own = shape(node.inputs[0]), shape(grad)
    others = (slice(1), slice(2, None)) if _is_channels_first(node) else (slice(-1),)

    def around(channels: Any, of: Callable[[Any], Any]) -> Tensor:
        sizes = [of(full[axes]) for axes in others]
        return concat([sizes[0], channels, *sizes[1:]], 0)

    expanded, multiples = around(own, ones_like), around([1], lambda sizes: sizes)
    return tile(reshape(grad, expanded), multiples)


@bias_add_grad_op.samples
def bias_add_grad_samples() -> Samples:
    value = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    yield Sample(value)
    yield Sample(value, data_format="NCHW")


def bias_format(data_format: str | None) -> str | None:
    """Any spelling of a data format as BiasAdd knows it."""
    if data_format is None:
        return None
    if data_format.startswith("NC"):
        return "NCHW"
    if data_format.startswith("N") and data_format.endswith("C"):
        return "NHWC"
    raise ValueError("data_format must be of the form `N...C` or `NC...`")


@export("nn.bias_add")
def bias_add(
    value: Any, bias: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """Add `bias` to every position of `value`.

    Args:
      value: of rank 2 or more.
      bias: a vector with one number per channel, of the type of `value`.
      data_format: "N...C" (the default) or "NC...", where the channels are.

    Raises:
      ValueError: if the format is none of these or the sizes differ.

    Example:
      >>> print(tf.Session().run(tf.nn.bias_add([[1, 2], [3, 4]], [10, 20])))
      [[11 22]
       [13 24]]
    """
    with name_scope(name, "BiasAdd", [value, bias]) as scope:
        data_format = bias_format(data_format)
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, dtype=value.dtype, name="bias")
        return bias_add_op(value, bias, data_format=data_format, name=scope)


def bias_add_v1(value: Any, bias: Any, name: str | None = None) -> Tensor:
    """`bias_add` by the older op."""
    with name_scope(name, "BiasAddV1", [value, bias]) as scope:
        value = convert_to_tensor(value, name="input")
        bias = convert_to_tensor(bias, dtype=value.dtype, name="bias")
        return bias_add_v1_op(value, bias, name=scope)


@dataclass(frozen=True)
class DenseGelu:
    """A dense layer and the GELU of what it gives; `approximate` is PyTorch's."""

    approximate: str

    def __call__(self, x: Any, kernel: Any, bias: Any) -> torch.Tensor:
        return self.of(torch.mm(x, kernel).add_(bias))

    def of(self, x: Any) -> torch.Tensor:
        """Return the GELU, in the memory of `x`."""
        return torch.ops.aten.gelu_.default(x, approximate=self.approximate)
