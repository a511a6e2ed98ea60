"""Sources of functions: syntax trees with true line numbers."""

from __future__ import annotations
import __future__

import ast
import copy
import inspect
import linecache
from collections.abc import Callable, Iterator
from types import CodeType, FunctionType
from typing import Any

FunctionNode = ast.FunctionDef | ast.Lambda
_FUTURES = 0
for _name in __future__.all_feature_names:
    _FUTURES |= getattr(__future__, _name).compiler_flag

_Functions = dict[tuple[int, str], list[FunctionNode]]  # by first line and name
# Of each file the lines that were parsed, and its functions.
_files: dict[str, tuple[list[str], _Functions]] = {}
# The trees of files that are not compiled as they are, and functions that remember them.
_trees: dict[str, ast.Module] = {}
_later: dict[str, Callable[[], object]] = {}


def remember(filename: str, tree: ast.Module) -> None:
    """Says that a file's code is compiled from a tree that is not that of its text."""
    _trees[filename] = tree


def remember_later(filename: str, remembering: Callable[[], object]) -> None:
    """Have a function call `remember` for a file as soon as its tree is needed."""
    _later[filename] = remembering


def future_flags(code: CodeType) -> int:
    """Return the flags of the `from __future__ import ...` under which code was compiled."""
    return code.co_flags & _FUTURES


def parse_str(src: str, preamble_len: int = 0, single_node: bool = True) -> Any:
    """Return the syntax tree of code after `preamble_len` statements.

    If there has to be a `single_node`, it is returned itself, not in a list.
    """
    nodes = ast.parse(src).body[preamble_len:]
    if not single_node:
        return nodes
    if len(nodes) != 1:
        raise ValueError(f"expected exactly one node node, found {nodes}")
    return nodes[0]


def parse_expression(src: str) -> ast.expr:
    """Return the syntax tree of an expression; ValueError if the code is something else."""
    node = parse_str(src.strip())
    if not isinstance(node, ast.Expr):
        raise ValueError(f"expected a single expression, found instead {node}")
    return node.value


def future_imports(entity: Any) -> tuple[str, ...]:
    """Return the names that the module of a function or method has of `__future__`.

    None for others.
    """
    if not (inspect.isfunction(entity) or inspect.ismethod(entity)):
        return ()
    names = entity.__globals__.items()  # type: ignore[union-attr]
    return tuple(
        sorted(name for name, value in names if getattr(value, "__module__", "") == "__future__")
    )


def function_node(function: FunctionType) -> FunctionNode:
    """Return the syntax tree of a function, a copy that may be changed.

    ValueError if the source cannot be had, or does not say which of several functions it is.
    """
    code = function.__code__
    found = _functions(code, function.__globals__).get((code.co_firstlineno, code.co_name), [])
    found = [node for node in found if _arguments(node) == _argument_names(code)]
    if len(found) > 1:
        found = _narrowest(found, code)
    if len(found) != 1:
        raise ValueError(_unidentified(function, len(found)))
    return copy.deepcopy(found[0])


def _functions(code: CodeType, namespace: dict[str, Any]) -> _Functions:
    """Return the functions of a file; it is parsed once, and again if it is another one."""
    filename = code.co_filename
    lines = linecache.getlines(filename, namespace)
    known = _files.get(filename)
    if known is None or known[0] is not lines:
        if filename in _later:
            _later.pop(filename)()
        known = _files[filename] = (lines, _index(_trees.get(filename) or _parsed(code, lines)))
    return known[1]


def _parsed(code: CodeType, lines: list[str]) -> ast.AST:
    filename, flags = code.co_filename, ast.PyCF_ONLY_AST | future_flags(code)
    if not lines:
        raise ValueError(f"the source code of {code.co_name} in {filename} is not available")
    try:
        return compile("".join(lines), filename, "exec", flags, dont_inherit=True)
    except SyntaxError as error:
        raise ValueError(f"{filename} holds no Python of today: {error}") from None


def _index(tree: ast.AST) -> _Functions:
    found: _Functions = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Lambda):
            found.setdefault((node.lineno, "<lambda>"), []).append(node)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            found.setdefault((first, node.name), []).append(node)  # type: ignore[arg-type]
    return found


def _arguments(node: FunctionNode) -> tuple[str, ...]:
    args = node.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
    return tuple(arg.arg for arg in every if arg is not None)


def _argument_names(code: CodeType) -> tuple[str, ...]:
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & 0x04) + bool(code.co_flags & 0x08)  # *args, **kwargs
    return code.co_varnames[:count]


def _narrowest(candidates: list[FunctionNode], code: CodeType) -> list[FunctionNode]:
    """Those of several functions in a line whose body just holds the code's instructions."""
    places = list(_places(code))
    if not places:
        return candidates
    start, end = min(p[0] for p in places), max(p[1] for p in places)
    spans = [(_span(node), node) for node in candidates]
    around = [(span, node) for span, node in spans if span[0] <= start and end <= span[1]]
    if not around:
        return []
    latest = max(span[0] for span, _ in around)
    return [node for span, node in around if span[0] == latest]


def _span(node: FunctionNode) -> tuple[tuple[int, int], tuple[int, int]]:
    first, last = (
        (node.body,) * 2 if isinstance(node, ast.Lambda) else (node.body[0], node.body[-1])
    )
    assert last.end_lineno is not None and last.end_col_offset is not None
    return (first.lineno, first.col_offset), (last.end_lineno, last.end_col_offset)


def _places(code: CodeType) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the places of instructions; none before Python 3.11, which keeps lines only."""
    for line, end_line, column, end_column in getattr(code, "co_positions", tuple)():
        if None not in (line, end_line, column, end_column) and end_column > 0:
            yield (line, column), (end_line, end_column)


def _unidentified(function: FunctionType, count: int) -> str:
    code = function.__code__
    where = f"{code.co_filename}:{code.co_firstlineno}"
    if not count:
        return f"the source code at {where} is not that of {function.__qualname__}"
    line = linecache.getline(code.co_filename, code.co_firstlineno)
    return (
        f"Unable to identify source code of lambda function {function}. It was defined on this "
        f"line: {line}, which must contain a single lambda with matching signature. To avoid "
        "ambiguity, define each lambda in a separate expression."
    )
