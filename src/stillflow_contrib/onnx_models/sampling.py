"""Form of a box at random, which covers enough of an image's objects."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stillflow_contrib.onnx_models.nodes import Nodes, form


class Boxes(NamedTuple):
    """Boxes of whole pixels, the ends left out: floats of any shape."""

    top: Any
    left: Any
    bottom: Any
    right: Any


@form("SampleDistortedBoundingBox", "SampleDistortedBoundingBoxV2")
def sampled_box(o: Nodes) -> tuple[str, ...]:
    """Make all attempts at once, and take the first good one, or the image; ONNX draws them."""
    height, width = (o.Gather(o.to(o.x, "float32"), np.int64(axis)) for axis in (0, 1))
    least = np.float32(o.a.min_object_covered) if len(o.op._inputs) == 2 else o.to(o.z, "float32")
    crops, fits = _crops(o, height, width)
    good = o.And(fits, _covers(o, crops, _objects(o, height, width), least))
    number = o.to(good, "int64")
    first, is_any = o.ArgMax(number, axis=0, keepdims=0), o.ReduceMax(number, [0], keepdims=0)
    image = Boxes(np.float32(0), np.float32(0), height, width)
    top, left, bottom, right = (
        o.Where(o.Equal(is_any, np.int64(1)), o.Gather(each, first), whole)
        for each, whole in zip(crops, image, strict=True)
    )

    def vector(*numbers: Any) -> str:
        return str(o.Concat(*[o.Reshape(each, [1]) for each in numbers], axis=0))

    begin = vector(top, left, np.float32(0))
    size = vector(o.Sub(bottom, top), o.Sub(right, left), np.float32(-1))
    box = o.Div(vector(top, left, bottom, right), vector(height, width, height, width))
    return o.to(begin, o.out), o.to(size, o.out), str(o.Reshape(box, [1, 1, 4]))


def _crops(o: Nodes, height: str, width: str) -> tuple[Boxes, str]:
    """Return crops [attempts], and whether each is in the image and has a size that is allowed."""
    count = int(o.a.max_attempts)
    low, high = map(np.float32, o.a.aspect_ratio_range)
    drawn = o.RandomUniformLike(np.zeros((4, count), np.float32))
    share, of_rows, of_top, of_left = (o.Gather(drawn, np.int64(k)) for k in range(4))
    aspect = o.Add(o.Mul(share, high - low), low)
    pixels = o.Mul(height, width)
    least, most = (o.Mul(pixels, np.float32(limit)) for limit in o.a.area_range)
    fewest, rows = (o.Round(o.Sqrt(o.Div(area, aspect))) for area in (least, most))
    widest = o.Floor(o.Div(o.Add(width, np.float32(0.5)), aspect))
    rows = o.Where(o.Greater(o.Round(o.Mul(rows, aspect)), width), widest, rows)
    rows = o.Min(rows, height)
    fewest = o.Min(fewest, rows)
    choices = o.Add(o.Sub(rows, fewest), np.float32(1))
    rows = o.Add(fewest, o.Floor(o.Mul(of_rows, choices)))
    # Rounding beyond a limit means one row more or less.
    area = o.Mul(rows, o.Round(o.Mul(rows, aspect)))
    rows = o.Add(rows, o.to(o.Less(area, least), "float32"))
    area = o.Mul(rows, o.Round(o.Mul(rows, aspect)))
    rows = o.Sub(rows, o.to(o.Greater(area, most), "float32"))
    columns = o.Round(o.Mul(rows, aspect))
    area = o.Mul(rows, columns)
    fits = o.And(o.GreaterOrEqual(area, least), o.LessOrEqual(area, most))
    for size, whole in ((rows, height), (columns, width)):
        fits = o.And(fits, o.And(o.LessOrEqual(size, whole), o.Greater(size, np.float32(0))))
    top = o.Floor(o.Mul(of_top, o.Sub(height, rows)))
    left = o.Floor(o.Mul(of_left, o.Sub(width, columns)))
    return Boxes(top, left, o.Add(top, rows), o.Add(left, columns)), fits


def _objects(o: Nodes, height: str, width: str) -> Boxes:
    """Return the boxes of objects [1, objects], or the image if there are none and it may be one.

    The image stands last, without pixels where it is no object.
    """
    flat = o.Reshape(o.y, [-1, 4])
    is_object = np.float32(bool(o.a.use_image_if_no_bounding_boxes))
    if is_object:
        is_object = o.to(o.Equal(o.count(flat, 0), np.int64(0)), "float32")
    image = (np.float32(0), np.float32(0), o.Mul(height, is_object), o.Mul(width, is_object))
    ends = [
        o.Concat(
            o.Floor(o.Mul(o.Slice(flat, [k], [k + 1], [1]), height if k % 2 == 0 else width)),
            o.Reshape(whole, [1, 1]), axis=0,
        )
        for k, whole in enumerate(image)
    ]  # fmt: skip
    return Boxes(*[o.Reshape(each, [1, -1]) for each in ends])


def _covers(o: Nodes, crops: Boxes, objects: Boxes, least: Any) -> str:
    """Return whether crops of at least one pixel cover enough of an object: bool [attempts]."""
    crops = Boxes(*[o.Unsqueeze(each, [1]) for each in crops])
    shared = Boxes(
        o.Max(crops.top, objects.top), o.Max(crops.left, objects.left),
        o.Min(crops.bottom, objects.bottom), o.Min(crops.right, objects.right),
    )  # fmt: skip
    zero, one = np.float32(0), np.float32(1)

    def area(of: Boxes) -> str:
        rows, columns = o.Sub(of.bottom, of.top), o.Sub(of.right, of.left)
        return str(o.Mul(o.Max(rows, zero), o.Max(columns, zero)))

    whole = area(objects)
    enough = o.GreaterOrEqual(o.Div(area(shared), o.Max(whole, one)), least)
    is_good = o.And(enough, o.And(o.GreaterOrEqual(whole, one), o.GreaterOrEqual(area(crops), one)))
    return str(o.Equal(o.ReduceMax(o.to(is_good, "int64"), [1], keepdims=0), np.int64(1)))
