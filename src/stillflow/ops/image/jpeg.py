"""JPEG: decoding, encoding, and the size alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.files import jpeg
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.dims import shape_text
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.image import formats
from stillflow.ops.kernels import torch_type
from stillflow.ops.samples import Bad, Sample, Samples

_HOW = """channels: int = 0
    ratio: int = 1
    fancy_upscaling: bool = true
    try_recover_truncated: bool = false
    acceptable_fraction: float = 1
    dct_method: string = "" """

decode_jpeg_op = op(f"""
    DecodeJpeg(contents: string) -> image: uint8
    {_HOW}
""")
decode_and_crop_jpeg_op = op(f"""
    DecodeAndCropJpeg(contents: string, crop_window: int32) -> image: uint8
    {_HOW}
""")
extract_jpeg_shape_op = op("""
    ExtractJpegShape(contents: string) -> image_shape: output_type
    output_type: {int32, int64} = int32
""")
encode_jpeg_op = op("""
    EncodeJpeg(image: uint8) -> contents: string
    format: {"", "grayscale", "rgb"} = ""
    quality: int = 95
    progressive: bool = false
    optimize_size: bool = false
    chroma_downsampling: bool = true
    density_unit: {"in", "cm"} = "in"
    x_density: int = 300
    y_density: int = 300
    xmp_metadata: string = ""
""")
encode_jpeg_variable_quality_op = op("""
    EncodeJpegVariableQuality(images: uint8, quality: int32) -> contents: string
""")

decode_jpeg_op.shape(formats.decoded_shape)
for _card in (decode_jpeg_op, decode_and_crop_jpeg_op, extract_jpeg_shape_op):
    _card.check(formats.contents_rank)
for _card in (encode_jpeg_op, encode_jpeg_variable_quality_op):
    _card.check(formats.image_rank)
encode_jpeg_op.shape(formats.encoded_shape)
encode_jpeg_variable_quality_op.shape(formats.encoded_shape)


@decode_and_crop_jpeg_op.shape
def decode_and_crop_jpeg_shape(node: Node) -> OutputDims:
    _, _, channels = formats.decoded_shape(node)
    (count,) = dims_lib.with_rank(node.dims(1), 1)
    dims_lib.with_value(count, 4)
    window = node.value(1)
    if window is None:
        return (None, None, channels)
    # A size of -1 counts as unknown here; the kernel raises an error for it.
    height, width = (None if size == -1 else dims_lib.make_dim(int(size), 1) for size in window[2:])
    return (height, width, channels)


@extract_jpeg_shape_op.shape
def extract_jpeg_shape_shape(node: Node) -> OutputDims:
    dims_lib.with_rank(node.dims(0), 0)
    return (3,)


# ---- Kernels


def _how(node: Node) -> dict[str, Any]:
    formats.check_channels(node.channels)
    if node.ratio not in (1, 2, 4, 8):
        raise ValueError(f"ratio must be 1, 2, 4, or 8, got {node.ratio}")
    if node.dct_method not in (b"", b"INTEGER_FAST", b"INTEGER_ACCURATE"):
        raise ValueError("dct_method must be one of {'', 'INTEGER_FAST', 'INTEGER_ACCURATE'}")
    return {
        "ratio": node.ratio,
        "fancy_upscaling": node.fancy_upscaling,
        "recover_truncated": node.try_recover_truncated,
        "fast": node.dct_method != b"INTEGER_ACCURATE",
    }


@decode_jpeg_op.kernel
def decode_jpeg_kernel(node: Node) -> Kernel:
    how, channels, device = _how(node), node.channels, node.device

    def run(contents: Any) -> torch.Tensor:
        data = formats.content(contents)
        kind = formats.kind_of(data)
        if kind == "PNG":
            image = formats.decode_png(data, channels)
        elif kind == "GIF":
            image = formats.one_frame(formats.decode_gif(data, channels))
        else:
            image = formats.decode_jpeg(data, channels, **how)
        return formats.tensor(image, device)

    return run


@decode_and_crop_jpeg_op.kernel
def decode_and_crop_jpeg_kernel(node: Node) -> Kernel:
    how, channels, device = _how(node), node.channels, node.device

    def run(contents: Any, window: Any) -> torch.Tensor:
        data = formats.content(contents)
        if formats.kind_of(data) != "JPEG":
            raise ValueError("Expected image (JPEG), got another format")
        image = formats.decode_jpeg(data, channels, tuple(window.tolist()), **how)
        return formats.tensor(image, device)

    return run


@extract_jpeg_shape_op.kernel
def extract_jpeg_shape_kernel(node: Node) -> Kernel:
    dtype, device = torch_type(node.output_type), node.device

    def run(contents: Any) -> torch.Tensor:
        data = formats.content(contents)
        try:
            found = jpeg.header(data)
        except jpeg.JpegError:
            raise ValueError(f"Invalid JPEG data, size {len(data)}") from None
        sizes = [found.height, found.width, found.components]
        return torch.tensor(sizes, dtype=dtype, device=device)

    return run


def _encode(image: np.ndarray, **options: Any) -> Array:
    if image.shape[2] not in (1, 3):
        raise ValueError(f"image must have 1 or 3 channels, got {shape_text(image.shape)}")
    # JPEG holds sizes in 16 bits, of which libjpeg uses a little less.
    if image.size == 0 or max(image.shape[:2]) > 65500:
        raise formats.internal_error("JPEG encoding failed")
    result = np.empty((), object)
    result[()] = jpeg.encode(np.ascontiguousarray(image), **options)
    return result


@encode_jpeg_op.kernel
def encode_jpeg_kernel(node: Node) -> Kernel:
    if not 0 <= node.quality <= 100:
        raise ValueError(f"quality must be in [0,100], got {node.quality}")
    name = node.format.decode()
    expected = {"grayscale": 1, "rgb": 3}.get(name)
    options = {
        "quality": node.quality, "progressive": node.progressive, "optimize": node.optimize_size,
        "downsample": node.chroma_downsampling, "xmp": node.xmp_metadata,
        "density_unit": 1 if node.density_unit == b"in" else 2,
        "density": (node.x_density, node.y_density),
    }  # fmt: skip

    def run(image: Any) -> Array:
        if expected is not None and image.shape[2] != expected:
            raise ValueError(
                f"format {name} expects {expected} channels, got {shape_text(image.shape)}"
            )
        return _encode(image.cpu().numpy(), **options)

    return run


@encode_jpeg_variable_quality_op.kernel
def encode_jpeg_variable_quality_kernel(node: Node) -> Kernel:
    def run(image: Any, quality: Any) -> Array:
        if quality.dim() != 0:
            raise ValueError(f"quality must be scalar: {shape_text(quality.shape)}")
        return _encode(image.cpu().numpy(), quality=min(max(int(quality), 1), 100))

    return run


# ---- Samples and public functions


def _picture(channels: int) -> np.ndarray:
    y, x = np.mgrid[0:19, 0:13]
    planes = [120 + 90 * np.sin(x / (3 + plane) + y / 4) for plane in range(channels)]
    return np.stack(planes, -1).astype(np.uint8)


@encode_jpeg_op.samples
def encode_jpeg_samples() -> Samples:
    yield Sample(_picture(3))
    yield Sample(_picture(1), quality=30, format="grayscale", progressive=True, density_unit="cm")
    yield Sample(_picture(3), chroma_downsampling=False, optimize_size=True, xmp_metadata="data")
    yield Bad(_picture(3)[0], match="must be rank 3")
    yield Bad(_picture(2), match="1 or 3 channels, got \\[19,13,2\\]")
    yield Bad(_picture(3), format="grayscale", match="format grayscale expects 1 channels")
    yield Bad(_picture(3), quality=101, match="quality must be in \\[0,100\\], got 101")


@encode_jpeg_variable_quality_op.samples
def encode_jpeg_variable_quality_samples() -> Samples:
    yield Sample(_picture(3), np.int32(40))
    yield Bad(_picture(3), np.array([1, 2], np.int32), match="quality must be scalar")


def _file(channels: int, **options: Any) -> np.ndarray:
    return np.array(jpeg.encode(_picture(channels), **options), object)


@decode_jpeg_op.samples
def decode_jpeg_samples() -> Samples:
    yield Sample(_file(3))
    yield Sample(_file(3), channels=1, ratio=2)
    yield Sample(_file(1), channels=3, fancy_upscaling=False, dct_method="INTEGER_ACCURATE")
    yield Bad(np.array(b"", object), match="got empty file")
    yield Bad(np.array(b"abc'\xff", object), match="unknown format starting with")
    yield Bad(_file(3), channels=2, match="channels must be 0, 1, 3, or 4, got 2")
    yield Bad(_file(3), ratio=3, match="ratio must be 1, 2, 4, or 8, got 3")
    yield Bad(np.array(_file(3)[()][:300], object), match="Invalid JPEG data or crop window")


@decode_and_crop_jpeg_op.samples
def decode_and_crop_jpeg_samples() -> Samples:
    yield Sample(_file(3), [2, 3, 9, 5], fixed=(1,))
    yield Bad(_file(3), [2, 3, 19, 5], match="Invalid JPEG data or crop window")
    yield Bad(_file(3), [2, 3, 9], match="must be 4")


@extract_jpeg_shape_op.samples
def extract_jpeg_shape_samples() -> Samples:
    yield Sample(_file(3))
    yield Sample(_file(1))
    yield Bad(np.array(b"\xff\xd8\xff\xe0", object), match="Invalid JPEG data, size 4")


@export("image.decode_jpeg", "io.decode_jpeg")
def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Return the image in a JPEG file (or a PNG or GIF file), uint8 `[height, width, channels]`.

    Args:
      contents: a scalar string.
      channels: 1 (grey), 3 (RGB), or 0: as in the file.
      ratio: 1, 2, 4 or 8: divisor of the size.
      fancy_upscaling: whether chroma is interpolated.
      try_recover_truncated: whether an incomplete file is decoded as far as it goes.
      acceptable_fraction: accepted for graphs; a file is complete or an error.
      dct_method: "INTEGER_FAST" (the default) or "INTEGER_ACCURATE".
      name: of the operation.

    Example:
      >>> data = tf.image.encode_jpeg(tf.zeros([4, 6, 3], tf.uint8))
      >>> tf.Session().run(tf.image.decode_jpeg(data, channels=3)).shape
      (4, 6, 3)
    """
    return decode_jpeg_op(
        contents, channels=channels, ratio=ratio, fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated, acceptable_fraction=acceptable_fraction,
        dct_method=dct_method, name=name,
    )  # fmt: skip


@export("image.decode_and_crop_jpeg", "io.decode_and_crop_jpeg")
def decode_and_crop_jpeg(
    contents: Any,
    crop_window: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """Return a rectangle of the image in a JPEG file, uint8 `[height, width, channels]`.

    Args:
      contents: a scalar string.
      crop_window: `[top, left, height, width]`, within the image.
      channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method: as
        `tf.image.decode_jpeg` has them.
      name: of the operation.
    """
    return decode_and_crop_jpeg_op(
        contents, crop_window, channels=channels, ratio=ratio, fancy_upscaling=fancy_upscaling,
        try_recover_truncated=try_recover_truncated, acceptable_fraction=acceptable_fraction,
        dct_method=dct_method, name=name,
    )  # fmt: skip


@export("image.extract_jpeg_shape", "io.extract_jpeg_shape")
def extract_jpeg_shape(
    contents: Any, output_type: Any = dtypes.int32, name: str | None = None
) -> Tensor:
    """Height, width and channels of the image in a JPEG file, without decoding it.

    Args:
      contents: a scalar string.
      output_type: int32 or int64.
      name: of the operation.
    """
    return extract_jpeg_shape_op(contents, output_type=output_type, name=name)


@export("image.encode_jpeg", "io.encode_jpeg")
def encode_jpeg(
    image: Any,
    format: str = "",
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
    density_unit: str = "in",
    x_density: int = 300,
    y_density: int = 300,
    xmp_metadata: str = "",
    name: str | None = None,
) -> Tensor:
    """Return an image as a JPEG file, a scalar string.

    Args:
      image: uint8 `[height, width, channels]` with 1 or 3 channels.
      format: "grayscale", "rgb", or "": by the number of channels.
      quality: 0 to 100.
      progressive: whether it is written in several scans.
      optimize_size: whether the file gets Huffman tables of its own.
      chroma_downsampling: whether chroma has half the resolution.
      density_unit: "in" or "cm".
      x_density, y_density: pixels per unit.
      xmp_metadata: embedded as it is.
      name: of the operation.
    """
    return encode_jpeg_op(
        image, format=format, quality=quality, progressive=progressive,
        optimize_size=optimize_size, chroma_downsampling=chroma_downsampling,
        density_unit=density_unit, x_density=x_density, y_density=y_density,
        xmp_metadata=xmp_metadata, name=name,
    )  # fmt: skip
