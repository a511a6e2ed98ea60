"""Signs of Python 2 in errors of programs that Python 3 can read, and hints."""

from __future__ import annotations

import os
import re
import sys

from stillflow.cli.frames import failing_line

# Types that were lists in Python 2.
_NO_LISTS = r"'(?:map|filter|zip|range|dict_(?:keys|values|items))'"
_SIGNS = re.compile(
    "|".join(
        (
            rf"TypeError: object of type {_NO_LISTS} has no len\(\)",
            rf"TypeError: {_NO_LISTS} object (?:is not subscriptable|does not support item)",
            rf"TypeError: unsupported operand type\(s\) for [+*]: (?:'list' and )?{_NO_LISTS}",
            rf"AttributeError: {_NO_LISTS} object has no attribute",
            # 4 / 2 was 2.
            r"TypeError: 'float' object cannot be interpreted as an integer",
            r"TypeError: can't multiply sequence by non-int of type 'float'",
            r"TypeError: slice indices must be integers",
            r"TypeError: (?:list|tuple|string) indices must be integers or slices, not float",
            r"TypeError: expected a sequence of integers or a single integer, got '\d+\.0'",
            # Text was bytes.
            r"TypeError: a bytes-like object is required, not 'str'",
            r"TypeError: can't concat str to bytes",
            # Anything could be compared.
            r"TypeError: '[<>]=?' not supported between instances of '\w+' and '\w+'",
            r"TypeError: (?:'cmp' is an invalid keyword argument for )?sort\(\)",
        )
    )
)


def hint(error: BaseException) -> str | None:
    """Return a hint for an error that is typical of Python 2's code in Python 3.

    None if nothing speaks for Python 2, or the lines are taken for Python 2 already.
    """
    from stillflow.facade import revive
    from stillflow.facade.revive import sources

    if not revive.active() or os.environ.get(sources.PYTHON2):
        return None
    if not _SIGNS.match(f"{type(error).__name__}: {error}"):
        return None
    line = failing_line(error, within_libraries=False)
    if line is None:
        return None
    return f"if {line[0]} was written for Python 2: python -m stillflow --python2 {program()}"


def program() -> str:
    """Return the program as it stands on the command line."""
    module = sys.modules["__main__"]
    spec = getattr(module, "__spec__", None)
    return f"-m {spec.name}" if spec is not None else sys.argv[0]
