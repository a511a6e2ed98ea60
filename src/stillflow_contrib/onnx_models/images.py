"""Forms of operations on images."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.ops.image import taps
from stillflow_contrib.onnx_models.nodes import Nodes, form


@form("CropAndResize")
def crop_and_resize(o: Nodes) -> str:
    """Take each pixel of a crop from its neighbours, by their places in the image."""
    image, boxes, index, size = o.to(o.x, "float32"), o.y, o.z, o.i64(o.w)
    axes = [_places(o, image, boxes, size, axis) for axis in (0, 1)]
    (rows, last_row), (columns, last_column) = axes
    within = [
        o.And(o.GreaterOrEqual(place, np.float32(0)), o.LessOrEqual(place, last))
        for place, last in axes
    ]
    inside = o.And(o.Unsqueeze(within[0], [2]), o.Unsqueeze(within[1], [1]))
    shape = o.Shape(inside)
    box = o.Expand(o.Unsqueeze(o.i64(index), [1, 2]), shape)

    def pixels(row: str, column: str) -> str:
        row, column = (
            o.inside(row, np.float32(0), last_row),
            o.inside(column, np.float32(0), last_column),
        )
        parts = [
            box, o.Expand(o.Unsqueeze(o.i64(row), [2]), shape),
            o.Expand(o.Unsqueeze(o.i64(column), [1]), shape),
        ]  # fmt: skip
        where = o.Concat(*[o.Unsqueeze(part, [3]) for part in parts], axis=3)
        return str(o.GatherND(image, where))

    if o.a.method == b"nearest":
        half = np.float32(0.5)
        made = pixels(o.Floor(o.Add(rows, half)), o.Floor(o.Add(columns, half)))
    else:
        made = _blended(o, pixels, rows, columns)
    return str(o.Where(o.Unsqueeze(inside, [3]), made, np.float32(o.a.extrapolation_value)))


def _places(o: Nodes, image: str, boxes: str, size: str, axis: int) -> tuple[str, str]:
    """Return the rows or columns of a crop's pixels in the image [boxes, pixels], and the last."""
    last = o.to(o.Sub(o.count(image, axis + 1), np.int64(1)), "float32")
    low, high = (o.Gather(boxes, np.int64(place), axis=1) for place in (axis, axis + 2))
    count = o.Gather(size, np.int64(axis), axis=0)
    gaps = o.to(o.Sub(count, np.int64(1)), "float32")
    scale = o.Div(o.Mul(o.Sub(high, low), last), o.Max(gaps, np.float32(1)))
    middle = o.Mul(o.Mul(o.Add(low, high), np.float32(0.5)), last)
    start = o.Where(o.Greater(gaps, np.float32(0)), o.Mul(low, last), middle)
    steps = o.to(o.numbers(count), "float32")
    return o.Add(
        o.Unsqueeze(start, [1]), o.Mul(o.Unsqueeze(scale, [1]), o.Unsqueeze(steps, [0]))
    ), last


def _blended(o: Nodes, pixels: Callable[[str, str], str], rows: str, columns: str) -> str:
    top, left = o.Floor(rows), o.Floor(columns)
    bottom, right = o.Ceil(rows), o.Ceil(columns)
    down = o.Unsqueeze(o.Sub(rows, top), [2, 3])
    along = o.Unsqueeze(o.Sub(columns, left), [1, 3])

    def between(first: str, second: str, share: str) -> str:
        return str(o.Add(first, o.Mul(o.Sub(second, first), share)))

    upper = between(pixels(top, left), pixels(top, right), along)
    lower = between(pixels(bottom, left), pixels(bottom, right), along)
    return between(upper, lower, down)


@form("ResizeBicubic", "ResizeArea")
def resized(o: Nodes) -> str:
    """Multiply by the weights of rows and columns; sizes have to be known."""
    dims = o.sizes(o.op._inputs[0], 1, 3)
    made, scale = o.to(o.x, "float32"), np.float32(1)
    align = bool(o.a.align_corners)
    for axis, wanted in ((1, o.ints(1)[0]), (2, o.ints(1)[1])):
        size = dims[axis - 1]
        if o.op.type == "ResizeArea":
            found = taps.area(size, wanted, align)
            scale = scale / taps.scale_of(size, wanted, align)
        else:
            found = taps.cubic(size, wanted, align, bool(o.a.half_pixel_centers))
        weights = np.zeros((wanted, size), np.float32)
        for places, shares in zip(found.places, found.shares, strict=True):
            np.add.at(weights, (np.arange(wanted), places), shares)
        made = o.Einsum(weights, made, equation="ph,bhwc->bpwc" if axis == 1 else "pw,bhwc->bhpc")
    return str(o.Mul(made, scale)) if scale != 1 else str(made)


@form("AdjustHue")
def adjust_hue(o: Nodes) -> str:
    """Turn colours around the axis of grey, between the least and the largest channel."""
    image, delta = o.x, o.y
    red, green, blue = (o.Slice(image, [place], [place + 1], [-1]) for place in range(3))
    value, least = o.Max(o.Max(red, green), blue), o.Min(o.Min(red, green), blue)
    span = o.Sub(value, least)
    safe = o.Where(o.Equal(span, 0), 1, span)
    turns = [
        o.Div(o.Sub(green, blue), safe), o.Add(o.Div(o.Sub(blue, red), safe), 2),
        o.Add(o.Div(o.Sub(red, green), safe), 4),
    ]  # fmt: skip
    hue = o.Where(o.Equal(red, value), turns[0], o.Where(o.Equal(green, value), turns[1], turns[2]))
    hue = o.Where(o.Equal(span, 0), 0, hue)
    hue = o.Add(hue, o.Mul(delta, 6))
    hue = o.Sub(hue, o.Mul(o.Floor(o.Div(hue, 6)), 6))
    parts = []
    for shift in (0, 4, 2):
        far = o.Add(hue, shift)
        far = o.Sub(far, o.Mul(o.Floor(o.Div(far, 6)), 6))
        share = o.inside(o.Sub(o.Abs(o.Sub(far, 3)), 1), 0, 1)
        parts.append(o.Add(least, o.Mul(span, share)))
    return str(o.Concat(*parts, axis=-1))


@form("MaxPoolWithArgmax")
def max_pool_with_argmax(o: Nodes) -> list[Any]:
    """Count places with channels last, as TensorFlow does."""
    image = o.Transpose(o.x, perm=[0, 3, 1, 2])
    made, places = o.MaxPool(
        image, outputs=2, kernel_shape=list(o.a.ksize)[1:3], strides=list(o.a.strides)[1:3],
        auto_pad="VALID" if o.a.padding == b"VALID" else "SAME_UPPER",
    )  # fmt: skip
    batch, depth = o.size(o.x, 0), o.size(o.x, 3)
    area = o.Mul(o.size(o.x, 1), o.size(o.x, 2))
    channels = o.Reshape(o.numbers(depth), [1, -1, 1, 1])
    found = o.Add(o.Mul(o.Mod(places, area), depth), channels)
    if o.a.include_batch_in_index:
        images = o.Reshape(o.numbers(batch), [-1, 1, 1, 1])
        found = o.Add(found, o.Mul(images, o.Mul(area, depth)))
    back = [0, 2, 3, 1]
    return [o.Transpose(made, perm=back), o.to(o.Transpose(found, perm=back), o.dtype(1))]


@form("Conv3DBackpropInputV2")
def transposed_convolution(o: Nodes) -> str:
    """Convolve backwards; sizes have to be known."""
    o.only(o.a.data_format == b"NDHWC", "channels second")
    made, gradient = o.sizes(o.op._outputs[0], 1), o.sizes(o.op._inputs[2], 1)
    filter = o.sizes(o.op._inputs[1])
    strides, dilations = list(o.a.strides)[1:4], list(o.a.dilations)[1:4]
    before, after, more = [], [], []
    for place in range(3):
        length, steps, stride = made[place], gradient[place], strides[place]
        reach = (filter[place] - 1) * dilations[place] + 1 + (steps - 1) * stride
        total = max(reach - length, 0) if o.a.padding == b"SAME" else 0
        before.append(total // 2)
        after.append(total - total // 2)
        more.append(length - (reach - total))
    found = o.ConvTranspose(
        o.Transpose(o.z, perm=[0, 4, 1, 2, 3]), o.Transpose(o.y, perm=[4, 3, 0, 1, 2]),
        strides=strides, dilations=dilations, pads=[*before, *after], output_padding=more,
    )  # fmt: skip
    return str(o.Transpose(found, perm=[0, 2, 3, 4, 1]))
