"""Grey and the colour spaces of television."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.image.checks import grayscale
from stillflow.image.types import convert_image_dtype
from stillflow.linalg.tensordot import tensordot
from stillflow.ops.arrays import fill
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.shape import expand_dims
from stillflow.ops.arrays.shape import rank as rank_of
from stillflow.ops.arrays.tile import tile

_LUMA = [0.2989, 0.5870, 0.1140]
_RGB_TO_YIQ = [
    [0.299, 0.59590059, 0.2115],
    [0.587, -0.27455667, -0.52273617],
    [0.114, -0.32134392, 0.31119955],
]
_YIQ_TO_RGB = [
    [1, 1, 1],
    [0.95598634, -0.27201283, -1.10674021],
    [0.6208248, -0.64720424, 1.70423049],
]
_RGB_TO_YUV = [
    [0.299, -0.14714119, 0.61497538],
    [0.587, -0.28886916, -0.51496512],
    [0.114, 0.43601035, -0.10001026],
]
_YUV_TO_RGB = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]


@export("image.rgb_to_grayscale")
def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """Colours as shades of grey, `[..., 1]`, of the same type.

    Args:
      images: `[..., 3]`.
      name: of the operation.
    """
    with name_scope(name, "rgb_to_grayscale", [images]) as name:
        images = convert_to_tensor(images, name="images")
        values = convert_image_dtype(images, dtypes.float32)
        grey = expand_dims(tensordot(values, _LUMA, [-1, -1]), -1)
        return convert_image_dtype(grey, images.dtype, name=name)


@export("image.grayscale_to_rgb")
def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Shades of grey, `[..., 1]`, as colours `[..., 3]`.

    Args:
      images: at least two-dimensional, with one channel.
      name: of the operation.
    """
    with name_scope(name, "grayscale_to_rgb", [images]) as name:
        images = convert_to_tensor(grayscale(images), name="images")
        before = expand_dims(rank_of(images) - 1, 0)
        ones = fill.ones(before, dtype=dtypes.int32)
        multiples = concat([ones, expand_dims(3, 0)], 0)
        rgb: Any = tile(images, multiples, name=name)
        rgb.set_shape(images.get_shape()[:-1].concatenate([3]))
        return rgb


def _transform(images: Any, matrix: Any) -> Tensor:
    images = convert_to_tensor(images, name="images")
    kernel = convert_to_tensor(matrix, dtype=images.dtype, name="kernel")
    rank = images.get_shape().ndims
    return tensordot(images, kernel, axes=[[rank - 1], [0]])


@export("image.rgb_to_yiq")
def rgb_to_yiq(images: Any) -> Tensor:
    """RGB colours `[..., 3]`, floating point, as luma and the chroma of NTSC."""
    return _transform(images, _RGB_TO_YIQ)


@export("image.yiq_to_rgb")
def yiq_to_rgb(images: Any) -> Tensor:
    """Luma and the chroma of NTSC, `[..., 3]`, floating point, as RGB colours."""
    return _transform(images, _YIQ_TO_RGB)


@export("image.rgb_to_yuv")
def rgb_to_yuv(images: Any) -> Tensor:
    """RGB colours `[..., 3]`, floating point, as luma and the chroma of PAL."""
    return _transform(images, _RGB_TO_YUV)


@export("image.yuv_to_rgb")
def yuv_to_rgb(images: Any) -> Tensor:
    """Luma and the chroma of PAL, `[..., 3]`, floating point, as RGB colours."""
    return _transform(images, _YUV_TO_RGB)
