"""Regular expressions on strings: RegexReplace, RegexFullMatch and their static forms.

Patterns are RE2's. They are run by Python's `re` on text decoded from UTF-8, with ASCII classes, as
RE2's are. Syntax that only one of the two has is translated or raises an error that names it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np

from stillflow import native
from stillflow.graph import dims as dims_lib
from stillflow.graph import dtypes
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.dispatch import dispatchable
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.strings.elementwise import same_shape
from stillflow.ops.strings.kernels import all_to_strings, to_numbers
from stillflow.ops.strings.regex_categories import members
from stillflow.platform.compat import forward_compatible

regex_replace_op = op(
    """
    RegexReplace(input: string, pattern: string, rewrite: string) -> output: string
    replace_global: bool = true
""",
    differentiable=False,
    batching="each string",
)
static_regex_replace_op = op(
    """
    StaticRegexReplace(input: string) -> output: string
    pattern: string
    rewrite: string
    replace_global: bool = true
""",
    batching="each string",
)
regex_full_match_op = op(
    "RegexFullMatch(input: string, pattern: string) -> output: bool", batching="each string"
)
static_regex_full_match_op = op(
    "StaticRegexFullMatch(input: string) -> output: bool; pattern: string", batching="each string"
)

_CLASSES = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\\x00-\\x7f", "blank": "\\t ",
    "cntrl": "\\x00-\\x1f\\x7f", "digit": "0-9", "graph": "!-~", "lower": "a-z",
    "print": " -~", "punct": "!-/:-@\\[-`{-~", "space": "\\t\\n\\v\\f\\r ", "upper": "A-Z",
    "word": "0-9A-Za-z_", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
_TOKEN = re.compile(
    r"\\Q(?P<quoted>.*?)(?:\\E|\Z)|\[:(?P<class>\^?\w+):\]|\\x\{(?P<code>[\da-fA-F]+)\}|"
    r"\\(?P<sign>[pP])(?:(?P<letter>\w)|\{(?P<category>\^?\w+)\})|"
    r"(?P<unnamed>\\[pP](?:\{[^}]*\}?)?)|\\(?P<escape>.)|"
    r"(?P<perl>\(\?(?:<?[=!]|P=|\(|>|#))|\$(?P<end>)|(?P<times>\{\d+(?:,\d*)?\})|(?P<bracket>\[)",
    re.DOTALL,
)
_SET = re.compile(r"\[(\^?\]?(?:\[:\^?\w+:\]|\\Q.*?\\E|\\.|[^]\\])*)\]", re.DOTALL)
_MOST_TIMES, _LARGEST = 1000, 0x10FFFF  # repetitions, and characters, that RE2 takes
_BROKEN = "\udc80-\udcff"  # what bytes that are no text are decoded to: in no set of characters


def _of_text(chars: str) -> str:
    """Return the pattern of a character of text that a pattern of single characters matches."""
    return "(?:(?![" + _BROKEN + "])" + chars + ")"


def _named_class(name: str) -> str:
    """Return the characters of a class as in [[:alpha:]], or in [[:^alpha:]]."""
    chars = _CLASSES.get(name.removeprefix("^"))
    if chars is None:
        raise ValueError(f"invalid character class range: [:{name}:]")
    if name[0] != "^":
        return chars
    has = re.compile(f"[{chars}]").fullmatch
    return "".join(re.escape(chr(i)) for i in range(128) if not has(chr(i))) + "\x80-\U0010ffff"


def _character(token: re.Match[str], in_set: bool) -> str | None:
    """Return the part of a pattern of Python for some characters; None for another token."""
    kinds = token.groupdict()
    if kinds["sign"]:
        try:
            found = members(kinds["letter"] or kinds["category"], kinds["sign"] == "P")
        except KeyError:
            raise ValueError(f"invalid character class range: {token[0]}") from None
        return found if in_set else f"[{found}]"
    if kinds["unnamed"]:
        raise ValueError(f"invalid character class range: {token[0]}")
    if kinds["quoted"] is not None:
        return re.escape(kinds["quoted"])
    if kinds["code"]:
        if int(kinds["code"], 16) > _LARGEST:
            raise ValueError(f"invalid escape sequence: {token[0]}")
        return re.escape(chr(int(kinds["code"], 16)))
    escape = kinds["escape"]
    if escape is not None and escape in "123456789CXZ":
        if escape == "C" and not in_set:
            raise ValueError(r"Stillflow does not support the escape sequence \C, a single byte")
        raise ValueError(f"invalid escape sequence: \\{escape}")
    return None


def _in_set(token: re.Match[str]) -> str:
    if token["class"]:
        return _named_class(token["class"])
    if token["bracket"]:
        return "\\["
    return _character(token, True) or (r"\Z" if token[0] == r"\z" else token[0])


def _outside(token: re.Match[str], multiline: bool) -> str:
    if token["perl"]:
        raise ValueError(f"invalid perl operator: {token['perl']}")
    if any(int(count) > _MOST_TIMES for count in re.findall(r"\d+", token["times"] or "")):
        raise ValueError(f"invalid repetition size: {token[0]}")
    if token["end"] is not None:
        return "$" if multiline else r"\Z"
    return _character(token, False) or (r"\Z" if token["escape"] == "z" else token[0])


def _translate(pattern: str, is_broken: bool) -> str:
    """Return an RE2 pattern as one of Python's.

    "$" is the end of the text unless the flag m is given. With `is_broken`, it is for text with
    bytes that are none.
    """
    multiline = re.search(r"\(\?[a-zA-Z]*m", pattern) is not None
    of_text = _of_text if is_broken else str
    pieces: list[str] = []
    place = 0
    while place < len(pattern):
        found = _SET.match(pattern, place)
        token = found or _TOKEN.match(pattern, place)
        if found is not None:
            chars = _TOKEN.sub(_in_set, found[1])
            pieces.append(of_text(f"[{chars}]"))
        elif token is None:
            pieces.append(of_text(".") if pattern[place] == "." else pattern[place])
        else:
            piece = _outside(token, multiline)
            is_set = token["sign"] or (token["escape"] or "none") in "DSW"
            pieces.append(of_text(piece) if is_set else piece)
        place = place + 1 if token is None else token.end()
    return "".join(pieces)


@lru_cache(256)
def compiled(pattern: bytes, is_broken: bool = False) -> re.Pattern[str]:
    """Return an RE2 pattern, compiled; ValueError has TF's message for one that RE2 rejects.

    With `is_broken`, for text with bytes that are none; see `_decoded`.
    """
    text = pattern.decode("utf-8", "surrogateescape")
    try:
        return re.compile(_translate(text, is_broken), re.ASCII)
    except re.error as error:
        reason = str(error.msg)
        if "unterminated subpattern" in reason or "unbalanced parenthesis" in reason:
            reason = f"missing ): {text}"
        elif "nothing to repeat" in reason:
            reason = f"no argument for repetition operator: {text[error.pos or 0 :][:1]}"
        elif "unterminated character set" in reason:
            reason = f"missing ]: {text[error.pos or 0 :]}"
    except ValueError as error:
        reason = str(error)
    raise ValueError(f"Invalid pattern: {text}, error: {reason}")


def _decoded(text: bytes) -> tuple[str, bool]:
    """Return a text, and whether it has bytes that are none."""
    try:
        return text.decode(), False
    except UnicodeDecodeError:
        return text.decode("utf-8", "surrogateescape"), True


def _rewritten(rewrite: bytes, groups: int) -> tuple[list[str | int], bool]:
    """Text and numbers of groups that replace a match, and whether RE2 would take all of it.

    A backslash and a digit mean a group (nothing if it is missing), two backslashes one. The
    character after any other backslash has no effect.
    """
    made: list[str | int] = []
    for piece in re.split(r"(\\.?)", rewrite.decode("utf-8", "surrogateescape"), flags=re.DOTALL):
        if piece[:1] != "\\":
            made.append(piece)
        elif piece == "\\\\":
            made.append("\\")
        elif not re.fullmatch("[0-9]", piece[1:]):
            return made, False
        elif int(piece[1:]) <= groups:
            made.append(int(piece[1:]))
    return made, True


_Texts = list[bytes]
# Parts of one of Python's patterns: escapes, classes, what begins with "(?", single characters.
_PIECE = re.compile(
    r"\\(?P<escape>.)|\[(?P<not>\^?)(?P<class>(?:\\.|[^\\])(?:\\.|[^\]\\])*)\]|"
    r"(?P<option>\(\?(?!:))|(?P<other>.)",
    re.DOTALL,
)
# Those that a zero byte, which stands between texts, or the end of a text has a part in.
_WITHIN = {
    "\\D": r"[^\d\x00]", "\\S": r"[^\s\x00]", "\\W": r"[^\w\x00]", ".": r"[^\n\x00]",
    "^": r"(?<![^\x00])", "\\A": r"(?<![^\x00])", "\\Z": r"(?![^\x00])",
}  # fmt: skip
_MANY = 16  # texts that are worth another pattern


@lru_cache(256)
def _within_texts(pattern: str) -> re.Pattern[str] | None:
    """Return the pattern for texts with zero bytes between them; None if there is none.

    Its first group is the match.
    """
    pieces = [""]
    for piece in _PIECE.finditer(pattern):
        escape, chars, text = piece["escape"] or "", piece["class"] or "", piece[0]
        unclear = re.search(r"\\[^\W\ddswnrtfv_]|\\\d", chars) or re.search("[B0-9xuUN]", escape)
        if unclear or piece["option"] or "\0" in text or text in ("$", "["):
            return None
        pieces.append(f"[^\\x00{chars}]" if piece["not"] else _WITHIN.get(text, text))
    return re.compile(f"({''.join(pieces)})", re.ASCII)


def _replace_in_all(
    expression: re.Pattern[str], pieces: Sequence[str | int], joined: bytes
) -> _Texts | None:
    """Replace all matches, none of them empty, in joined texts; None if that cannot be.

    Python's own replacement with groups calls a function for each match.
    """
    if any("\0" in p for p in pieces if isinstance(p, str)):
        return None
    parts: list[Any] = expression.split(joined.decode())
    step, count = expression.groups + 1, len(pieces) + 1
    found = [""] * (len(parts) // step * count + 1)
    found[::count] = parts[::step]
    for place, piece in enumerate(pieces, 1):
        matches = len(parts) // step
        group = parts[piece + 1 :: step] if isinstance(piece, int) else [piece] * matches
        found[place::count] = [each or "" for each in group] if None in group else group
    return "".join(found).encode("utf-8", "surrogateescape").split(b"\0")


# One of a sequence of classes of characters, each with how often it comes.
_ITEM = re.compile(
    r"(\[\^?(?:\\[dDsSwWntrfv]|\\[^\w\\]|[^][\\])+\]|\\[dDsSwWntrfv]|\\\W|[^][\\^$*+?{}|()])"
    r"([*+?]?)", re.DOTALL,
)  # fmt: skip


class _Classes(NamedTuple):
    """A pattern that is a sequence of classes, which have all characters but ASCII's or none.

    Attributes:
      members: for each class the first bytes of the characters that it has, as 256 flags.
      times: for each "", or the sign of how often it comes.
    """

    members: list[bytes]
    times: list[str]

    @property
    def literal(self) -> bytes:
        """The only text that matches; none if there are several."""
        if any(self.times) or any(sum(each) != 1 for each in self.members):
            return b""
        return bytes(each.index(1) for each in self.members)


@lru_cache(256)
def _classes(pattern: str) -> _Classes | None:
    """Return the classes of one of Python's patterns, None if it is not a sequence of them."""
    items = _ITEM.findall(pattern)
    if not items or not pattern.isascii() or "".join(map("".join, items)) != pattern:
        return None
    found = [re.compile(item, re.ASCII).fullmatch for item, _ in items]
    members = [bytes(i > 0 and has(chr(i)) is not None for i in range(256)) for has in found]
    return _Classes(members, [times for _, times in items])


def _joined(texts: _Texts) -> bytes | None:
    """Return texts with zero bytes between them; None if they have some, or bytes that are none."""
    joined = b"\0".join(texts)
    if joined.count(b"\0") != len(texts) - 1 or _decoded(joined)[1]:
        return None
    return joined


def _runs_replaced(
    classes: _Classes, pieces: Sequence[str | int], everywhere: bool, joined: bytes
) -> _Texts | None:
    """Replace a literal text, or the runs of one class, in joined texts; None if that cannot be."""
    library = native.library()
    literal, other = classes.literal, "".join(map(str, pieces)).encode("utf-8", "surrogateescape")
    if b"\0" in other or any(isinstance(piece, int) for piece in pieces):
        return None
    if literal:
        if everywhere:
            return joined.replace(literal, other).split(b"\0")
        return [text.replace(literal, other, 1) for text in joined.split(b"\0")]
    if library is None or len(classes.members) != 1:
        return None
    (times,) = classes.times
    how = times in ("", "+"), times in ("*", "+"), not everywhere, other, len(other)
    given = joined, len(joined), classes.members[0], *how
    out = np.empty(library.replace_runs(*given, None), np.uint8)
    library.replace_runs(*given, out.ctypes.data)
    return out.tobytes().split(b"\0")


def _which_match(classes: _Classes, joined: bytes) -> Array | None:
    """Return which of joined texts match as a whole, None if no loop finds it out."""
    members, times = [], []
    for each, sign in zip(classes.members, classes.times, strict=True):
        members += [each, each] if sign == "+" else [each]
        times += ["", "*"] if sign == "+" else [sign]
    library = native.library()
    if library is None or len(members) > 62:
        return None
    table = np.sum([np.frombuffer(each, np.uint8).astype(np.int64) << bit
                    for bit, each in enumerate(members)], 0)  # fmt: skip
    repeated = sum(1 << bit for bit, sign in enumerate(times) if sign == "*")
    optional = repeated | sum(1 << bit for bit, sign in enumerate(times) if sign == "?")
    found = np.empty(joined.count(b"\0") + 1, bool)
    library.match_texts(joined, len(joined), table.ctypes.data, repeated, optional,
                        1 << len(members), found.ctypes.data)  # fmt: skip
    return found


def _all_replaced(pattern: bytes, rewrite: bytes, everywhere: bool) -> Callable[[_Texts], _Texts]:
    expression = compiled(pattern)
    pieces, is_whole = _rewritten(rewrite, expression.groups)
    replace = _replacer(pattern, rewrite, everywhere)
    may_be_empty = expression.match("") is not None or b"\\b" in pattern.lower()
    within = _within_texts(expression.pattern) if everywhere and not may_be_empty else None
    classes = _classes(expression.pattern) if everywhere or is_whole else None

    def run(texts: _Texts) -> _Texts:
        found, joined = None, _joined(texts) if len(texts) >= _MANY else None
        if joined is not None and classes is not None:
            found = _runs_replaced(classes, pieces, everywhere, joined)
        if joined is not None and found is None and within is not None:
            found = _replace_in_all(within, pieces, joined)
        return list(map(replace, texts)) if found is None else found

    return run


def _replacer(pattern: bytes, rewrite: bytes, everywhere: bool) -> Callable[[bytes], bytes]:
    expression = compiled(pattern)
    pieces, whole = _rewritten(rewrite, expression.groups)
    if not whole and not everywhere:
        return lambda text: text
    # Where a match may be empty; a word's boundary is not there in no text.
    if everywhere and (expression.match("") or b"\\b" in pattern.lower()):
        return partial(_replace_carefully, pattern, pieces)
    template = "".join(
        rf"\g<{piece}>" if isinstance(piece, int) else piece.replace("\\", r"\\")
        for piece in pieces
    )
    count = 0 if everywhere else 1

    def replace(text: bytes) -> bytes:
        decoded, is_broken = _decoded(text)
        found = (compiled(pattern, True) if is_broken else expression).sub(template, decoded, count)
        return found.encode("utf-8", "surrogateescape")

    return replace


def _replace_carefully(pattern: bytes, pieces: list[str | int], text: bytes) -> bytes:
    """Replace all matches; RE2 takes no empty match right behind another match."""
    last = -1

    def replaced(match: re.Match[str]) -> str:
        nonlocal last
        behind, last = last, match.end()
        if match.start() == match.end() == behind:
            return ""
        return "".join([match[p] or "" if isinstance(p, int) else p for p in pieces])

    decoded, is_broken = _decoded(text)
    found = compiled(pattern, is_broken).sub(replaced, decoded)
    return found.encode("utf-8", "surrogateescape")


def _full_matcher(pattern: bytes) -> Callable[[Array], torch.Tensor]:
    """Return the kernel that says which texts a pattern matches as a whole."""
    within = _within_texts(compiled(pattern).pattern)
    whole = None if within is None else re.compile(f"\0{within.pattern}(?=\0)", re.ASCII)
    classes = _classes(compiled(pattern).pattern)

    def match(text: bytes) -> bool:
        decoded, is_broken = _decoded(text)
        return compiled(pattern, is_broken).fullmatch(decoded) is not None

    def run(x: Array) -> torch.Tensor:
        joined = _joined(x.reshape(-1).tolist()) if x.size >= _MANY else None
        if joined is not None and classes is not None:
            matched = _which_match(classes, joined)
            if matched is not None:
                return torch.from_numpy(matched.reshape(x.shape))
        if whole is None or joined is None:
            return to_numbers(match, dtypes.bool)(x)
        # Of those that do not match, their zero bytes are left between the matches.
        parts = whole.split("\0" + joined.decode() + "\0")[:: whole.groups + 1]
        found = np.zeros(x.size, bool)
        found[np.cumsum([part.count("\0") + 1 for part in parts[:-1]], dtype=np.int64) - 1] = True
        return torch.from_numpy(found.reshape(x.shape))

    return run


def _scalar(name: str, value: Any) -> bytes:
    if value.ndim:
        raise ValueError(f"{name} must be scalar, but received {dims_lib.to_string(value.shape)}")
    return value.item()


@regex_replace_op.shape
@regex_full_match_op.shape
def dynamic_pattern_shape(node: Node) -> OutputDims:
    if not node.planning:  # the kernels have words of their own
        for i in range(1, len(node.inputs)):
            dims_lib.with_rank(node.dims(i), 0)
    return node.dims(0)


static_regex_replace_op.shape(same_shape)
static_regex_full_match_op.shape(same_shape)


@regex_replace_op.kernel
def regex_replace_kernel(node: Node) -> Kernel:
    everywhere = node.replace_global

    def replace(x: Any, pattern: Any, rewrite: Any) -> Array:
        given = _scalar("Pattern", pattern), _scalar("Rewrite", rewrite)
        return all_to_strings(_all_replaced(*given, everywhere))(x)

    return replace


@static_regex_replace_op.kernel
def static_regex_replace_kernel(node: Node) -> Kernel:
    return all_to_strings(_all_replaced(node.pattern, node.rewrite, node.replace_global))


@regex_full_match_op.kernel
def regex_full_match_kernel(node: Node) -> Kernel:
    return lambda x, pattern: _full_matcher(_scalar("Pattern", pattern))(x)


@static_regex_full_match_op.kernel
def static_regex_full_match_kernel(node: Node) -> Kernel:
    return _full_matcher(node.pattern)


def _words() -> np.ndarray:
    return np.array([b"hello", "w\u00f6rld".encode(), b"\xff"], object)


def _scalar_string(text: bytes) -> np.ndarray:
    return np.array(text, object)


@regex_replace_op.samples
def regex_replace_samples() -> Samples:
    yield Sample(_words(), _scalar_string(b"([aeiou])"), _scalar_string(rb"<\1\0>"))
    yield Sample(_words(), _scalar_string(b"l*"), _scalar_string(b"-"), replace_global=False)
    yield Bad(_words(), _scalar_string(b"("), _scalar_string(b""), match="Invalid pattern")


@static_regex_replace_op.samples
def static_regex_replace_samples() -> Samples:
    yield Sample(_words(), pattern="l*", rewrite="-")
    yield Sample(_words(), pattern="[[:alpha:]$]$", rewrite="\\\\")


@regex_full_match_op.samples
def regex_full_match_samples() -> Samples:
    yield Sample(_words(), _scalar_string(b"h.*"))


@static_regex_full_match_op.samples
def static_regex_full_match_samples() -> Samples:
    yield Sample(_words(), pattern="w.rld")


@export("strings.regex_replace", "regex_replace")
@dispatchable
def regex_replace(
    input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None
) -> Tensor:
    r"""Strings with the matches of a pattern replaced.

    Args:
      input: strings of any shape.
      pattern: regular expression in RE2's syntax, a string or a scalar tensor.
      rewrite: the replacement; \1 to \9 stand for groups, \0 for the match.
      replace_global: whether to replace all matches or the first alone.
    """
    if isinstance(pattern, (str, bytes)) and isinstance(rewrite, (str, bytes)):
        return static_regex_replace_op(
            input, pattern=pattern, rewrite=rewrite, replace_global=replace_global, name=name
        )
    return regex_replace_op(input, pattern, rewrite, replace_global=replace_global, name=name)


@export("strings.regex_full_match")
@dispatchable
def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Return True for strings that a pattern in RE2's syntax matches as a whole."""
    if isinstance(pattern, (str, bytes)) and forward_compatible(2018, 11, 10):
        return static_regex_full_match_op(input, pattern=pattern, name=name)
    return regex_full_match_op(input, pattern, name=name)
