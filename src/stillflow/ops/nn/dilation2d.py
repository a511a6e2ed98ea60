"""Grey-scale morphology: Dilation2D, and erosion by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from stillflow.errors import UnimplementedError
from stillflow.graph import dims
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import F, torch
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.ops.arrays.reverse import reverse
from stillflow.ops.input_ranks import in_turn, kernel_ranks, kernel_windows
from stillflow.ops.math.kernels import REAL_NUMBER
from stillflow.ops.math.unary import negative
from stillflow.ops.nn import native_kernels, windows
from stillflow.ops.nn.precision import in_type
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.util.renamed import renamed_argument

_ATTRS = f"""
    T: {REAL_NUMBER}
    strides: list(int) >= 4
    rates: list(int) >= 4
    padding: {{"SAME", "VALID"}}
"""


# ---- kernels


class _Window(NamedTuple):
    strides: tuple[int, int]
    rates: tuple[int, int]
    padding: bytes

    def counts(self, image: Sequence[int], filter: Sequence[int]) -> list[int]:
        """Return the output's height and width."""
        return [
            int(windows.output_size(size, count, step, self.padding, rate) or 0)
            for size, count, step, rate in zip(image[1:3], filter[:2], self.strides, self.rates)
        ]


def _lowest(dtype: Any) -> float | int:
    return (torch.finfo if dtype.is_floating_point else torch.iinfo)(dtype).min


def _best(image: Any, filter: Any, window: _Window, notes: bool = True) -> tuple[Any, Any]:
    """Return the maxima of image plus filter, and, on request, the filter element of each.

    Of equal sums the first one counts.
    """
    rows, columns = window.counts(image.shape, filter.shape)
    before = [pair[0] for pair in _pads(image, filter, window)]
    along = zip(
        image.shape[1:3], (rows, columns), filter.shape[:2], *window[:2], before, strict=True
    )
    if (found := native_kernels.dilation(image, filter, list(along), notes)) is not None:
        return found
    padded, inside = _padded(image, filter, window)
    shape = (image.shape[0], rows, columns, image.shape[3])
    best = image.new_full(shape, _lowest(image.dtype))
    which = torch.zeros(shape, dtype=torch.int64, device=image.device)
    for i in range(filter.shape[0]):
        for j in range(filter.shape[1]):
            top, left = i * window.rates[0], j * window.rates[1]
            part = (
                slice(top, top + (rows - 1) * window.strides[0] + 1, window.strides[0]),
                slice(left, left + (columns - 1) * window.strides[1] + 1, window.strides[1]),
            )
            value = padded[:, part[0], part[1]] + filter[i, j]
            better = (value > best) & inside[part][..., None]
            best = torch.where(better, value, best)
            which = torch.where(better, i * filter.shape[1] + j, which)
    return best, which


def _pads(image: Any, filter: Any, window: _Window) -> Any:
    """Return the padding before and after the rows, and the columns."""
    return windows.pads(
        image.shape[1:3], filter.shape[:2], window.strides, window.padding, window.rates
    )


def _padded(image: Any, filter: Any, window: _Window) -> tuple[Any, Any]:
    """Return the image with its padding, and a mask of the unpadded part."""
    (top, bottom), (left, right) = _pads(image, filter, window)
    mask = torch.ones(image.shape[1:3], dtype=torch.bool, device=image.device)
    return (
        F.pad(image, (0, 0, left, right, top, bottom)),
        F.pad(mask, (left, right, top, bottom)),
    )


def _dilate(image: Any, filter: Any, window: _Window) -> torch.Tensor:
    return _best(image, filter, window, notes=False)[0]


def _check_grad(image: Any, filter: Any, grad: Any, window: _Window) -> None:
    rows, columns = window.counts(image.shape, filter.shape)
    if tuple(grad.shape) != (image.shape[0], rows, columns, image.shape[3]):
        raise ValueError("out_backprop has incompatible size.")


def _input_gradient(image: Any, filter: Any, grad: Any, window: _Window) -> torch.Tensor:
    """Send every output's gradient to the element of the image that gave the maximum."""
    _check_grad(image, filter, grad, window)
    _, which = _best(image, filter, window)
    _, height, width, depth = image.shape
    (top, _), (left, _) = _pads(image, filter, window)
    place = [torch.arange(count, device=image.device) for count in grad.shape]
    row = place[1][:, None, None] * window.strides[0] - top
    column = place[2][:, None] * window.strides[1] - left
    edge = max(filter.shape[1], 1)
    row = (row + which // edge * window.rates[0]).clamp(min=0)  # TF's choice without a filter
    column = (column + which % edge * window.rates[1]).clamp(min=0)
    index = ((place[0][:, None, None, None] * height + row) * width + column) * depth + place[3]
    result = grad.new_zeros(image.numel())
    return result.index_add_(0, index.reshape(-1), grad.reshape(-1)).view(image.shape)


def _filter_gradient(image: Any, filter: Any, grad: Any, window: _Window) -> torch.Tensor:
    """Send every output's gradient to the element of the filter that gave the maximum."""
    _check_grad(image, filter, grad, window)
    if not filter.numel():
        return torch.zeros_like(filter)
    _, which = _best(image, filter, window)
    depth = filter.shape[2]
    index = which * depth + torch.arange(depth, device=image.device)
    result = grad.new_zeros(filter.numel())
    return result.index_add_(0, index.reshape(-1), grad.reshape(-1)).view(filter.shape)


def _kernel(node: Node, function: Any) -> Call:
    for name, values in (("Stride", node.strides), ("Rate", node.rates)):
        if values[0] != 1 or values[3] != 1:
            raise UnimplementedError(
                node.op.node_def, node.op, f"{name} is only supported across spatial dimensions."
            )
    wider = {"uint16": "int32", "uint32": "int64", "uint64": "int64"}.get(node.T.name)
    if wider is not None:
        function = in_type(function, getattr(torch, wider), len(node.inputs))
    window = _Window(tuple(node.strides[1:3]), tuple(node.rates[1:3]), node.padding)
    output = node.out_dims(0)
    if dims.is_known(output) and dims.num_elements(output) == 0:
        return node.call(torch.Tensor.new_zeros, node.inputs[0], output)
    return node.call(function, *node.inputs, window)


# ---- the cards


def _depths(node: Node) -> None:
    image, filter = node.dims(0), node.dims(1)
    if not (node.planning and dims.is_known(image) and dims.is_known(filter)):
        return
    if image[3] != filter[2]:
        raise ValueError(f"input and filter must have the same depth: {image[3]} vs {filter[2]}")


_operands = in_turn(
    kernel_windows(4, strides="Sliding window stride", rates="Input stride (atrous rate)"),
    kernel_ranks(
        (0, 4, "input must be 4-dimensional{}"), (1, 3, "filter must be 3-dimensional: {}")
    ),
    _depths,
)

dilation2d_op = op(f"Dilation2D(input: T, filter: T) -> output: T\n{_ATTRS}", gpu_types="fractions")
dilation2d_op.check(_operands)


@dilation2d_op.shape
def dilation2d_shape(node: Node) -> OutputDims:
    image, filter = dims.with_rank(node.dims(0), 4), dims.with_rank(node.dims(1), 3)
    windows.require_length("Dilation2D", "stride", node.strides, 4)
    windows.require_length("Dilation2D", "rates", node.rates, 4)
    spatial, window = image[1:3], filter[:2]
    if not (dims.is_known(spatial) and dims.is_known(window)):
        return (image[0], None, None, filter[2])
    depth = dims.merge_dim(image[3], filter[2])
    sizes = []
    for axis, size, count in zip((1, 2), spatial, window, strict=True):
        rate, step = node.rates[axis], node.strides[axis]
        effective = count + (count - 1) * (rate - 1)
        if step <= 0:
            raise ValueError(f"Stride must be > 0, but got {step}")
        room = size if node.padding == b"SAME" else size - effective + 1
        found = (room + step - 1) // step
        if found < 0:
            raise ValueError(
                f"Computed output size would be negative: {found} [input_size: {size}, "
                f"effective_filter_size: {effective}, stride: {step}]"
            )
        sizes.append(found)
    return (image[0], *sizes, depth)


@dilation2d_op.kernel
def dilation2d_kernel(node: Node) -> Kernel:
    return _kernel(node, _dilate)


@dilation2d_op.gradient
def dilation2d_gradient(node: Node, grad: Tensor) -> Gradients:
    attrs = {name: node.op.attrs[name] for name in ("strides", "rates", "padding")}
    return [
        dilation2d_backprop_input_op(*node.inputs, grad, **attrs),
        dilation2d_backprop_filter_op(*node.inputs, grad, **attrs),
    ]


def _numbers(*shape: int) -> np.ndarray:
    count = int(np.prod(shape))
    return np.random.RandomState(3).permutation(count).reshape(shape).astype(np.float32)


@dilation2d_op.samples
def dilation2d_samples() -> Samples:
    image, filter = _numbers(2, 5, 4, 3), _numbers(2, 3, 3) * 0.37
    one = [1, 1, 1, 1]
    yield Sample(image, filter, strides=one, rates=one, padding="SAME")
    yield Sample(image, filter, strides=[1, 2, 1, 1], rates=one, padding="VALID")
    yield Sample(image, filter, strides=one, rates=[1, 2, 2, 1], padding="SAME")
    yield Bad(image, filter[..., :2], strides=one, rates=one, padding="SAME", match="must be equal")
    yield Bad(image, image, strides=one, rates=one, padding="SAME", match="must be rank 3")


dilation2d_backprop_input_op = op(
    f"""
    Dilation2DBackpropInput(input: T, filter: T, out_backprop: T) -> in_backprop: T
    {_ATTRS}
""",
    gpu_types="fractions",
)
dilation2d_backprop_input_op.check(_operands)


@dilation2d_backprop_input_op.shape
def dilation2d_backprop_input_shape(node: Node) -> OutputDims:
    return node.dims(0)


@dilation2d_backprop_input_op.kernel
def dilation2d_backprop_input_kernel(node: Node) -> Kernel:
    return _kernel(node, _input_gradient)


dilation2d_backprop_filter_op = op(
    f"""
    Dilation2DBackpropFilter(input: T, filter: T, out_backprop: T) -> filter_backprop: T
    {_ATTRS}
""",
    gpu_types="fractions",
)
dilation2d_backprop_filter_op.check(_operands)


@dilation2d_backprop_filter_op.shape
def dilation2d_backprop_filter_shape(node: Node) -> OutputDims:
    return node.dims(1)


@dilation2d_backprop_filter_op.kernel
def dilation2d_backprop_filter_kernel(node: Node) -> Kernel:
    return _kernel(node, _filter_gradient)


@dilation2d_backprop_input_op.samples
@dilation2d_backprop_filter_op.samples
def dilation2d_backprop_samples() -> Samples:
    image, filter = _numbers(2, 5, 4, 3) // 4, _numbers(2, 3, 3) * 0.37
    one = [1, 1, 1, 1]
    for padding, rows, columns in (("SAME", 5, 4), ("VALID", 4, 2)):
        yield Sample(
            image, filter, _numbers(2, rows, columns, 3), strides=one, rates=one, padding=padding,
            grad=False,
        )  # fmt: skip


# ---- public functions


@export("nn.dilation2d")
def dilation2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Return the largest sum of image and filter in every window.

    Args:
      input: [batch, height, width, depth].
      filter: [height, width, depth].
      strides, rates: one number per dimension.
      padding: "SAME" or "VALID".
      filters, dilations: the newer names of `filter` and `rates`.
    """
    filter = renamed_argument("filters", filters, "filter", filter)
    rates = renamed_argument("dilations", dilations, "rates", rates)
    return dilation2d_op(input, filter, strides=strides, rates=rates, padding=padding, name=name)


@export("nn.erosion2d")
def erosion2d(
    value: Any,
    kernel: Any,
    strides: Sequence[int],
    rates: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Return the smallest difference of image and filter in every window: dilation turned round.

    Arguments are those of `dilation2d`.
    """
    with name_scope(name, "erosion2d", [value, kernel]) as scope:
        turned = negative(value)
        return negative(
            dilation2d_op(
                turned, reverse(kernel, [0, 1]), strides=strides, rates=rates, padding=padding,
                name=scope,
            )
        )  # fmt: skip
