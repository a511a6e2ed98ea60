"""Convolutions, pools and batch normalizations of images with channels last."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.dims import is_known
from stillflow.graph.lazy import F, torch
from stillflow.graph.node import Call, Node
from stillflow.ops.nn.windows import channel_axis, same_padding, spatial, spatial_axes
from stillflow.ops.torch_sources.parts import (
    Text,
    known_ints,
    same_or_tuple,
    source_of,
    tuple_text,
)


def to_first(x: Any, form: bytes) -> str:
    """Return an image with its channels first, as PyTorch has them."""
    return f"{x}.permute(0, 3, 1, 2)" if form == b"NHWC" else str(x)


def to_last(text: str, form: bytes) -> str:
    """Return the graph's image, of one with its channels first."""
    return f"{text}.permute(0, 2, 3, 1)" if form == b"NHWC" else text


def paddings(
    node: Node, window: Sequence[Any], strides: Sequence[int], rates: Sequence[int], index: int = 0
) -> list[tuple[int, int]] | None:
    """Return the padding of each spatial dimension; None if it is known at run time only."""
    form = node.op.attrs.get("data_format", b"NHWC")
    if node.padding == b"VALID":
        return [(0, 0)] * 2
    if node.padding == b"EXPLICIT":
        pairs = list(zip(node.explicit_paddings[::2], node.explicit_paddings[1::2], strict=True))
        return list(spatial(pairs, form))
    dims = node.dims(index)
    found = []
    for place, axis in enumerate(spatial_axes(form)):
        size = None if dims is None else dims[axis]
        if window[place] is None or (size is None and strides[place] != 1):
            return None
        # With steps of one the size does not matter.
        known = window[place] * rates[place] if size is None else size
        found.append(same_padding(known, window[place], strides[place], rates[place]))
    return found


def padded(text: str, pairs: Sequence[tuple[int, int]], value: str = "") -> tuple[str, str]:
    """Return an image and the padding that its layer is to do: unequal ones are done before."""
    if all(before == after for before, after in pairs):
        return text, same_or_tuple([before for before, _ in pairs])
    flat = [number for pair in reversed(pairs) for number in pair]
    return f"F.pad({text}, {tuple_text(flat)}{value})", "0"


@source_of("Conv2D")
def conv2d_source(node: Node, x: Any, weight: Any) -> str | None:
    return _convolution(node, x, f"{weight}.permute(3, 2, 0, 1)", weight, "conv2d")


def _convolution(
    node: Node, x: Any, turned: str, weight: Any, name: str, groups: Any = None
) -> Any:
    form, window = node.data_format, node.dims(1)
    strides, rates = spatial(node.strides, form), spatial(node.dilations, form)
    if window is None or None in window[:3]:
        return None
    image = node.dims(0)
    if groups is None:
        depth = None if image is None else image[channel_axis(form)]
        if depth is None:
            return None
        groups = depth // window[2] if window[2] else 1
    pairs = paddings(node, window, strides, rates)
    text = to_first(x, form)
    if pairs is None:
        size = tuple_text([*window[:2]])
        return node.call(
            _convolve_same, x, weight, tuple(window[:2]), tuple(strides), tuple(rates), groups,
            form == b"NHWC", groups != 1 and name != "conv2d",
        ) if size else None  # fmt: skip
    text, padding = padded(text, pairs)
    options = _options(strides, padding, rates, groups)
    return to_last(f"F.conv2d({text}, {turned}{options})", form)


def _options(strides: Sequence[int], padding: str, rates: Sequence[int], groups: int) -> str:
    options = ""
    if set(strides) != {1}:
        options += f", stride={same_or_tuple(strides)}"
    if padding != "0":
        options += f", padding={padding}"
    if set(rates) != {1}:
        options += f", dilation={same_or_tuple(rates)}"
    return options + (f", groups={groups}" if groups != 1 else "")


def _same_pads(sizes: Any, window: Any, strides: Any, rates: Any) -> list[int]:
    """TensorFlow's SAME padding, in the order of `F.pad`."""
    pads: list[int] = []
    for size, width, stride, rate in zip(sizes, window, strides, rates):
        reach = (width - 1) * rate + 1
        needed = max(((size + stride - 1) // stride - 1) * stride + reach - size, 0)
        pads = [needed // 2, needed - needed // 2, *pads]
    return pads


def _convolve_same(
    x: Any, weight: Any, window: Any, strides: Any, rates: Any, groups: int, last: bool, deep: bool
) -> Any:
    """Return a convolution whose padding follows from the size of the image."""
    if last:
        x = x.permute(0, 3, 1, 2)
    x = F.pad(x, _same_pads(x.shape[2:], window, strides, rates))
    if deep:
        weight = weight.reshape(*weight.shape[:2], 1, -1)
    x = F.conv2d(x, weight.permute(3, 2, 0, 1), None, strides, 0, rates, groups)
    return x.permute(0, 2, 3, 1) if last else x


@source_of("DepthwiseConv2dNative")
def depthwise_source(node: Node, x: Any, weight: Any) -> str | None:
    window = node.dims(1)
    if not is_known(window):
        return None
    height, width, depth, times = window
    turned = f"{weight}.reshape({height}, {width}, 1, {depth * times}).permute(3, 2, 0, 1)"
    return _convolution(node, x, turned, weight, "depthwise", depth)


@source_of("Conv2DBackpropInput")
def conv2d_backprop_input_source(node: Node, sizes: Any, weight: Any, grad: Any) -> str | None:
    """Return a transposed convolution."""
    form, wanted = node.data_format, node.out_dims()
    window = node.dims(1)
    strides, rates = spatial(node.strides, form), spatial(node.dilations, form)
    if wanted is None or not is_known(window) or set(rates) != {1}:
        return None
    image = spatial(wanted, form)
    given = node.dims(2)
    outputs = None if given is None else spatial(given, form)
    if not is_known(image) or not is_known(outputs) or wanted[channel_axis(form)] != window[2]:
        return None
    if node.padding == b"SAME":
        pairs = [same_padding(s, w, t) for s, w, t in zip(image, window, strides, strict=False)]
    elif node.padding == b"VALID":
        pairs = [(0, 0)] * 2
    else:
        return None
    text = f"F.conv_transpose2d({to_first(grad, form)}, {weight}.permute(3, 2, 0, 1)"
    if set(strides) != {1}:
        text += f", stride={same_or_tuple(strides)}"
    text += ")"
    first, last = [], []
    for size, count, width, stride, (before, _) in zip(
        image, outputs, window, strides, pairs, strict=False
    ):
        made = (count - 1) * stride + width
        first.append(before)
        last.append(before + size - made)
    if any(first) or any(last):
        # Negative numbers cut the SAME padding; positive ones fill where no window reached.
        text = f"F.pad({text}, {tuple_text([-first[1], last[1], -first[0], last[0]])})"
    return to_last(text, form)


def _window_of(
    node: Node, sizes: Sequence[Any]
) -> tuple[bytes, tuple[int, ...], tuple[int, ...]] | None:
    """Window and strides of a pool over the spatial dimensions; None for others."""
    form = node.op.attrs.get("data_format", b"NHWC")
    if form not in (b"NHWC", b"NCHW"):
        return None
    ksize = list(node.ksize) if not sizes else known_ints(sizes[0])
    strides = list(node.strides) if not sizes else known_ints(sizes[1])
    if ksize is None or strides is None or ksize[channel_axis(form)] != 1:
        return None
    return form, spatial(ksize, form), spatial(strides, form)


@source_of("MaxPool", "MaxPoolV2")
def max_pool_source(node: Node, x: Any, *sizes: Any) -> Call | str | None:
    found = _window_of(node, sizes)
    if found is None or not node.dtype(0).is_floating:
        return None
    form, window, strides = found
    pairs = paddings(node, window, strides, (1, 1))
    if pairs is None:
        return node.call(_max_pool_same, x, tuple(window), tuple(strides), form == b"NHWC")
    text, padding = padded(to_first(x, form), pairs, ', value=float("-inf")')
    if any(2 * after > width for (_, after), width in zip(pairs, window, strict=True)):
        return node.call(_max_pool_same, x, tuple(window), tuple(strides), form == b"NHWC")
    text += f", {same_or_tuple(window)}, {same_or_tuple(strides)}"
    text += f", {padding}" if padding != "0" else ""
    return to_last(f"F.max_pool2d({text})", form)


def _max_pool_same(x: Any, window: Any, strides: Any, last: bool) -> Any:
    """Return a pool whose padding follows from the size of the image."""
    if last:
        x = x.permute(0, 3, 1, 2)
    pads = _same_pads(x.shape[2:], window, strides, (1, 1))
    x = F.max_pool2d(F.pad(x, pads, value=float("-inf")), window, strides)
    return x.permute(0, 2, 3, 1) if last else x


@source_of("AvgPool")
def avg_pool_source(node: Node, x: Any) -> Call | str | None:
    found = _window_of(node, ())
    if found is None or not node.dtype(0).is_floating:
        return None
    form, window, strides = found
    pairs = paddings(node, window, strides, (1, 1))
    equal = pairs is not None and all(
        before == after and 2 * before <= width
        for (before, after), width in zip(pairs, window, strict=True)
    )
    if not equal or pairs is None:
        return node.call(_average_pool_same, x, tuple(window), tuple(strides), form == b"NHWC")
    text = f"{to_first(x, form)}, {same_or_tuple(window)}, {same_or_tuple(strides)}"
    if any(before for before, _ in pairs):
        text += f", {same_or_tuple([b for b, _ in pairs])}, count_include_pad=False"
    return to_last(f"F.avg_pool2d({text})", form)


def _average_pool_same(x: Any, window: Any, strides: Any, last: bool) -> Any:
    """Return an average over the part of each window that is inside of the image."""
    if last:
        x = x.permute(0, 3, 1, 2)
    pads = _same_pads(x.shape[2:], window, strides, (1, 1))
    inside = F.pad(torch.ones_like(x[:1, :1]), pads)
    counts = F.avg_pool2d(inside, window, strides)
    x = F.avg_pool2d(F.pad(x, pads), window, strides) / counts
    return x.permute(0, 2, 3, 1) if last else x


@source_of("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def fused_batch_norm_source(
    node: Node, x: Any, scale: Any, offset: Any, mean: Any, variance: Any
) -> Any:
    form, dtype = node.data_format, node.dtype(0)
    if dtype.name != "float32":
        return None
    text, axes = to_first(x, form), "(0, 1, 2)" if form == b"NHWC" else "(0, 2, 3)"
    epsilon = repr(node.epsilon)
    reserve = ["torch.zeros(())"] * (len(node.outputs) - 5)
    if not node.is_training:
        normal = f"F.batch_norm({text}, {mean}, {variance}, {scale}, {offset}, eps={epsilon})"
        return [to_last(normal, form), str(mean), str(variance), str(mean), str(variance), *reserve]
    normal = f"torch.batch_norm({text}, {scale}, {offset}, None, None, True, 0.0, {epsilon}, False)"
    average, spread = f"{x}.mean({axes})", node.call(_unbiased, x, Text(axes))
    biased = f"{x}.var({axes}, unbiased=False)"
    return [to_last(normal, form), average, spread, average, biased, *reserve]


def _unbiased(x: Any, axes: Any) -> Any:
    """Return the variance of a batch; of single values it is 0."""
    return x.var(axes, unbiased=x.numel() > x.shape[1 if axes[1] == 2 else -1])
