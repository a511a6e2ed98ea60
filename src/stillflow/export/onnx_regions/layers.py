"""Rules of convolutions, pools and normalizations: ONNX has their channels second."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.export.onnx_regions.builder import NCHW, Builder, rule
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.engines.region import Unfit

_HEIGHT_AND_WIDTH = (1, 2)


def _last(op: Operation) -> None:
    if op.attrs.get("data_format", b"NHWC") != b"NHWC":
        raise Unfit("channels come second")


def _window(
    b: Builder, op: Operation, sizes: Sequence[int], strides: Sequence[int],
    dilations: Sequence[int] = (1, 1),
) -> dict[str, Any]:  # fmt: skip
    """Return the attributes of a window that slides over the height and width."""
    attrs: dict[str, Any] = {"kernel_shape": list(sizes), "strides": list(strides)}
    if tuple(dilations) != (1, 1):
        attrs["dilations"] = list(dilations)
    padding = op.attrs["padding"]
    if padding == b"EXPLICIT":
        pads = op.attrs["explicit_paddings"]
        attrs["pads"] = [pads[2], pads[4], pads[3], pads[5]]
    elif padding == b"SAME":
        dims = b.dims(op._inputs[0])
        assert dims is not None
        before, after = [], []
        for axis, size, stride, dilation in zip(
            _HEIGHT_AND_WIDTH, sizes, strides, dilations, strict=True
        ):
            length = dims[axis]
            if length is None:
                raise Unfit("the size of the image is unknown")
            reach = (size - 1) * dilation + 1
            total = max((-(-length // stride) - 1) * stride + reach - length, 0)
            before.append(total // 2)
            after.append(total - total // 2)
        attrs["pads"] = [*before, *after]
    return attrs


def _spatial(op: Operation, name: str) -> list[int]:
    values = [int(number) for number in op.attrs.get(name) or (1, 1, 1, 1)]
    if values[0] != 1 or values[3] != 1:
        raise Unfit(f"{name} of the batch or the channels")
    return values[1:3]


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
    _last(op)
    image, filter = op._inputs
    depthwise = op.type != "Conv2D"
    weights, shape = _filter(b, filter, depthwise)
    attrs = _window(b, op, shape[:2], _spatial(op, "strides"), _spatial(op, "dilations"))
    dims = b.dims(image)
    channels = None if dims is None else dims[3]
    if channels is None:
        raise Unfit("the number of channels is unknown")
    attrs["group"] = channels if depthwise else channels // shape[2]
    b.put(op._outputs[0], b.add("Conv", [b.channels_second(image), weights], **attrs), NCHW)


@rule("MaxPool", "AvgPool")
def pool(b: Builder, op: Operation) -> None:
    _last(op)
    if op._inputs[0].dtype.name != "float32":
        raise Unfit(f"of type {op._inputs[0].dtype.name}")
    attrs = _window(b, op, _spatial(op, "ksize"), _spatial(op, "strides"))
    kind = "MaxPool" if op.type == "MaxPool" else "AveragePool"
    b.put(op._outputs[0], b.add(kind, [b.channels_second(op._inputs[0])], **attrs), NCHW)


@rule("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def normalization(b: Builder, op: Operation) -> None:
    _last(op)
    if op.attrs["is_training"]:
        raise Unfit("it trains")
    image, *rest = op._inputs
    names = [b.channels_second(image), *map(b, rest)]
    epsilon = float(op.attrs["epsilon"])
    b.put(op._outputs[0], b.add("BatchNormalization", names, epsilon=epsilon), NCHW)


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
