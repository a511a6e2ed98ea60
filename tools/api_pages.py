"""API reference as Markdown: one page for each namespace, read from the table of exports.

The sources are parsed, never imported.
"""

from __future__ import annotations

import ast
import html
import inspect
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

from build_stubs import read_table
from derived_signatures import derived

ROOT_PAGE = "tf"
LONGEST = 84  # a call that is longer has one argument a line


@dataclass(frozen=True)
class Definition:
    """A name's place in the sources: its kind, line, arguments and docstring."""

    kind: str
    line: int
    arguments: tuple[str, ...]
    doc: str

    def signature(self, before: int) -> str:
        """Return the arguments as text behind a name of some length."""
        line = f"({', '.join(self.arguments)})"
        if before + len(line) <= LONGEST:
            return line
        return "(\n    " + ",\n    ".join(self.arguments) + ",\n)"


class Reference:
    """The public names by namespace, with their definitions."""

    def __init__(self, root: Path) -> None:
        self._root = root / "src"
        self._modules: dict[str, dict[str, Definition]] = {}
        self._spaces: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for name, target in sorted(read_table().items()):
            self._spaces[name.rpartition(".")[0]].append((name, target))
        self._messages = message_docstrings(self._root)

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
        targets = {target for members in self._spaces.values() for _, target in members}
        modules = {target.partition(":")[0] for target in targets}
        return {module: path for module in modules if (path := self._path(module)) is not None}

    def _page(self, space: str) -> str:
        shown = f"tf.{space}" if space else "tf"
        # Guides come first in the search.
        lines = ["---", "search:", "  boost: 0.2", "---", "", f"# {shown}", ""]
        for name, target in self._spaces[space]:
            lines += self._entry(name, target)
        return "\n".join(lines) + "\n"

    def _entry(self, name: str, target: str) -> list[str]:
        module, _, attribute = target.partition(":")
        found = self._definition(module, attribute)
        leaf = name.rpartition(".")[2]
        lines = [f"## {leaf} {{.api}}", ""]
        if found is None:
            doc = self._messages.get(attribute, "") if module == "protos" else ""
            return [*lines, *(described(doc) if doc else [f"Defined in `{module}`.", ""])]
        source = f'<a class="api-source" href="../source/{module}.html#L{found.line}">source</a>'
        if found.kind != "constant":
            prefix = "class " if found.kind == "class" else ""
            lines += ["```python", f"{prefix}tf.{name}{found.signature(len(name))}", "```", ""]
        return [*lines, *described(found.doc, source)]

    def _path(self, module: str) -> Path | None:
        parts = module.split(".")
        tops = [self._root / "stillflow", self._root]
        for top in tops:
            for path in (
                top.joinpath(*parts).with_suffix(".py"),
                top.joinpath(*parts, "__init__.py"),
            ):
                if path.is_file():
                    return path
        return None

    def _definition(self, module: str, attribute: str) -> Definition | None:
        if module not in self._modules:
            path = self._path(module)
            text = path.read_text(encoding="utf-8") if path else ""
            self._modules[module] = definitions(ast.parse(text))
        found = self._modules[module].get(attribute)
        if found and (made := derived(f"{module}:{attribute}")):
            kind = "function" if made.kind == "def" else "class"
            return replace(found, kind=kind, arguments=made.call(), doc=made.doc or found.doc)
        return found


def described(doc: str, source: str = "") -> list[str]:
    """Return the lines of a docstring: a paragraph, preformatted text and a session of Python."""
    first, _, rest = doc.partition("\n\n")
    rest, _, example = rest.partition("Example:\n  >>> ")
    lines = [f"<p>{marked(first)} {source}".rstrip() + "</p>", ""]
    if rest.strip():
        text = html.escape(rest.rstrip(), quote=False)
        text = text.replace("\n\n", "\n&#8203;\n")  # a blank line would end the HTML
        lines += [f'<pre class="docstring">{text}</pre>', ""]
    if example:
        lines += ["```pycon", *inspect.cleandoc(f"  >>> {example}").splitlines(), "```", ""]
    return lines


def message_docstrings(root: Path) -> dict[str, str]:
    """Return the docstrings of messages by name."""
    path = root / "stillflow" / "protos" / "docstrings.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    table = next(node.value for node in tree.body if isinstance(node, ast.Assign))
    return {name: inspect.cleandoc(doc) for name, doc in ast.literal_eval(table).items()}


def definitions(tree: ast.Module) -> dict[str, Definition]:
    """Return a module's top-level definitions."""
    found: dict[str, Definition] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.col_offset <= 4:
            found.setdefault(node.name, _described(node))
        elif isinstance(node, (ast.Assign, ast.AnnAssign)) and node.col_offset == 0:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Name):
                    found.setdefault(target.id, Definition("constant", node.lineno, (), ""))
    return found


def _described(node: ast.FunctionDef | ast.ClassDef) -> Definition:
    doc = inspect.cleandoc(ast.get_docstring(node) or "")
    if isinstance(node, ast.FunctionDef):
        return Definition("function", node.lineno, arguments_of(node), doc)
    init = next(
        (one for one in node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"),
        None,
    )
    return Definition("class", node.lineno, arguments_of(init, 1) if init else (), doc)


def marked(text: str) -> str:
    """Return a docstring as HTML, with code between backticks marked."""
    return re.sub(r"`([^`\n]+)`", r"<code>\1</code>", html.escape(text, quote=False))


def arguments_of(node: ast.FunctionDef, skip: int = 0) -> tuple[str, ...]:
    """Return the arguments of a function as text, without the first `skip` of them."""
    arguments = node.args
    given = [*arguments.posonlyargs, *arguments.args]
    defaults: list[ast.expr | None] = [None] * (len(given) - len(arguments.defaults))
    defaults += arguments.defaults
    parts = [_argument(one, default) for one, default in zip(given, defaults)][skip:]
    if arguments.vararg:
        parts.append("*" + arguments.vararg.arg)
    elif arguments.kwonlyargs:
        parts.append("*")
    parts += [_argument(*pair) for pair in zip(arguments.kwonlyargs, arguments.kw_defaults)]
    if arguments.kwarg:
        parts.append("**" + arguments.kwarg.arg)
    return tuple(parts)


def _argument(argument: ast.arg, default: ast.expr | None) -> str:
    return argument.arg if default is None else f"{argument.arg}={ast.unparse(default)}"


def read(root: Path) -> Reference:
    """Return the reference of a checkout."""
    return Reference(root)
