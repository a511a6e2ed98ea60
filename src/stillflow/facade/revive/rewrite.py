"""Python 2 habits in a syntax tree, replaced by calls of ``runtime``.

They either do not show in the syntax, as division, or only when they run: ``d.iteritems()``,
``array.tostring()``.
"""

from __future__ import annotations

import ast
from typing import Any, TypeVar

from stillflow.facade.revive import runtime

_Node = TypeVar("_Node", bound=ast.AST)
_PREFIX = "__stillflow_"
DIVIDE, DIVIDE_INTO, CALL = (f"{_PREFIX}{name}__" for name in ("divide", "divide_into", "call"))

# {name in rewritten code: name in `runtime`}
HELPERS = {DIVIDE: "divide", DIVIDE_INTO: "divide_into", CALL: "call"}


def import_first(tree: ast.Module, wanted: dict[str, dict[str, str]]) -> None:
    """Have a module begin, after its docstring, with imports {module: {name here: name there}}."""
    at = 0
    for at, statement in enumerate(tree.body):
        is_future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
        if not is_future and not (at == 0 and ast.get_docstring(tree) is not None):
            break
    for module, names in wanted.items():
        if names:
            aliases = [ast.alias(there, here) for here, there in names.items()]
            statement = ast.ImportFrom(module, aliases, 0)
            tree.body.insert(at, _located(statement, tree.body[at]))


def move_lines(tree: ast.AST, source: str, lines: list[int]) -> None:
    """Say where everything stands in the source: `lines` has its line for each of the tree's.

    The position in the line covers all of it, since its content has changed.
    """
    widths = [len(line.encode()) for line in source.split("\n")]
    node: Any
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            node.lineno = node.end_lineno = lines[node.lineno - 1]
            node.col_offset = 0
            node.end_col_offset = widths[node.lineno - 1]


class Methods(ast.NodeTransformer):
    """Rewriter of calls of removed methods into calls that fall back on their replacements."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        function = node.func
        if not isinstance(function, ast.Attribute) or function.attr not in runtime.METHODS:
            return node
        if function.attr in runtime.OF_TEXT and not _names_encoding(node):
            return node
        name = ast.Constant(function.attr)
        return _located(
            ast.Call(_name(CALL), [function.value, name, *node.args], node.keywords), node
        )


def _names_encoding(node: ast.Call) -> bool:
    """Return True if the first argument of a call is a literal string."""
    given = node.args[:1] or [word.value for word in node.keywords if word.arg == "encoding"]
    return bool(given) and isinstance(given[0], ast.Constant) and isinstance(given[0].value, str)


class Modules(ast.NodeTransformer):
    """Turn imports of Python 2's modules into those of their successors.

    An import inside of ``try`` is left alone: there the program looks after itself.
    """

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Try(self, node: ast.Try) -> ast.AST:
        if not any(_catches_import_error(handler) for handler in node.handlers):
            self.generic_visit(node)
        return node

    def visit_Import(self, node: ast.Import) -> list[ast.stmt]:
        return [_located(self._import(alias), node) for alias in node.names]

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if node.level == 0 and node.module in self.names:
            node.module = self.names[node.module]
        return node

    def _import(self, alias: ast.alias) -> ast.stmt:
        meant = self.names.get(alias.name)
        if meant is None:
            return ast.Import([alias])
        return ast.Import([ast.alias(meant, alias.asname or alias.name)])


class Division(ast.NodeTransformer):
    """Give ``/`` the meaning it has in Python 2: whole numbers of whole numbers."""

    def __init__(self) -> None:
        self._temporaries = 0

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        return _located(ast.Call(_name(DIVIDE), [node.left, node.right], []), node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST | list[ast.stmt]:
        self.generic_visit(node)
        if not isinstance(node.op, ast.Div):
            return node
        before, target, value = self._parts(node.target)
        divided = ast.Call(_name(DIVIDE_INTO), [value, node.value], [])
        return [_located(item, node) for item in (*before, ast.Assign([target], divided))]

    def _parts(self, target: ast.expr) -> tuple[list[ast.stmt], ast.expr, ast.expr]:
        """Return what to do first, where to assign, and what to read, each part evaluated once."""
        if isinstance(target, ast.Attribute):
            keep, name = self._keep(target.value)
            where = [ast.Attribute(_name(name), target.attr, how) for how in (_store, _load)]
            return [keep], where[0], where[1]
        if isinstance(target, ast.Subscript):
            keep, name = self._keep(target.value)
            keep_index, index = self._keep(as_expression(target.slice))
            where_ = [ast.Subscript(_name(name), _name(index), how) for how in (_store, _load)]
            return [keep, keep_index], where_[0], where_[1]
        assert isinstance(target, ast.Name)
        return [], target, _name(target.id)

    def _keep(self, value: ast.expr) -> tuple[ast.stmt, str]:
        self._temporaries += 1
        name = f"{_PREFIX}{self._temporaries}__"
        return ast.Assign([ast.Name(name, _store)], value), name


_load, _store = ast.Load(), ast.Store()


def _name(name: str) -> ast.Name:
    return ast.Name(name, _load)


def as_expression(index: ast.expr) -> ast.expr:
    """Return a subscript as an expression: ``slice(a, b)`` for ``a:b``."""
    if isinstance(index, ast.Slice):
        parts = [part or ast.Constant(None) for part in (index.lower, index.upper, index.step)]
        return ast.Call(ast.Name("slice", _load), parts, [])
    if isinstance(index, ast.Tuple):
        return ast.Tuple([as_expression(part) for part in index.elts], _load)
    return index


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or bool(
        _caught(handler) & {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
    )


def names_in_care(tree: ast.Module) -> set[str]:
    """Return the names that a program uses where it looks after the version of Python itself.

    That is where it catches `NameError`, or asks for the version: `unicode` is missing in Python 3,
    so it goes on with text.
    """
    found: set[str] = set()
    for node in ast.walk(tree):
        parts: list[ast.AST] = []
        if isinstance(node, ast.Try) and any("NameError" in _caught(h) for h in node.handlers):
            parts = [*node.body]
        elif isinstance(node, ast.If) and _asks_for_version(node.test):
            parts = [*node.body, *node.orelse]
        elif isinstance(node, ast.IfExp) and _asks_for_version(node.test):
            parts = [node.body, node.orelse]
        inside = (each for part in parts for each in ast.walk(part))
        found |= {each.id for each in inside if isinstance(each, ast.Name)}
    return found


_VERSIONS = frozenset(
    {"version_info", "hexversion", "python_version", "python_version_tuple"}
    | {name for number in "23" for name in (f"PY{number}", f"IS_PY{number}", f"_PY{number}",
                                            f"py{number}", f"is_py{number}", f"PYTHON{number}")}
)  # fmt: skip


def _asks_for_version(test: ast.AST) -> bool:
    """Return whether a condition is about the version of Python: `sys.version_info[0] < 3`."""
    for node in ast.walk(test):
        name = node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")
        if name in _VERSIONS or ast.unparse(node) == "sys.version":
            return True
    return False


def _caught(handler: ast.ExceptHandler) -> set[str]:
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {kind.id for kind in kinds if isinstance(kind, ast.Name)}


def _located(new: _Node, old: ast.AST) -> _Node:
    """Give a new node, and the nodes made with it, the place of the old one."""
    ast.copy_location(new, old)
    return ast.fix_missing_locations(new)
