"""Text in the encodings that TF's Unicode operations know, without ICU.

Python's codecs do the work; their errors are one format error here too. Substitution and the spans
of malformed bytes follow the Unicode standard's best practice in both libraries.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

import numpy as np

from stillflow.util.texts import address_of, library, texts_of

MAX_CODE_POINT = 0x10FFFF
_LAST_CONTROL = 0x1F

# Python's name of each output encoding.
OUTPUT_ENCODINGS = {b"UTF-8": "utf-8", b"UTF-16-BE": "utf-16-be", b"UTF-32-BE": "utf-32-be"}

UNITS = {b"UTF-8": 1, b"UTF-16-BE": 2, b"UTF-32-BE": 4}  # bytes
# For malformed characters, of native loops.
STRICT, IGNORE = -2, -1

# Encodings that Python calls text but that no converter of ICU knows.
_PYTHON_ONLY = {
    "idna", "mbcs", "oem", "palmos", "punycode", "raw_unicode_escape", "undefined",
    "unicode_escape", "utf_8_sig",
}  # fmt: skip
# Encodings where the size of a character depends on the preceding text.
_STATEFUL = ("hz", "iso2022", "utf-7")
# Encodings with a mark of the byte order: the meaning of each mark, or of none.
_MARKS = {
    f"utf-{width}": {
        codecs.encode("\ufeff", f"utf-{width}-le"): f"utf-{width}-le",
        codecs.encode("\ufeff", f"utf-{width}-be"): f"utf-{width}-be",
        b"": f"utf-{width}-be",
    }
    for width in (16, 32)
}
# Malformed bytes are decoded to a surrogate, which nothing else is: the first one plus how many
# bytes there are.
_FIRST_SURROGATE, _SURROGATES = 0xD800, 0x800


def _mark(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return chr(_FIRST_SURROGATE + error.end - error.start), error.end


def _mark_or_control(error: UnicodeError) -> tuple[str, int]:
    """ICU has control characters in the gaps of Windows' code pages."""
    assert isinstance(error, UnicodeDecodeError)
    first = error.object[error.start]
    return (chr(first), error.start + 1) if first < 0xA0 else _mark(error)


codecs.register_error("stillflow.mark", _mark)
codecs.register_error("stillflow.mark_or_control", _mark_or_control)


class Characters(NamedTuple):
    """Characters of several texts, one text after the other, including malformed bytes.

    Attributes:
      counts: how many characters each text has.
      codes: the code points.
      sizes: how many bytes each takes.
      malformed: where malformed bytes stand; their code means nothing.
    """

    counts: np.ndarray
    codes: np.ndarray
    sizes: np.ndarray
    malformed: np.ndarray

    def starts(self) -> np.ndarray:
        """Return the start of each character in its text, in bytes."""
        ends = np.cumsum(self.sizes)
        first = np.cumsum(self.counts) - self.counts
        before = np.concatenate([[0], ends])[first]
        return ends - self.sizes - np.repeat(before, self.counts)

    def chosen(self, kept: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return each text's number of kept characters, and their code points."""
        seen = np.concatenate([[0], np.cumsum(kept)])
        ends = np.cumsum(self.counts)
        return seen[ends] - seen[ends - self.counts], self.codes[kept]


class ErrorPolicy(NamedTuple):
    """Policy for malformed text.

    Attributes:
      errors: b"strict", b"replace" or b"ignore".
      replacement: the code point of replacements.
      replaces_control: whether control characters (up to U+001F) count as malformed.
    """

    errors: bytes
    replacement: int
    replaces_control: bool = False

    def check(self) -> None:
        """Raise ValueError if the replacement is no code point."""
        if not 0 <= self.replacement <= MAX_CODE_POINT:
            raise ValueError("replacement_char out of unicode codepoint range")

    def refused(self, characters: Characters) -> np.ndarray:
        """Return True for characters to be replaced or left out."""
        if not self.replaces_control:
            return characters.malformed
        return characters.malformed | (characters.codes <= _LAST_CONTROL)


def codec_of(encoding: bytes) -> str:
    """Return Python's name of an input encoding; ValueError if there is none."""
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


# ---- Text to code points


def characters(texts: Sequence[bytes], codec: str) -> Characters:
    """Return the characters of texts in a codec of Python's."""
    if codec.startswith(_STATEFUL):
        return _one_by_one(texts, codec)
    marks: list[int] = []
    if codec in _MARKS:
        pairs = [_without_mark(text, _MARKS[codec]) for text in texts]
        marks = [len(text) - len(rest) for text, (rest, _) in zip(texts, pairs)]
        letters = [rest.decode(own, "stillflow.mark") for rest, own in pairs]
        codec += "-be"
    else:
        handler = "stillflow.mark_or_control" if codec.startswith("cp125") else "stillflow.mark"
        letters = [text.decode(codec, handler) for text in texts]
    counts = np.fromiter(map(len, letters), np.int64, len(letters))
    codes = _codes(letters)
    malformed = (codes - _FIRST_SURROGATE).view(np.uint64) < _SURROGATES
    sizes = np.where(malformed, codes - _FIRST_SURROGATE, _sizes(codes, codec))
    if any(marks):  # the mark counts for the first character
        has_any = counts > 0
        first = (np.cumsum(counts) - counts)[has_any]
        sizes[first] += np.array(marks)[has_any]
    return Characters(counts, codes, sizes, malformed)


def characters_of_utf8(
    strings: np.ndarray, replacement: int, first_allowed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return the characters of texts in UTF-8, by a native loop.

    Args:
      strings: the texts.
      replacement: the character in the place of malformed ones: `STRICT` if there may be none,
        `IGNORE` to leave them out.
      first_allowed: characters before this one are malformed, too.

    Returns:
      Where the characters of each text begin, and all end, int64 [texts + 1]; the characters,
      int32 [n]; and where each begins in its text, int64 [n]. None without the loop, or if the
      texts are malformed where they may not be.
    """
    texts, loops = texts_of(strings), library()
    if texts is None or loops is None:
        return None
    splits = np.empty(len(texts) + 1, np.int64)
    given = (*texts.pointers, replacement, first_allowed, address_of(splits))
    if loops.read_characters(*given, None, None) != len(texts):
        return None
    codes, starts = np.empty(splits[-1], np.int32), np.empty(splits[-1], np.int64)
    loops.read_characters(*given, address_of(codes), address_of(starts))
    return splits, codes, starts


def _without_mark(text: bytes, marks: dict[bytes, str]) -> tuple[bytes, str]:
    """Return the text behind a mark of the byte order, and the codec that the mark means."""
    mark = next((mark for mark in marks if mark and text.startswith(mark)), b"")
    return text[len(mark) :], marks[mark]


def _codes(letters: Iterable[str]) -> np.ndarray:
    data = "".join(letters).encode("utf-32-le", "surrogatepass")
    return np.frombuffer(data, "<u4").astype(np.int64)


def _sizes(codes: np.ndarray, codec: str) -> np.ndarray:
    """Return the number of bytes of each code point."""
    if codec == "utf-8":
        return 1 + (codes > 0x7F) + (codes > 0x7FF) + (codes > 0xFFFF)
    if codec.startswith("utf-16"):
        return 2 + 2 * (codes > 0xFFFF)
    if codec.startswith("utf-32"):
        return np.full_like(codes, 4)
    if _has_single_bytes(codec):
        return np.ones_like(codes)
    distinct, places = np.unique(codes, return_inverse=True)
    sizes = [len(chr(code).encode(codec, "replace")) for code in distinct.tolist()]
    return np.array(sizes, np.int64)[places]


@cache
def _has_single_bytes(codec: str) -> bool:
    return len(bytes(range(256)).decode(codec, "replace")) == 256


def _one_by_one(texts: Sequence[bytes], codec: str) -> Characters:
    """Find sizes out by giving a decoder one byte after the other."""
    counts, letters, sizes = [], [], []
    for text in texts:
        decoder = codecs.getincrementaldecoder(codec)("stillflow.mark")
        start, count = 0, 0
        for end in range(1, len(text) + 1):
            for letter in decoder.decode(text[end - 1 : end], final=end == len(text)):
                letters.append(letter)
                sizes.append(end - start)
                start, count = end, count + 1
        counts.append(count)
    codes = _codes(letters)
    malformed = (codes - _FIRST_SURROGATE).view(np.uint64) < _SURROGATES
    return Characters(np.array(counts, np.int64), codes, np.array(sizes, np.int64), malformed)


# ---- Code points to text


def texts_of_codes(codes: np.ndarray, ends: np.ndarray, encoding: bytes) -> np.ndarray | None:
    """Return texts of code points as objects, by a native loop; None without it.

    Args:
      codes: code points, int32 [n].
      ends: the end of each text in them, int64 [texts].
      encoding: of the texts.
    """
    halves = (codes - _FIRST_SURROGATE).view(np.uint32) < _SURROGATES
    loops = None if halves.any() else library()
    if loops is None:
        return None
    result = np.empty(len(ends), object)
    loops.write_characters(
        address_of(codes), address_of(ends), len(ends), UNITS[encoding], address_of(result)
    )
    return result


def encode(codes: np.ndarray, counts: Sequence[int] | np.ndarray, encoding: bytes) -> list[bytes]:
    """Return texts of code points; halves of surrogate pairs meet as they do in UTF-16.

    The remaining surrogates become U+FFFD in UTF-8, and stay in the other encodings. `codes` are
    those of one text after the other, `counts` of each.
    """
    letters = codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")
    ends = np.cumsum(np.asarray(counts, np.int64)).tolist()
    name = OUTPUT_ENCODINGS[encoding]
    found, start = [], 0
    for end in ends:
        text = letters[start:end]
        try:
            found.append(text.encode(name))
        except UnicodeEncodeError:
            found.append(_with_surrogates(text, encoding))
        start = end
    return found


def _with_surrogates(text: str, encoding: bytes) -> bytes:
    units = text.encode("utf-16-be", "surrogatepass")
    if encoding == b"UTF-16-BE":
        return units
    if encoding == b"UTF-8":
        return units.decode("utf-16-be", "replace").encode()
    return units.decode("utf-16-be", "surrogatepass").encode("utf-32-be", "surrogatepass")


# ---- Scripts


@cache
def script_table() -> np.ndarray:
    """Return the scripts of all code points."""
    source = files("stillflow.ops.strings").joinpath("unicode_scripts.txt")
    lines = source.read_text(encoding="ascii").splitlines()
    pairs = [pair.split(":") for line in lines if line[0] != "#" for pair in line.split()]
    lengths, scripts = np.array(pairs, np.int64).T
    return np.repeat(scripts.astype(np.int16), lengths)


def scripts_of(codes: np.ndarray) -> np.ndarray:
    """Return the number of the script of each code point, -1 where it is none: int32."""
    found = np.asarray(script_table().take(codes, mode="clip"), np.int32).reshape(codes.shape)
    found[(codes < 0) | (codes > MAX_CODE_POINT)] = -1
    return found
