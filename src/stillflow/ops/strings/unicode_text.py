"""Text in the encodings that TF's Unicode operations know, without ICU.

Python's codecs do the work; what they call an error is one format error here too. Substitution
and the spans of malformed bytes follow the Unicode standard's best practice in both libraries.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

MAX_CODE_POINT = 0x10FFFF
_LAST_CONTROL = 0x1F

# Python's name of each output encoding.
OUTPUT_ENCODINGS = {b"UTF-8": "utf-8", b"UTF-16-BE": "utf-16-be", b"UTF-32-BE": "utf-32-be"}

# Encodings that Python calls text but that no converter of ICU knows.
_PYTHON_ONLY = {
    "idna", "mbcs", "oem", "palmos", "punycode", "raw_unicode_escape", "undefined",
    "unicode_escape", "utf_8_sig",
}  # fmt: skip


# Encodings with a mark of the byte order: what each mark, or none, says.
_MARKS = {
    f"utf-{width}": {
        codecs.encode("\ufeff", f"utf-{width}-le"): f"utf-{width}-le",
        codecs.encode("\ufeff", f"utf-{width}-be"): f"utf-{width}-be",
        b"": f"utf-{width}-be",
    }
    for width in (16, 32)
}


def _utf8_size(code: int) -> int:
    return 1 + (code > 0x7F) + (code > 0x7FF) + (code > 0xFFFF)


# How many bytes a code point takes in the encodings where it tells.
_SIZES: dict[str, Callable[[int], int]] = {
    "utf-8": _utf8_size,
    **{f"utf-16-{order}": lambda code: 2 + 2 * (code > 0xFFFF) for order in ("be", "le")},
    **{f"utf-32-{order}": lambda code: 4 for order in ("be", "le")},
    "iso8859-1": lambda code: 1,
    "ascii": lambda code: 1,
}


class Character(NamedTuple):
    """One character of a text, or a run of bytes that is none.

    Attributes:
      code: the code point.
      size: how many bytes it takes.
      malformed: whether the bytes are an error; then `code` means nothing.
    """

    code: int
    size: int
    malformed: bool


class ErrorPolicy(NamedTuple):
    """What becomes of malformed text.

    Attributes:
      errors: b"strict", b"replace" or b"ignore".
      replacement: the code point that stands for what is replaced.
      replaces_control: whether control characters (up to U+001F) count as malformed.
    """

    errors: bytes
    replacement: int
    replaces_control: bool = False

    def check(self) -> None:
        """Raises ValueError if the replacement is no code point."""
        if not 0 <= self.replacement <= MAX_CODE_POINT:
            raise ValueError("replacement_char out of unicode codepoint range")

    def refuses(self, character: Character) -> bool:
        """Whether a character is to be replaced or left out."""
        return character.malformed or (self.replaces_control and character.code <= _LAST_CONTROL)


def codec_of(encoding: bytes) -> str:
    """Python's name of an input encoding.

    Raises:
      ValueError: if there is no such encoding.
    """
    name = encoding.decode("utf-8", "replace")
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    unicode_form = re.fullmatch(r"utf(8|16|32)(be|le)?", plain)
    wanted = "-".join(filter(None, ("utf", *unicode_form.groups()))) if unicode_form else name
    try:
        found = codecs.lookup(wanted)
    except (LookupError, ValueError):
        found = None
    if found is None or not _is_text(found):
        raise ValueError(f"Could not create converter for input encoding: {name}")
    return found.name


def _is_text(codec: codecs.CodecInfo) -> bool:
    is_text = getattr(codec, "_is_text_encoding", True)
    return bool(is_text) and codec.name.replace("-", "_") not in _PYTHON_ONLY


def characters(text: bytes, codec: str) -> Iterator[Character]:
    """The characters of a text in order, malformed bytes among them."""
    mark = b""
    if codec in _MARKS:
        marks = _MARKS[codec]
        mark = next((mark for mark in marks if mark and text.startswith(mark)), b"")
        codec = marks[mark]
    place = extra = len(mark)  # the mark counts for the first character
    while place < len(text):
        error: UnicodeDecodeError | None = None
        try:
            decoded = _decoded(text[place:], codec)
        except UnicodeDecodeError as failure:
            error = failure
            decoded = _decoded(text[place : place + failure.start], codec)
            decoded.append(_malformed(text[place + failure.start : place + failure.end], codec))
        first, *others = decoded
        yield first._replace(size=first.size + extra)
        yield from others
        if error is None:
            return
        extra = 0
        place += error.end


def _malformed(text: bytes, codec: str) -> Character:
    """What Python cannot decode; ICU knows control characters in the gaps of Windows' pages."""
    if codec.startswith("cp125") and text[0] < 0xA0:
        return Character(text[0], 1, False)
    return Character(MAX_CODE_POINT, len(text), True)


def _decoded(text: bytes, codec: str) -> list[Character]:
    """The characters of well-formed text."""
    letters = text.decode(codec)
    if codec in _SIZES:
        size_of = _SIZES[codec]
        return [Character(ord(letter), size_of(ord(letter)), False) for letter in letters]
    decoder = codecs.getincrementaldecoder(codec)()
    found, start = [], 0
    for end in range(1, len(text) + 1):
        for letter in decoder.decode(text[end - 1 : end], final=end == len(text)):
            found.append(Character(ord(letter), end - start, False))
            start = end
    return found


def encode(codes: list[int], encoding: bytes) -> bytes:
    """Text of code points; halves of surrogate pairs meet as they do in UTF-16.

    What is left of them becomes U+FFFD in UTF-8, and stays itself in the other encodings.

    Args:
      codes: the code points; those out of range are left out.
      encoding: one of `OUTPUT_ENCODINGS`.
    """
    text = "".join(chr(code) for code in codes if 0 <= code <= MAX_CODE_POINT)
    try:
        return text.encode(OUTPUT_ENCODINGS[encoding])
    except UnicodeEncodeError:  # it has surrogates
        units = text.encode("utf-16-be", "surrogatepass")
        if encoding == b"UTF-16-BE":
            return units
        if encoding == b"UTF-8":
            return units.decode("utf-16-be", "replace").encode()
        return units.decode("utf-16-be", "surrogatepass").encode("utf-32-be", "surrogatepass")


@cache
def script_table() -> tuple[np.ndarray, np.ndarray]:
    """Where the runs of code points of one script end, and their scripts."""
    source = files("stillflow.ops.strings").joinpath("unicode_scripts.txt")
    lines = source.read_text(encoding="ascii").splitlines()
    pairs = [pair.split(":") for line in lines if line[0] != "#" for pair in line.split()]
    lengths, scripts = np.array(pairs, np.int64).T
    return np.cumsum(lengths), scripts.astype(np.int32)


def scripts_of(codes: np.ndarray) -> np.ndarray:
    """The number of the script of each code point, -1 where it is none: int32."""
    ends, scripts = script_table()
    valid = (codes >= 0) & (codes <= MAX_CODE_POINT)
    found = scripts[np.searchsorted(ends, np.where(valid, codes, 0), side="right")]
    return np.where(valid, found, np.int32(-1))
