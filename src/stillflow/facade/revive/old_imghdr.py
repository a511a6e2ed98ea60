"""The module ``imghdr``, which tells kinds of pictures by their first bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_HEAD = 32
_STARTS = (
    (b"\211PNG\r\n\032\n", "png"),
    (b"GIF87a", "gif"),
    (b"GIF89a", "gif"),
    (b"MM", "tiff"),
    (b"II", "tiff"),
    (b"\001\332", "rgb"),
    (b"\x59\xa6\x6a\x95", "rast"),
    (b"#define ", "xbm"),
    (b"BM", "bmp"),
    (b"\x76\x2f\x31\x01", "exr"),
)
# Functions that programs add: of the first bytes and the open file or None, to a kind.
tests: list[Callable[[bytes, Any], str | None]] = []
_ANYMAPS = {"1": "pbm", "4": "pbm", "2": "pgm", "5": "pgm", "3": "ppm", "6": "ppm"}


def what(file: Any, h: bytes | None = None) -> str | None:
    """Return the kind of a picture, e.g. ``jpeg``; None if it is no known one.

    `file` is a path, or an open file, whose position stays; it is not looked at if `h`, the first
    bytes, is given.
    """
    head = _head(file) if h is None else h
    if head[6:10] in (b"JFIF", b"Exif") or head[:4] == b"\xff\xd8\xff\xdb":
        return "jpeg"
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "webp"
    if len(head) >= 3 and head[:1] == b"P" and head[2:3] in (b" ", b"\t", b"\n", b"\r"):
        return _ANYMAPS.get(chr(head[1]))
    found = next((kind for start, kind in _STARTS if head.startswith(start)), None)
    given = file if hasattr(file, "read") else None
    return found or next((kind for test in tests if (kind := test(head, given))), None)


def _head(file: Any) -> bytes:
    if hasattr(file, "read"):
        at = file.tell()
        found: bytes = file.read(_HEAD)
        file.seek(at)
        return found
    with open(file, "rb") as opened:
        return opened.read(_HEAD)
