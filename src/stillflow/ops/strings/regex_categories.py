r"""Unicode's general categories in regular expressions: RE2's `\pN`, `\p{Lu}`, `\P{Lu}`."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import groupby

from stillflow.ops.strings.regex_scripts import is_script, script_ranges

_SURROGATES = range(0xD800, 0xE000)


@cache
def _runs() -> list[tuple[str, int, int]]:
    """Return the code points in runs of one category: the category, the first, the last."""
    runs = []
    points = range(sys.maxunicode + 1)
    for category, run in groupby(points, lambda point: unicodedata.category(chr(point))):
        first, *others = run
        runs.append((category, first, others[-1] if others else first))
    return runs


def _ranges(category: str, negated: bool) -> Iterator[tuple[int, int]]:
    for found, first, last in _runs():
        if found.startswith(category) != negated and first not in _SURROGATES:
            yield first, last


@cache
def members(category: str, negated: bool) -> str:
    """Return a category's text inside brackets in a pattern of Python's; KeyError if none.

    `category` is a script, "Any", or one or two letters, such as "L" or "Lu"; "^" negates it.
    """
    name = category.removeprefix("^")
    negated ^= name != category
    if name == "Any":
        return "" if negated else "\\0-\\U0010ffff"
    if is_script(name):
        ranges = script_ranges(name, negated)
    elif any(found.startswith(name) for found, _, _ in _runs()):
        ranges = _ranges(name, negated)
    else:
        raise KeyError(name)
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in ranges)
