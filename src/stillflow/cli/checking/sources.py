"""The sources of a program: files, folders, notebooks; Python 3 and Python 2."""

from __future__ import annotations

import ast
import io
import json
import os
import re
import tokenize
from collections.abc import Iterator
from typing import NamedTuple

# Folders that hold no sources of the program's own.
_ELSEWHERE = {"__pycache__", "node_modules", "site-packages", "build", "dist"}

# First characters of a line for IPython, and the magics of cells whose other lines are Python.
_FOR_IPYTHON = ("%", "!", "?")
_CELL_MAGIC = re.compile(r"\s*%%(\w+)")
_MAGICS_OVER_PYTHON = {"capture", "prun", "time", "timeit"}


def find(path: str) -> Iterator[str]:
    """Yield a file, or the Python files and notebooks below a folder."""
    if not os.path.isdir(path):
        if not os.path.exists(path):
            raise FileNotFoundError(f"{path}: no such file or folder")
        if not os.path.isfile(path):
            raise FileNotFoundError(f"{path}: neither a file nor a folder")
        yield path
        return
    for folder, folders, files in os.walk(path):
        folders[:] = sorted(
            name for name in folders if name not in _ELSEWHERE and not name.startswith(".")
        )
        for name in sorted(files):
            if name.endswith((".py", ".ipynb")):
                yield os.path.join(folder, name)


class Parsed(NamedTuple):
    """A program.

    Attributes:
      tree: its syntax tree.
      lines: for each line of the tree (the first entry is of line 1) that of the file; a
        notebook's lines are counted over its cells of code.
      translated: whether the file is written in Python 2.
    """

    tree: ast.Module
    lines: list[int]
    translated: bool = False


def parse(path: str) -> Parsed:
    """Parse a file; SyntaxError if it is no Python or notebook, OSError if it cannot be read."""
    from stillflow.facade.revive import python2

    with open(path, "rb") as file:
        data = file.read()
    if path.endswith(".ipynb"):
        text = _code_of_notebook(data)
    else:
        if b"\0" in data:
            raise SyntaxError("not text")
        try:
            text = python2.decode(data)
        except (LookupError, UnicodeDecodeError) as error:
            raise SyntaxError(f"not text: {error}") from None
    try:
        return Parsed(ast.parse(text), list(range(1, text.count("\n") + 3)))
    except (SyntaxError, ValueError) as error:
        return _parse_python2(text, path, error)


def _parse_python2(text: str, path: str, refusal: Exception) -> Parsed:
    """Parse source that Python 3 rejects; if Python 2 rejects it too, raise Python 3's error."""
    from stillflow.facade.revive import python2

    try:
        translated = python2.translate(text, path)
        return Parsed(ast.parse(translated), python2.original_lines(text, translated), True)
    except (SyntaxError, ValueError):
        reason = str(refusal)
        if isinstance(refusal, SyntaxError):
            reason = f"line {refusal.lineno}: {refusal.msg}"
        raise SyntaxError(f"neither Python 3 nor Python 2 ({reason})") from None


def _code_of_notebook(data: bytes) -> str:
    """Return the code of a notebook, without lines that only IPython understands."""
    try:
        book = json.loads(data)
        cells = book["cells"] if "cells" in book else book["worksheets"][0]["cells"]
        code = [cell for cell in cells if cell["cell_type"] == "code"]
        sources = [cell.get("source", cell.get("input", "")) for cell in code]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        reason = str(error) if isinstance(error, ValueError) else repr(error)
        raise SyntaxError(f"not a notebook: {reason}") from None
    return "\n".join(_without_magic("".join(source)) for source in sources)


def _without_magic(cell: str) -> str:
    """Return a cell's code; lines for IPython become lines that do nothing, in the same block."""
    lines = cell.split("\n")
    magic = _CELL_MAGIC.match(cell)
    if magic and magic[1] not in _MAGICS_OVER_PYTHON:
        return "\n".join("pass" for _ in lines)
    for number, line in enumerate(lines):
        code = line.lstrip()
        if code[:1] in _FOR_IPYTHON and not _is_begun("\n".join(lines[:number])):
            lines[number] = line[: len(line) - len(code)] + "pass"
    return "\n".join(lines)


def _is_begun(text: str) -> bool:
    """Return True if brackets, a string or a backslash continue the last statement."""
    if not text:
        return False
    try:
        for _ in tokenize.generate_tokens(io.StringIO(text + "\n").readline):
            pass
    except tokenize.TokenError as error:
        return "multi-line" in str(error)
    except SyntaxError:
        pass  # a wrong indentation: parsing says where
    return False
