"""Python 2 sources as Python 3 sources, by 2to3."""

from __future__ import annotations

import ast
import functools
import io
import re
import tokenize
import warnings
from typing import Any

_NEWER = (
    ast.JoinedStr,
    ast.AnnAssign,
    ast.Nonlocal,
    ast.YieldFrom,
    ast.AsyncFunctionDef,
    ast.MatMult,
    ast.NamedExpr,
)
# Fixers that would change the meaning of the program here, or only its looks.
_LEFT_OUT = frozenset({"buffer", "idioms", "set_literal", "ws_comma"})
# Makes `import beside` relative: in a package, Python 2 looks there first.
_PACKAGED = frozenset({"import"})
# Modules that are served under their own names.
_KEPT = frozenset({"StringIO", "cStringIO"})


def translate(source: str, path: str, packaged: bool = False) -> str:
    """Return a Python 2 source in Python 3; SyntaxError if it is neither.

    `path` tells a package's own modules from others, if it is of one (`packaged`).
    """
    try:
        tree = _tool(packaged).refactor_string(_ends_with_newline(source), path)
    except Exception as error:  # the tool's own ParseError, TokenError ...
        raise SyntaxError(f"neither Python 3 nor Python 2: {error}") from None
    return _even_indentation(str(tree))


def original_lines(source: str, translation: str) -> list[int]:
    """Return, for each line of a translation, the line of the source that it comes from."""
    import difflib

    old, new = source.split("\n"), translation.split("\n")
    lines = list(range(1, len(new) + 2))
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for _, first, last, start, end in matcher.get_opcodes():
        for offset in range(end - start):
            lines[start + offset] = min(first + offset, max(first, last - 1)) + 1
    return lines


def has_future(source: str, feature: str) -> bool:
    """Return whether a source says ``from __future__ import feature``."""
    imports = re.findall(
        r"^[ \t]*from[ \t]+__future__[ \t]+import[ \t]*(\([^)]*\)|[^\n#]*)", source, re.MULTILINE
    )
    return any(re.search(rf"\b{feature}\b", names) for names in imports)


def is_newer(tree: ast.Module) -> bool:
    """Return whether a module has syntax that Python 2 does not know."""
    for node in ast.walk(tree):
        if isinstance(node, _NEWER):
            return True
        if isinstance(node, (ast.FunctionDef, ast.Lambda)) and node.args.kwonlyargs:
            return True
        if isinstance(node, (ast.FunctionDef, ast.arg)) and _annotation(node) is not None:
            return True
        if isinstance(node, ast.Raise) and node.cause is not None:
            return True
        if isinstance(node, ast.ClassDef) and node.keywords:
            return True
    return False


def _annotation(node: ast.FunctionDef | ast.arg) -> ast.expr | None:
    return node.returns if isinstance(node, ast.FunctionDef) else node.annotation


def decode(data: bytes) -> str:
    """Return the text of a source; one without a declared coding may be in Latin-1."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding)
    except (SyntaxError, UnicodeDecodeError):
        text = data.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


@functools.cache
def _tool(packaged: bool) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            from lib2to3 import refactor

            package = "lib2to3.fixes"
        except ImportError:  # Python 3.13 and later
            from fissix import refactor  # type: ignore[no-redef]

            package = "fissix.fixes"
        left_out = _LEFT_OUT if packaged else _LEFT_OUT | _PACKAGED
        fixers = [
            name
            for name in refactor.get_fixers_from_package(package)
            if name.rpartition(".fix_")[2] not in left_out
        ]
        return _refactoring_tool(refactor.RefactoringTool)(fixers)


def _refactoring_tool(base: type[Any]) -> type[Any]:
    """Return 2to3 without renamed imports of these modules: `StringIO` may have a variable `io`."""

    class Tool(base):
        def get_fixers(self) -> Any:
            fixers = super().get_fixers()
            for fixer in [*fixers[0], *fixers[1]]:
                if not _KEPT.isdisjoint(getattr(fixer, "mapping", ())):
                    names = fixer.mapping.items()
                    fixer.mapping = {old: new for old, new in names if old not in _KEPT}
                    fixer.compile_pattern()
            return fixers

    return Tool


def _ends_with_newline(source: str) -> str:
    return source if source.endswith("\n") else source + "\n"


def _even_indentation(source: str) -> str:
    """Replace tabs in the indentation by blanks, up to the next multiple of 8, as Python 2 did.

    Only where Python 3 rejects the mixture; the lines inside of a string are left alone.
    """
    try:
        compile(source, "<indentation>", "exec", dont_inherit=True)
        return source
    except TabError:
        pass
    except SyntaxError:
        return source
    lines = source.split("\n")
    inside = _lines_inside_strings(source)
    for number, line in enumerate(lines):
        text = line.lstrip(" \t")
        if number + 1 not in inside and text:
            lines[number] = line[: len(line) - len(text)].expandtabs(8) + text
    return "\n".join(lines)


def _lines_inside_strings(source: str) -> set[int]:
    inside: set[int] = set()
    for match in re.finditer(
        r"(?s)'''.*?'''|\"\"\".*?\"\"\"|#[^\n]*|'(?:\\.|[^'\\\n])*'"
        r"|\"(?:\\.|[^\"\\\n])*\"",
        source,
    ):
        first = source.count("\n", 0, match.start()) + 1
        inside.update(range(first + 1, first + 1 + match.group().count("\n")))
    return inside
