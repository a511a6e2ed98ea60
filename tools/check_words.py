"""Check the English of docstrings and comments against tools/words.tsv, a list of words to avoid.

`tools/words_allowed.txt` holds the number of hits that each package may still have. No number may
grow; the goal of each is 0.

    python tools/check_words.py                 # counts by package; exit status 1 if one grew
    python tools/check_words.py --list [PATH]   # every hit: file:line, the words, plainer ones
    python tools/check_words.py --rules         # counts by rule
    python tools/check_words.py --shrink        # lower the allowed numbers to the present ones
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
WORDS = ROOT / "tools" / "words.tsv"
ALLOWED = ROOT / "tools" / "words_allowed.txt"
FOLDERS = ("src", "tools", "tests", "examples", "benchmarks")
# Code in a text, and the name of an argument that an entry describes: neither is English.
CODE = re.compile(r"``[^`]*``|`[^`]*`|^\s*\*{0,2}\w+:(?= )", re.MULTILINE)
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Rule(NamedTuple):
    """A pattern to avoid and its plainer replacement."""

    pattern: re.Pattern[str]
    plainer: str
    first: bool  # compared with the beginning of docstrings only
    text: str


class Text(NamedTuple):
    """A docstring or a block of comments, and the line on which it starts."""

    line: int
    text: str
    docstring: bool


class Hit(NamedTuple):
    """A text to avoid, with its place."""

    file: str
    line: int
    found: str
    rule: Rule

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.found!r}: {self.rule.plainer}"


def read_rules(path: Path = WORDS) -> list[Rule]:
    """Return the rules of the list, in its order."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    rules = []
    for text, plainer in rows[1:]:
        first = text.startswith("^")
        body = rf"(?:{text.removeprefix('^')})\b"
        pattern = re.compile(rf"\A\W*{body}" if first else rf"\b{body}", re.IGNORECASE)
        rules.append(Rule(pattern, plainer, first, text))
    return rules


def texts(source: str) -> Iterator[Text]:
    """Yield the docstrings of a module, then its comments; neighbouring lines are one comment."""
    for node in _statements(ast.parse(source)):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node) is not None:
            constant = node.body[0].value  # type: ignore[attr-defined]
            yield Text(constant.lineno, constant.value, True)
    block: list[str] = []
    start, last = 0, (-2, -1)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        line, column = token.start
        if block and (line, column) != (last[0] + 1, last[1]):
            yield Text(start, "\n".join(block), False)
            block = []
        start = start if block else line
        block.append(token.string.lstrip("#: "))
        last = line, column
    if block:
        yield Text(start, "\n".join(block), False)


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield a module's statements, with those inside of others; expressions hold no docstrings."""
    yield node
    for part in ("body", "orelse", "handlers", "finalbody", "cases"):
        children = getattr(node, part, ())
        for child in children if isinstance(children, list) else ():
            yield from _statements(child)


def hits(source: str, file: str, rules: list[Rule]) -> Iterator[Hit]:
    """Yield the hits of a module's source."""
    for text in texts(source):
        plain = CODE.sub(lambda code: "_" * len(code.group()), text.text)
        plain = re.sub(r"\s", " ", plain)
        for rule in rules:
            if rule.first and not text.docstring:
                continue
            for match in rule.pattern.finditer(plain):
                line = text.line + text.text.count("\n", 0, match.start())
                yield Hit(file, line, match.group().strip(), rule)


def package(file: str) -> str:
    """Return the name under which the hits of a file are counted."""
    parts = Path(file).with_suffix("").parts
    if parts[0] != "src":
        return parts[0]
    parts = parts[1:]
    if parts[0] != "stillflow" or len(parts) < 3:
        return parts[0]
    return ".".join(parts[:2])


def all_hits(rules: list[Rule], root: Path = ROOT) -> Iterator[Hit]:
    """Yield the hits of every Python file, those that protobuf generated excepted."""
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            if not path.name.endswith("_pb2.py"):
                file = path.relative_to(root).as_posix()
                yield from hits(path.read_text(encoding="utf-8"), file, rules)


def read_allowed(path: Path = ALLOWED) -> dict[str, int]:
    """Return the allowed number of hits of each package; a package without a line has none."""
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = [line.rpartition(": ") for line in lines if line and not line.startswith("#")]
    return {name: int(count) for name, _, count in rows}


def write_allowed(counts: dict[str, int], path: Path = ALLOWED) -> None:
    """Write the numbers that are not 0."""
    head = "# Hits of tools/check_words.py that remain, by package. No number may grow."
    lines = [f"{name}: {count}" for name, count in sorted(counts.items()) if count]
    path.write_text("\n".join([head, *lines, ""]), encoding="utf-8")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", nargs="?", const="", metavar="PATH", help="print hits below PATH")
    parser.add_argument("--rules", action="store_true", help="print counts by rule")
    parser.add_argument("--shrink", action="store_true", help="lower the allowed numbers")
    options = parser.parse_args(arguments)
    found = list(all_hits(read_rules()))
    if options.list is not None:
        print(*(hit for hit in found if hit.file.startswith(options.list)), sep="\n")
        return 0
    if options.rules:
        by_rule = Counter(hit.rule.text for hit in found)
        print(*(f"{count:6} {text}" for text, count in by_rule.most_common()), sep="\n")
        return 0
    counts = Counter(package(hit.file) for hit in found)
    allowed = read_allowed()
    if options.shrink:
        allowed = {name: min(counts[name], most) for name, most in allowed.items()}
        write_allowed(allowed)
    print(f"words to avoid: {len(found)}; allowed: {sum(allowed.values())}")
    grown = [name for name in sorted(counts) if counts[name] > allowed.get(name, 0)]
    for name in grown:
        print(f"  {name}: {counts[name]} hits, {allowed.get(name, 0)} allowed (--list shows them)")
    return bool(grown)


if __name__ == "__main__":
    sys.exit(main())
