"""API reference as Markdown: one page for each namespace, made of the facts of api_facts.py."""

from __future__ import annotations

import html
import inspect
import os
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "src"))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # no notes about deprecated names

from api_facts import Fact, Facts

ROOT_PAGE = "tf"
LONGEST = 84  # a call that is longer has one argument a line
SECTION = re.compile(r"([A-Z][\w ]*):")
TITLES = {"Args": "Arguments"}
LISTS = ("Args", "Arguments", "Attributes", "Call arguments", "Raises", "Fields", "Warns")
ITEM = re.compile(r"([*`]*[\w.]+[`]?(?:(?:, | or | and )[*`]*[\w.]+[`]?)*(?: \([^)]*\))?): +(.*)")


class Reference:
    """The public names by namespace, with their facts."""

    def __init__(self) -> None:
        self.facts = Facts()
        self._spaces: dict[str, list[str]] = defaultdict(list)
        for name in sorted(self.facts.table):
            self._spaces[name.rpartition(".")[0]].append(name)

    def index(self) -> str:
        """Return the table of namespaces."""
        lines = ["| namespace | names |", "|---|---:|"]
        for space, members in sorted(self._spaces.items()):
            shown = f"tf.{space}" if space else "tf"
            lines.append(f"| [`{shown}`](api/{space or ROOT_PAGE}.md) | {len(members)} |")
        return "\n".join(lines) + "\n"

    def pages(self) -> dict[str, str]:
        """Return the pages by namespace."""
        return {space or ROOT_PAGE: self._page(space) for space in self._spaces}

    def sources(self) -> dict[str, Path]:
        """Return the source files that the pages link to, by module."""
        modules = {target.partition(":")[0] for target in self.facts.table.values()}
        found = {module: self.facts.path(module) for module in sorted(modules)}
        return {module: path for module, path in found.items() if path is not None}

    def _page(self, space: str) -> str:
        shown = f"tf.{space}" if space else "tf"
        # Guides come first in the search.
        lines = ["---", "search:", "  boost: 0.2", "---", "", f"# {shown}", ""]
        for name in self._spaces[space]:
            lines += entry(name, self.facts.fact(name))
        return "\n".join(lines) + "\n"


def entry(name: str, fact: Fact) -> list[str]:
    """Return the lines about one name."""
    lines = [f"## {name.rpartition('.')[2]} {{.api}}", ""]
    if fact.kind != "constant":
        prefix = "class " if fact.kind == "class" else ""
        call = f"{prefix}tf.{name}{signature(fact.arguments, len(name))}"
        lines += ["```python", call, "```", ""]
    source = ""
    if fact.line:
        link = f"../source/{fact.module}.html#L{fact.line}"
        source = f'<a class="api-source" href="{link}">source</a>'
    doc = fact.doc or (f"Constant of `{fact.module}`." if fact.kind == "constant" else "")
    lines += described(doc, source)
    if fact.bases:
        bases = ", ".join(f"`tf.{base}`" for base in fact.bases)
        lines += [f'<p class="api-bases">{marked(f"Derives from {bases}.")}</p>', ""]
    return [*lines, *members(fact)]


def signature(arguments: tuple[str, ...], before: int) -> str:
    """Return the arguments as text behind a name of some length."""
    line = f"({', '.join(arguments)})"
    if before + len(line) <= LONGEST:
        return line
    return "(\n    " + ",\n    ".join(arguments) + ",\n)"


def members(fact: Fact) -> list[str]:
    """Return the list of a class's members, closed until a reader opens it."""
    if not fact.members:
        return []
    rows = "".join(
        f"<dt><code>{html.escape(x.call, quote=False)}</code></dt>"
        f"<dd>{marked(' '.join(x.summary.split()))}</dd>"
        for x in fact.members
    )
    count = len(fact.members)
    title = f"{count} members" if count > 1 else "1 member"
    return [f'<details class="api-members"><summary>{title}</summary><dl>{rows}</dl></details>', ""]


def described(doc: str, source: str = "") -> list[str]:
    """Return the lines of a docstring: paragraphs, lists of arguments and errors, examples."""
    first, _, rest = doc.partition("\n\n")
    lines = [f"<p>{marked(first)} {source}".rstrip() + "</p>", ""]
    for title, body in sections(rest):
        if title in LISTS:
            lines += [head(title), definitions(body), ""]
        elif title.startswith("Example") or body.lstrip().startswith(">>>"):
            language = "pycon" if body.lstrip().startswith(">>>") else "text"
            lines += [head(title), "", f"```{language}", *body.strip("\n").splitlines(), "```", ""]
        elif title:
            lines += [head(title), f"<dl><dd>{marked(body.strip())}</dd></dl>", ""]
        else:
            lines += list(paragraphs(body))
    return lines


def head(title: str) -> str:
    """Return the heading of a docstring's section."""
    return f'<p class="api-head">{TITLES.get(title, title)}</p>' if title else ""


def sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield the sections of a docstring, dedented, by title; text outside has the title ""."""
    title = ""
    lines: list[str] = []
    rows = text.splitlines()
    for i, row in enumerate(rows):
        match = SECTION.fullmatch(row)
        if match and rows[i + 1 : i + 2] and rows[i + 1].startswith(" "):
            yield title, inspect.cleandoc("\n" + "\n".join(lines))
            title, lines = match[1], []
        elif title and row and not row.startswith(" "):
            yield title, inspect.cleandoc("\n" + "\n".join(lines))
            title, lines = "", [row]
        else:
            lines.append(row)
    yield title, inspect.cleandoc("\n" + "\n".join(lines))


def definitions(body: str) -> str:
    """Return the list of arguments, attributes or errors as HTML."""
    items: list[tuple[str, list[str]]] = []
    for row in body.splitlines():
        match = None if row.startswith(" ") else ITEM.fullmatch(row)
        if match:
            items.append((match[1], [match[2]]))
        elif items:
            items[-1][1].append(row.strip())
        elif row.strip():
            items.append(("", [row.strip()]))
    rows = (
        (f"<dt><code>{html.escape(name.replace('`', ''), quote=False)}</code></dt>" if name else "")
        + f"<dd>{marked(' '.join(filter(None, text)))}</dd>"
        for name, text in items
    )
    return f"<dl>{''.join(rows)}</dl>"


def paragraphs(body: str) -> Iterator[str]:
    """Yield paragraphs; those with lists, formulas and code keep their lines."""
    for text in re.split(r"\n{2,}", body):
        if not text.strip():
            continue
        if re.search(r"(?m)^(?: |[*-] |\d+\. |\||>>>|```)", text):
            yield f'<pre class="docstring">{html.escape(text.rstrip(), quote=False)}</pre>'
        else:
            yield f"<p>{marked(text)}</p>"
        yield ""


def marked(text: str) -> str:
    """Return a docstring as HTML, with code between backticks marked."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(text, quote=False))
