"""Rules of convolutions, pools and normalizations: ONNX has their channels second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.export.onnx_models.regions.builder import NCHW, NHWC, Builder, rule
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.engines.region import Guarded, Unfit

_INT64 = 7


def _second(op: Operation) -> bool:
    """Return True if the graph itself has the channels second."""
    return bool(op.attrs.get("data_format", b"NHWC") == b"NCHW")


def _taken(b: Builder, op: Operation, image: Tensor) -> str:
    """Return the name of an image with its channels second."""
    return b(image) if _second(op) else b.channels_second(image)


def _put(b: Builder, op: Operation, made: str) -> None:
    """Record the name of a result with its channels second."""
    b.put(op._outputs[0], made, NHWC if _second(op) else NCHW)


def _lengths(b: Builder, op: Operation, image: Tensor) -> list[int]:
    """Return the height and the width of an image."""
    dims = b.dims(image)
    found = None if dims is None else dims[2:4] if _second(op) else dims[1:3]
    if found is None or None in found:
        raise Unfit("the size of the image is unknown")
    return list(found)  # type: ignore[arg-type]


def _window(
    b: Builder, op: Operation, image: Tensor, sizes: Sequence[int], strides: Sequence[int],
    dilations: Sequence[int] = (1, 1),
) -> dict[str, Any]:  # fmt: skip
    """Return the attributes of a window that slides over the height and width of an image."""
    attrs: dict[str, Any] = {"kernel_shape": list(sizes), "strides": list(strides)}
    if tuple(dilations) != (1, 1):
        attrs["dilations"] = list(dilations)
    padding = op.attrs["padding"]
    if padding == b"EXPLICIT":
        pads = op.attrs["explicit_paddings"][4 if _second(op) else 2 :]
        attrs["pads"] = [pads[0], pads[2], pads[1], pads[3]]
    elif padding == b"SAME" and not b.strict and None in (b.dims(image) or (None,))[1:]:
        attrs["auto_pad"] = "SAME_UPPER"
    elif padding == b"SAME":
        before, after = [], []
        for length, size, stride, dilation in zip(
            _lengths(b, op, image), sizes, strides, dilations, strict=True
        ):
            reach = (size - 1) * dilation + 1
            total = max((-(-length // stride) - 1) * stride + reach - length, 0)
            before.append(total // 2)
            after.append(total - total // 2)
        attrs["pads"] = [*before, *after]
    return attrs


def _spatial(op: Operation, name: str) -> list[int]:
    values = [int(number) for number in op.attrs.get(name) or (1, 1, 1, 1)]
    channels = values.pop(1 if _second(op) else 3)
    if values[0] != 1 or channels != 1:
        raise Unfit(f"{name} of the batch or the channels")
    return values[1:]


def _filter(b: Builder, tensor: Tensor, depthwise: bool) -> tuple[str, tuple[int, ...]]:
    """Return the name of a filter in ONNX's order, and its shape in TensorFlow's."""
    dims = b.dims(tensor)
    if dims is None or len(dims) != 4 or None in dims:
        raise Unfit("the shape of the filter is unknown")
    value = b.value(tensor)
    if value is None and depthwise:
        raise Unfit("the filter is known only when it runs")
    if value is None:
        return b.transposed(b(tensor), (3, 2, 0, 1)), dims  # type: ignore[return-value]
    if depthwise:
        made = value.transpose(2, 3, 0, 1).reshape(-1, 1, *value.shape[:2])
    else:
        made = value.transpose(3, 2, 0, 1)
    return b.constant(made), dims  # type: ignore[return-value]


@rule("Conv2D", "DepthwiseConv2dNative")
def convolution(b: Builder, op: Operation) -> None:
    image, filter = op._inputs
    depthwise = op.type != "Conv2D"
    weights, shape = _filter(b, filter, depthwise)
    attrs = _window(b, op, image, shape[:2], _spatial(op, "strides"), _spatial(op, "dilations"))
    channels = _channels(b, op, image)
    attrs["group"] = channels if depthwise else channels // shape[2]
    _put(b, op, b.add("Conv", [_taken(b, op, image), weights], **attrs))


def _channels(b: Builder, op: Operation, image: Tensor) -> int:
    return b.size(image, 1 if _second(op) else 3, "the number of channels")


@rule("Conv2DBackpropInput")
def transposed_convolution(b: Builder, op: Operation) -> None:
    """Convolve backwards. A guard compares the batch with that of the wanted sizes."""
    sizes, filter, gradient = op._inputs
    weights, shape = _filter(b, filter, depthwise=False)
    strides, dilations = _spatial(op, "strides"), _spatial(op, "dilations")
    made = op._outputs[0]
    attrs = _window(b, op, made, shape[:2], strides, dilations)
    if _channels(b, op, made) != shape[2]:
        raise Unfit("it has groups")
    pads = attrs.get("pads", [0, 0, 0, 0])
    more = [
        length - (stride * (steps - 1) + (size - 1) * dilation + 1 - before - after)
        for length, steps, size, stride, dilation, before, after in zip(
            _lengths(b, op, made), _lengths(b, op, gradient), shape[:2], strides, dilations,
            pads[:2], pads[2:], strict=True,
        )
    ]  # fmt: skip
    if any(not 0 <= number < stride for number, stride in zip(more, strides, strict=True)):
        raise Unfit("its sizes do not fit")
    both = b.add("Shape", [b(gradient)]), b.add("Cast", [b(sizes)], to=_INT64)
    first = b.constant(0, np.int64)
    apart = b.add("Sub", [b.add("Gather", [each, first]) for each in both])
    b.guards.append(Guarded(apart, 0, 0))
    taken = [_taken(b, op, gradient), weights]
    _put(b, op, b.add("ConvTranspose", taken, output_padding=more, **attrs))


@rule("MaxPool", "AvgPool")
def pool(b: Builder, op: Operation) -> None:
    image = op._inputs[0]
    if image.dtype.name != "float32":
        raise Unfit(f"of type {image.dtype.name}")
    attrs = _window(b, op, image, _spatial(op, "ksize"), _spatial(op, "strides"))
    kind = "MaxPool" if op.type == "MaxPool" else "AveragePool"
    _put(b, op, b.add(kind, [_taken(b, op, image)], **attrs))


@rule("ResizeBilinear")
def resize(b: Builder, op: Operation) -> None:
    image, size = op._inputs
    if image.dtype.name != "float32":
        raise Unfit(f"of type {image.dtype.name}")
    name = b.channels_second(image)
    wanted = b.constant(b.ints(size), np.int64)
    sizes = b.add("Concat", [b.add("Shape", [name], start=0, end=2), wanted], axis=0)
    mode = "half_pixel" if op.attrs.get("half_pixel_centers") else "asymmetric"
    mode = "align_corners" if op.attrs["align_corners"] else mode
    taken = [name, "", "", sizes]
    made = b.add("Resize", taken, mode="linear", coordinate_transformation_mode=mode)
    b.put(op._outputs[0], made, NCHW)


@rule("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def normalization(b: Builder, op: Operation) -> None:
    if op.attrs["is_training"]:
        raise Unfit("it trains")
    image, *rest = op._inputs
    names = [_taken(b, op, image), *map(b, rest)]
    _put(b, op, b.add("BatchNormalization", names, epsilon=float(op.attrs["epsilon"])))


@rule("LRN")
def response_normalization(b: Builder, op: Operation) -> None:
    attrs = op.attrs
    size = 2 * int(attrs["depth_radius"]) + 1
    made = b.add(
        "LRN", [b.channels_second(op._inputs[0])], size=size, bias=float(attrs["bias"]),
        alpha=float(attrs["alpha"]) * size, beta=float(attrs["beta"]),
    )  # fmt: skip
    b.put(op._outputs[0], made, NCHW)


@rule("Pad", "PadV2")
def pad(b: Builder, op: Operation) -> str | None:
    image = op._inputs[0]
    pads = b.known(op._inputs[1])
    kind = image.dtype.as_numpy_dtype
    value = b.known(op._inputs[2]) if op.type == "PadV2" else np.zeros((), kind)
    if image.dtype.name == "bool" or (pads < 0).any():
        raise Unfit(f"of type {image.dtype.name}")
    second = b.rank(image) == 4 and b.is_second(image)
    if second:
        pads = pads[[0, 3, 1, 2]]
    taken = b.channels_second(image) if second else b(image)
    places = b.constant(pads.T.reshape(-1), np.int64)
    made = b.add("Pad", [taken, places, b.constant(value, kind)])
    if not second:
        return str(made)
    b.put(op._outputs[0], made, NCHW)
    return None
