"""Images in files of any format."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.dtypes import uint8
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.image.types import convert_image_dtype
from stillflow.ops.arrays.gather import gather
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.debugging.asserts import Assert
from stillflow.ops.image.jpeg import decode_jpeg
from stillflow.ops.image.png_gif_bmp import decode_bmp, decode_gif, decode_png
from stillflow.ops.math.comparison import equal, logical_and, not_equal
from stillflow.ops.strings.parts import substr


@export("image.is_jpeg", "io.is_jpeg")
def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Return True if a string begins as JPEG files do.

    Args:
      contents: a scalar string.
      name: of the operation.
    """
    with name_scope(name, "is_jpeg"):
        start = substr(contents, 0, 3)
        return equal(start, b"\xff\xd8\xff", name=name)


def _is_png(contents: Any) -> Tensor:
    with name_scope(None, "is_png"):
        start = substr(contents, 0, 3)
        return equal(start, b"\x89PN")


class _Decoders:
    """One branch of the graph for each format; the next is tried where one does not fit."""

    def __init__(self, contents: Any, channels: int | None, dtype: Any, animations: bool) -> None:
        self.contents = contents
        self.channels = 0 if channels is None else channels
        self.dtype = dtype
        self.animations = animations
        self.start = substr(contents, 0, 3)

    def converted(self, image: Any) -> Tensor:
        return convert_image_dtype(image, self.dtype)

    def any(self) -> Tensor:
        return cond(is_jpeg(self.contents), self.jpeg, self.png_or_other, name="cond_jpeg")

    def jpeg(self) -> Tensor:
        good = not_equal(self.channels, 4, name="check_jpeg_channels")
        message = "Channels must be in (None, 0, 1, 3) when decoding JPEG images"
        with control_dependencies([Assert(good, [message])]):
            return self.converted(decode_jpeg(self.contents, self.channels))

    def png_or_other(self) -> Tensor:
        return cond(_is_png(self.contents), self.png, self.gif_or_other, name="cond_png")

    def png(self) -> Tensor:
        kind = uint8 if self.dtype == uint8 else dtypes.uint16
        return self.converted(decode_png(self.contents, self.channels, dtype=kind))

    def gif_or_other(self) -> Tensor:
        is_gif = equal(self.start, b"GIF", name="is_gif")
        return cond(is_gif, self.gif, self.bmp, name="cond_gif")

    def gif(self) -> Tensor:
        good = logical_and(
            not_equal(self.channels, 1, name="check_gif_channels"),
            not_equal(self.channels, 4, name="check_gif_channels"),
        )
        message = "Channels must be in (None, 0, 3) when decoding GIF images"
        with control_dependencies([Assert(good, [message])]):
            frames = self.converted(decode_gif(self.contents))
            return frames if self.animations else gather(frames, 0)

    def bmp(self) -> Tensor:
        signature = substr(self.contents, 0, 2)
        is_bmp = equal(signature, "BM", name="is_bmp")
        message = "Unable to decode bytes as JPEG, PNG, GIF, or BMP"
        decodable = Assert(is_bmp, [message])
        good = not_equal(self.channels, 1, name="check_channels")
        message = "Channels must be in (None, 0, 3) when decoding BMP images"
        with control_dependencies([decodable, Assert(good, [message])]):
            return self.converted(decode_bmp(self.contents))


@export("image.decode_image", "io.decode_image")
def decode_image(
    contents: Any,
    channels: int | None = None,
    dtype: Any = uint8,
    name: str | None = None,
    expand_animations: bool = True,
) -> Tensor:
    """Return the image in a BMP, GIF, JPEG or PNG file.

    Args:
      contents: a scalar string.
      channels: 1, 3 or 4, as far as the format has them, or 0 or None: as in the file.
      dtype: of the result, to which values are scaled.
      name: of the operation.
      expand_animations: whether GIF files give `[frames, height, width, 3]`; if not, the first
        frame.

    Returns:
      `[height, width, channels]`; the static shape is not known.

    Raises:
      ValueError: another number of channels.
    """
    with name_scope(name, "decode_image"):
        if channels not in (None, 0, 1, 3, 4):
            raise ValueError("channels must be in (None, 0, 1, 3, 4)")
        return _Decoders(contents, channels, dtype, expand_animations).any()
