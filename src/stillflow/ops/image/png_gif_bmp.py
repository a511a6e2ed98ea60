"""PNG, GIF and BMP: decoding, and encoding PNG."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.files import bmp, png
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.image import formats
from stillflow.ops.samples import Bad, Sample, Samples

decode_png_op = op("""
    DecodePng(contents: string) -> image: dtype
    channels: int = 0
    dtype: {uint8, uint16} = uint8
""")
decode_gif_op = op("""
    DecodeGif(contents: string) -> image: uint8
""")
decode_bmp_op = op("""
    DecodeBmp(contents: string) -> image: uint8
    channels: int = 0
""")
encode_png_op = op("""
    EncodePng(image: T) -> contents: string
    compression: int = -1
    T: {uint8, uint16} = uint8
""")

decode_png_op.shape(formats.decoded_shape)
decode_bmp_op.shape(formats.decoded_shape)
encode_png_op.shape(formats.encoded_shape)
encode_png_op.check(formats.image_rank)
for _card in (decode_png_op, decode_bmp_op, decode_gif_op):
    _card.check(formats.contents_rank)


@decode_gif_op.shape
def decode_gif_shape(node: Node) -> OutputDims:
    dims_lib.with_rank(node.dims(0), 0)
    return (None, None, None, 3)


@decode_png_op.kernel
def decode_png_kernel(node: Node) -> Kernel:
    channels, device = node.channels, node.device
    # The node's own `dtype` is a method; this is the attribute.
    bits = 16 if node.op.attrs["dtype"] == dtypes.uint16 else 8
    formats.check_channels(channels)

    def run(contents: Any) -> torch.Tensor:
        data = formats.content(contents)
        kind = formats.kind_of(data)
        if kind != "PNG" and bits == 16:
            raise ValueError(f"{kind} does not support uint16 output")
        if kind == "PNG":
            image = formats.decode_png(data, channels, bits)
        elif kind == "GIF":
            image = formats.one_frame(formats.decode_gif(data, channels))
        else:
            image = formats.decode_jpeg(data, channels)
        return formats.tensor(image, device)

    return run


@decode_gif_op.kernel
def decode_gif_kernel(node: Node) -> Kernel:
    device = node.device

    def run(contents: Any) -> torch.Tensor:
        data = formats.content(contents)
        kind = formats.kind_of(data)
        if kind == "GIF":
            frames = formats.decode_gif(data, 3)
        elif kind == "PNG":
            frames = formats.decode_png(data, 3)[None]
        else:
            frames = formats.decode_jpeg(data, 3)[None]
        return formats.tensor(frames, device)

    return run


@decode_bmp_op.kernel
def decode_bmp_kernel(node: Node) -> Kernel:
    channels, device = node.channels, node.device
    if channels not in (0, 1, 3, 4):
        raise ValueError(f"channels must be 0, 1, 3 or 4, got {channels}")
    return lambda contents: formats.tensor(bmp.decode(formats.content(contents), channels), device)


@encode_png_op.kernel
def encode_png_kernel(node: Node) -> Kernel:
    level = node.compression
    if not -1 <= level <= 9:
        raise ValueError(f"compression should be in [-1,9], got {level}")

    def run(image: Any) -> Array:
        array = image.cpu().numpy()
        if not 1 <= array.shape[2] <= 4:
            raise ValueError(f"image must have 1, 2, 3, or 4 channels, got {array.shape[2]}")
        if array.size == 0:
            raise formats.internal_error("PNG encoding failed")
        result = np.empty((), object)
        result[()] = png.encode(np.ascontiguousarray(array), level)
        return result

    return run


# ---- Samples and public functions


def _picture(channels: int, dtype: Any = np.uint8) -> np.ndarray:
    return (np.arange(7 * 5 * channels) * 37 % 251).reshape(7, 5, channels).astype(dtype)


def _scalar(data: bytes) -> np.ndarray:
    return np.array(data, object)


@encode_png_op.samples
def encode_png_samples() -> Samples:
    for channels in (1, 2, 3, 4):
        yield Sample(_picture(channels))
    yield Sample(_picture(3, np.uint16), compression=9)
    yield Bad(_picture(5), match="1, 2, 3, or 4 channels, got 5")
    yield Bad(_picture(3), compression=10, match="compression should be in \\[-1,9\\], got 10")


@decode_png_op.samples
def decode_png_samples() -> Samples:
    for channels in (1, 2, 3, 4):
        data = _scalar(png.encode(_picture(channels)))
        yield Sample(data)
        yield Sample(data, channels=3)
        yield Sample(data, channels=4, dtype=dtypes.uint16)
    yield Sample(_scalar(png.encode(_picture(3, np.uint16) * 200)), channels=1)
    whole = png.encode(_picture(3))
    yield Bad(_scalar(whole[:-20]), match="Invalid PNG data, size")
    yield Bad(_scalar(whole[:20]), match="Invalid PNG header, data size 20")
    yield Bad(_scalar(whole), channels=2, match="channels must be 0, 1, 3, or 4, got 2")


_GIF = (
    b"GIF89a\x02\x00\x02\x00\xf0\x00\x00\x00\x00\x00\xff\x80\x00,\x00\x00\x00\x00\x02\x00\x02\x00"
    b"\x00\x02\x03\x44\x02\x05\x00;"
)


@decode_gif_op.samples
def decode_gif_samples() -> Samples:
    yield Sample(_scalar(_GIF))
    yield Sample(_scalar(png.encode(_picture(3))))
    yield Bad(_scalar(_GIF[:30]), match="Invalid GIF data \\(size 30\\), failed to slurp")


def _bmp(channels: int, height: int) -> bytes:
    picture = _picture(channels)
    pad = np.zeros((7, -5 * channels % 4), np.uint8)
    rows = np.concatenate([picture.reshape(7, -1), pad], 1).tobytes()
    sizes = (5).to_bytes(4, "little") + height.to_bytes(4, "little", signed=True)
    bits = (8 * channels).to_bytes(4, "little")
    return (
        b"BM"
        + bytes(8)
        + (54).to_bytes(4, "little")
        + bytes(4)
        + sizes
        + b"\x01\0"
        + (bits + bytes(22))
        + rows
    )


@decode_bmp_op.samples
def decode_bmp_samples() -> Samples:
    for channels in (1, 3, 4):
        yield Sample(_scalar(_bmp(channels, 7)))
        yield Sample(_scalar(_bmp(channels, -7)), channels=channels)
    yield Bad(_scalar(b"BM"), match="Incomplete bmp content, requires at least 32 bytes")
    yield Bad(_scalar(_bmp(3, 70)), match="Incomplete bmp content, requires at least 1173 bytes")
    yield Bad(_scalar(_bmp(3, 7)), channels=4, match="does not match bits per pixel from file 3")


@export("image.decode_png", "io.decode_png")
def decode_png(
    contents: Any, channels: int = 0, dtype: Any = dtypes.uint8, name: str | None = None
) -> Tensor:
    """Return the image in a PNG file (or a JPEG or GIF file), `[height, width, channels]`.

    Args:
      contents: a scalar string.
      channels: 1 (grey), 3 (RGB), 4 (RGB and alpha), or 0: as in the file.
      dtype: uint8 or uint16.
      name: of the operation.

    Example:
      >>> data = tf.image.encode_png(tf.constant([[[9], [250]]], tf.uint8))
      >>> tf.Session().run(tf.image.decode_png(data)).tolist()
      [[[9], [250]]]
    """
    return decode_png_op(contents, channels=channels, dtype=dtype, name=name)


@export("image.decode_gif", "io.decode_gif")
def decode_gif(contents: Any, name: str | None = None) -> Tensor:
    """Return the frames of a GIF file, uint8 `[frames, height, width, 3]`.

    Args:
      contents: a scalar string.
      name: of the operation.
    """
    return decode_gif_op(contents, name=name)


@export("image.decode_bmp", "io.decode_bmp")
def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Tensor:
    """Return the image in a BMP file without compression, uint8 `[height, width, channels]`.

    Args:
      contents: a scalar string.
      channels: 1, 3 or 4, which the file must have, or 0.
      name: of the operation.
    """
    return decode_bmp_op(contents, channels=channels, name=name)


@export("image.encode_png")
def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """Return an image as a PNG file, a scalar string.

    Args:
      image: uint8 or uint16 `[height, width, channels]`, 1 to 4 channels.
      compression: 0 to 9, or -1 for the default.
      name: of the operation.
    """
    return encode_png_op(image, compression=compression, name=name)
