"""Hold the budgets: 600 lines a file, 50 lines a function, 150 lines in CHANGELOG.md.

Of a function its body counts, without the docstring: its arguments are TensorFlow's to say.
Files that a tool writes are named in GENERATED. The 100 columns of a line are ruff's to check.
Of all functions of `src` at most 15 in 100 return a bare `Any`, and at most 250 comments silence
mypy, 60 ruff. The main package has a bound for its lines, all of them and the tables of names, too:
what few programs use belongs in `stillflow_contrib`.

The runtime has bounds of its own, as it has to be read before it is changed. Its lines of code
count, other than imports, docstrings and overloads, in all parts but those that only look at plans
or that spread them over tasks. Engines, which are optional, have a bound of their own. A change
that exceeds a bound removes something, or moves it where it belongs.

    python tools/check_budgets.py
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = ("src", "tools", "benchmarks", "examples")
FILE_LINES, FUNCTION_LINES, CHANGELOG_LINES = 600, 50, 150
GENERATED = {"src/stillflow/_api.py", "src/stillflow_contrib/_api.py"}
MAIN = ROOT / "src" / "stillflow"
MAIN_LINES = 317_900  # of all modules: below 320,000 with a last, empty line for each
RUNTIME = MAIN / "runtime"
APART = ("cluster/", "processes/", "explain/", "ir/verify", "engines/")  # of the runtime's files
ENGINE_LINES = 758  # 200 of them keep models on disk
RUNTIME_LINES, FLAT_MODULES, IMPORTS, COMPLEXITY, REQUEST_ARGUMENTS = 9409, 6, 25, 15, 4
# Parts with a bound of their own, for a large gain, and that can be left out whole; 29 of the lines
# above call them.
PARTS = {
    "loops/recurrences.py": 255,  # recurrent loops as one step: half the time or less
    "passes/elements.py": 167,  # many small kernels in one call: half the time or less
    "passes/small_steps.py": 120,  # hundreds of steps of feature columns: a quarter of their time
    "passes/written_out.py": 100,  # layer norms, GELUs, and gradients: a tenth of a transformer's
    "passes/packed_weights.py": 110,  # weights of frozen graphs laid out once: half the time
    "passes/matrix_products.py": 30,
}
_NO_CODE = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
_DECISIONS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.match_case)
ANY_SHARE = 0.15
COMMENTS = {"# type: ignore": 250, "# noqa": 60, "# ruff: noqa": 5}


def faults(name: str, text: str, tree: ast.Module) -> Iterator[str]:
    """Yield a line for each budget that a file overruns."""
    lines = len(text.splitlines())
    if lines > FILE_LINES:
        yield f"{name}: {lines} lines, more than {FILE_LINES}"
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            length = _code_lines(node)
            if length > FUNCTION_LINES:
                where = f"{name}:{node.lineno}: {node.name}"
                yield f"{where} has {length} lines, more than {FUNCTION_LINES}"


def _code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a body without its docstring, and without the functions inside it."""
    documented = ast.get_docstring(function) is not None and len(function.body) > 1
    start = function.body[1 if documented else 0].lineno
    inner = sum(
        (node.end_lineno or node.lineno) - node.lineno + 1
        for statement in function.body
        for node in _functions(statement)
    )
    return (function.end_lineno or start) - start + 1 - inner


def _functions(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the outermost functions in a statement."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        yield node
    else:
        for child in ast.iter_child_nodes(node):
            yield from _functions(child)


def changelog_faults() -> Iterator[str]:
    """Yield a line for an overlong changelog and for each entry that a merge has doubled."""
    lines = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
    if len(lines) > CHANGELOG_LINES:
        yield (
            f"CHANGELOG.md: {len(lines)} lines, more than {CHANGELOG_LINES}: one line a change, in "
            "its group; a merge may have brought old entries back"
        )
    entries = Counter(line for line in lines if line)
    yield from (f"CHANGELOG.md: twice: {line}" for line, count in entries.items() if count > 1)


def main_package_faults(root: Path = MAIN, most: int = MAIN_LINES) -> Iterator[str]:
    """Yield a line if the modules of the main package have more lines than they may."""
    total = sum(len(path.read_bytes().splitlines()) for path in root.rglob("*.py"))
    if total > most:
        yield f"{root.name}/: {total} lines, more than {most}"


def tally(text: str, tree: ast.Module) -> Counter[str]:
    """Count functions, those that return a bare `Any`, and comments that silence a check."""
    functions = [
        node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    bare = [each for each in functions if each.returns and ast.unparse(each.returns) == "Any"]
    comments = {kind: text.count(kind) for kind in COMMENTS}
    return Counter({"functions": len(functions), "Any": len(bare), **comments})


def typing_faults(counts: Counter[str]) -> Iterator[str]:
    """Yield a line for each budget of types and of silenced checks that is overrun."""
    share = counts["Any"] / counts["functions"]
    if share > ANY_SHARE:
        yield f"{share:.1%} of functions return a bare Any, more than {ANY_SHARE:.0%}"
    for kind, most in COMMENTS.items():
        if counts[kind] > most:
            yield f"{counts[kind]} comments '{kind}', more than {most}"


def code_lines(text: str) -> int:
    """Return the number of lines with code, without imports, docstrings, comments, overloads."""
    aside: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        value = node.value if isinstance(node, ast.Expr) else None
        docstring = isinstance(value, ast.Constant) and isinstance(value.value, str)
        if docstring or isinstance(node, (ast.Import, ast.ImportFrom)):
            aside.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        elif isinstance(node, ast.FunctionDef) and "overload" in map(
            ast.unparse, node.decorator_list
        ):
            aside.update(range(node.lineno - 1, (node.end_lineno or node.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _NO_CODE:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - aside)


def runtime_faults(root: Path = RUNTIME) -> Iterator[str]:
    """Yield a line for each bound of the runtime that it exceeds."""
    flat = sorted(path.name for path in root.glob("*.py"))
    if len(flat) > FLAT_MODULES:
        yield f"{root.name}/: {len(flat)} modules, more than {FLAT_MODULES}: {', '.join(flat)}"
    total = engines = 0
    for path in sorted(root.rglob("*.py")):
        name, text = path.relative_to(root).as_posix(), path.read_text(encoding="utf-8")
        lines = code_lines(text)
        total += 0 if name.startswith(APART) or name in PARTS else lines
        if lines > PARTS.get(name, lines):
            yield f"{root.name}/{name}: {lines} lines of code, more than {PARTS[name]}"
        engines += lines if name.startswith("engines/") else 0
        for fault in _module_faults(ast.parse(text)):
            yield f"{root.name}/{name}: {fault}"
    if total > RUNTIME_LINES:
        yield f"{root.name}/: {total} lines of code, more than {RUNTIME_LINES}"
    if engines > ENGINE_LINES:
        yield f"{root.name}/engines/: {engines} lines of code, more than {ENGINE_LINES}"


def _module_faults(tree: ast.Module) -> Iterator[str]:
    types = {  # imports for type checkers alone
        id(inner) for node in tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in node.body
    }  # fmt: skip
    imports = sum(
        isinstance(node, (ast.Import, ast.ImportFrom)) and id(node) not in types
        for node in ast.walk(tree)
    )
    if imports > IMPORTS:
        yield f"{imports} import statements, more than {IMPORTS}"
    for node in ast.walk(tree):
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if complexity(node) > COMPLEXITY:
            yield f"{node.name} has complexity {complexity(node)}, more than {COMPLEXITY}"
        taken = len(node.args.args) + len(node.args.kwonlyargs)
        if node.name == "make_plan" and taken > REQUEST_ARGUMENTS:
            yield f"make_plan takes {taken} arguments, more than {REQUEST_ARGUMENTS}"


def complexity(function: ast.AST) -> int:
    """Return McCabe's complexity of the statements of a function."""
    return 1 + sum(isinstance(node, _DECISIONS) for node in ast.walk(function))


def main() -> int:
    found = [*changelog_faults(), *main_package_faults(), *runtime_faults()]
    counts: Counter[str] = Counter()
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            name = path.relative_to(ROOT).as_posix()
            if name in GENERATED:
                continue
            text = path.read_text(encoding="utf-8")
            tree = ast.parse(text)
            found += faults(name, text, tree)
            if folder == "src":
                counts += tally(text, tree)
    found += typing_faults(counts)
    print("\n".join(found) or "budgets kept")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
