"""Generator of the tables of public names: every name and the module that defines it.

Names of tf.contrib stand in `src/stillflow_contrib/_api.py`, all others in `src/stillflow/_api.py`.

The sources are read, never imported. Three forms mark what is public:

    @export("nn.relu", "relu")                     on a function or a class
    export("nn.relu")(relu)                        for a name that is bound otherwise
    INFO = export_value("logging.INFO", 20)        for a constant, or
    export_value("float32", float32)               for a name that is bound elsewhere in the module

and the table PUBLIC of protos/public.py names the protobuf messages.

    python tools/make_api.py            write the tables
    python tools/make_api.py --check    exit with 1 if a table on disk is stale
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "stillflow"
CONTRIB = ROOT / "src" / "stillflow_contrib"
HEADER = '''"""Public names and their modules. Written by tools/make_api.py; do not edit."""

TABLE = {
'''


class ExportError(Exception):
    """A mark that cannot be read without running the program, or a name that is given twice."""


def exports(tree: ast.Module, where: str) -> Iterator[tuple[str, str]]:
    """Yield (public name, name in the module) for every mark in a module.

    Raises:
      ExportError: A mark stands where the scanner cannot read it.
    """
    marks = {id(node) for node in ast.walk(tree) if isinstance(node, ast.Call) and _mark(node)}
    for statement in _top_level(tree):
        for call, name in _marked(statement):
            marks.discard(id(call))
            if name is None:
                raise ExportError(
                    f"{where}:{call.lineno}: the marked object has no module-level name"
                )
            for public in _literals(call, where):
                yield public, name
    for node in ast.walk(tree):
        if id(node) in marks:
            raise ExportError(f"{where}:{node.lineno}: a mark must stand at a module's top level")


def _top_level(tree: ast.Module) -> Iterator[ast.stmt]:
    """Yield the statements that run when the module is imported, outside functions and classes."""
    pending: list[ast.AST] = list(reversed(tree.body))
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.If, ast.Try)):
            pending.extend(
                reversed(
                    [
                        child
                        for child in ast.walk(node)
                        if child is not node and isinstance(child, ast.stmt)
                    ]
                )
            )
        elif isinstance(node, ast.stmt):
            yield node


def _marked(statement: ast.stmt) -> Iterator[tuple[ast.Call, str | None]]:
    """Yield the marks in one statement, with the module-level name that each is about."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        for decorator in statement.decorator_list:
            if isinstance(decorator, ast.Call) and _mark(decorator) == "export":
                yield decorator, statement.name
    elif isinstance(statement, (ast.Assign, ast.AnnAssign, ast.Expr)):
        targets = (
            statement.targets
            if isinstance(statement, ast.Assign)
            else ([statement.target] if isinstance(statement, ast.AnnAssign) else [])
        )
        target = targets[0].id if targets and isinstance(targets[0], ast.Name) else None
        value = statement.value
        if not isinstance(value, ast.Call):
            return
        if _mark(value) == "export_value":
            yield value, target or _name(value.args[-1] if value.args else None)
        elif isinstance(value.func, ast.Call) and _mark(value.func) == "export":
            yield value.func, target or _name(value.args[0] if value.args else None)


def _mark(call: ast.Call) -> str | None:
    """Return the mark of a call: `export` or `export_value`; a method of that name is none."""
    name = _name(call.func)
    return name if name in ("export", "export_value") else None


def _name(node: ast.expr | None) -> str | None:
    return node.id if isinstance(node, ast.Name) else None


def _literals(call: ast.Call, where: str) -> list[str]:
    arguments = call.args[:-1] if _mark(call) == "export_value" else call.args
    names = [
        node.value
        for node in arguments
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    if not names or len(names) != len(arguments) or call.keywords:
        raise ExportError(f"{where}:{call.lineno}: public names must be string literals")
    return names


def messages(tree: ast.Module) -> dict[str, str]:
    """Return the table PUBLIC of protos/public.py: public name -> message class."""
    for statement in tree.body:
        target = (
            statement.targets[0]
            if isinstance(statement, ast.Assign)
            else getattr(statement, "target", None)
        )
        if _name(target) == "PUBLIC":
            table: dict[str, str] = ast.literal_eval(statement.value)  # type: ignore[attr-defined]
            return table
    raise ExportError("protos/public.py has no table PUBLIC")


def scan(*packages: Path) -> dict[str, str]:
    """Return the table: public name -> "module:name", relative to the first package.

    Raises:
      ExportError: Two definitions claim one name, or a name is a namespace as well.
    """
    table: dict[str, str] = {}
    for path in sorted(path for package in packages for path in package.rglob("*.py")):
        home = packages[0] if path.is_relative_to(packages[0]) else packages[0].parent
        relative = path.relative_to(home)
        parts = relative.with_suffix("").parts
        module = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        tree = ast.parse(path.read_bytes(), str(relative))
        found = list(exports(tree, str(relative)))
        if relative.as_posix() == "protos/public.py":
            found += [(public, f"protos:{name}") for public, name in messages(tree).items()]
        for public, name in found:
            target = name if ":" in name else f"{module}:{name}"
            if table.setdefault(public, target) != target:
                raise ExportError(f"{public} is both {table[public]} and {target}")
    for public in table:
        prefix = public.rpartition(".")[0]
        if prefix in table:
            raise ExportError(f"{public} lies inside {prefix}, which is not a namespace")
    return dict(sorted(table.items()))


def render(table: dict[str, str]) -> str:
    """Return the text of an `_api.py`: a line for each module, with the names that it serves."""
    by_module: dict[str, list[str]] = {}
    for public, target in table.items():
        by_module.setdefault(target.partition(":")[0], []).append(f'"{public}": "{target}",')
    lines = [f"    {' '.join(by_module[module])}\n" for module in sorted(by_module)]
    return HEADER + "".join(lines) + "}\n"


def files(table: dict[str, str]) -> dict[Path, str]:
    """Return the texts of the tables, by file."""
    contrib = {public: table[public] for public in table if public.startswith("contrib.")}
    others = {public: table[public] for public in table if public not in contrib}
    return {PACKAGE / "_api.py": render(others), CONTRIB / "_api.py": render(contrib)}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="compare with the file, write nothing")
    arguments = parser.parse_args()
    try:
        texts = files(scan(PACKAGE, CONTRIB))
    except ExportError as error:
        print(f"make_api: {error}", file=sys.stderr)
        return 1
    status = 0
    for path, text in texts.items():
        if path.is_file() and path.read_text(encoding="ascii") == text:
            continue
        if arguments.check:
            name = path.relative_to(ROOT).as_posix()
            print(f"make_api: {name} is stale; run tools/make_api.py", file=sys.stderr)
            status = 1
        else:
            path.write_text(text, encoding="ascii")
    return status


if __name__ == "__main__":
    sys.exit(main())
