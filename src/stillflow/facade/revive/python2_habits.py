"""Lines that mean something else in Python 2, in sources that Python 3 can read.

``map``, ``filter``, ``zip``, ``range`` and the views of dictionaries were lists; ``/`` gave whole
numbers of whole numbers; lists were sorted by functions of two arguments.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

_LAZY = frozenset({"map", "filter", "zip"})
_VIEWS = frozenset({"keys", "values", "items"})
_OF_LISTS = frozenset({"append", "extend", "insert", "pop", "remove", "reverse", "sort"})
_OF_ARRAYS = frozenset({
    "array", "asarray", "mean", "std", "var", "median", "max", "min", "argmax", "argmin",
    "concatenate", "choice", "permutation",
})  # fmt: skip
_LOOPS = (ast.For, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
SUSPECTS = _LAZY | _VIEWS | {"range", "sort", "sorted"}


class Habit(NamedTuple):
    """A line of Python 2.

    Attributes:
      line: its number.
      reason: what was different.
    """

    line: int
    reason: str


def habits(tree: ast.Module) -> list[Habit]:
    """Return the lines of a module that Python 3 takes for something else, in their order.

    Nothing is found if it has syntax that Python 2 does not know.
    """
    from stillflow.facade.revive import python2

    if python2.is_newer(tree):
        return []
    known = _imported(tree)
    found = [habit for scope in _scopes(tree) for habit in _Scope(scope, known).habits()]
    return sorted(set(found))


def _imported(tree: ast.Module) -> set[str]:
    """Return the names that a module imports or defines, and ``division`` if `/` is Python 3's."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            names.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
    return names


def _scopes(tree: ast.Module) -> Iterator[ast.AST]:
    yield tree
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            yield node


_Path = tuple[tuple[ast.AST, str], ...]


class _Scope:
    """The body of a module or a function, without the functions inside of it."""

    def __init__(self, scope: ast.AST, known: set[str]) -> None:
        self.known = known
        self.nodes: list[ast.AST] = []
        # The loops and branches in which a node stands.
        self.paths: dict[ast.AST, _Path] = {}
        self._collect(scope, ())
        self.lists: dict[str, str] = {}
        self.quotients: set[str] = set()
        self.given: dict[str, ast.Assign] = {}
        self._name()

    def _collect(self, node: ast.AST, path: _Path) -> None:
        for field, value in ast.iter_fields(node):
            for child in value if isinstance(value, list) else [value]:
                if not isinstance(child, ast.AST):
                    continue
                self.nodes.append(child)
                # The sequence of a loop is evaluated once, before it.
                repeated = isinstance(node, _LOOPS) and field not in ("iter", "target")
                branches = isinstance(node, ast.If) and field != "test"
                self.paths[child] = (*path, (node, field)) if repeated or branches else path
                if not isinstance(child, (*_FUNCTIONS, ast.ClassDef)):
                    self._collect(child, self.paths[child])

    def _name(self) -> None:
        """Find the variables that hold former lists, and quotients."""
        stores: dict[str, int] = {}
        for node in self.nodes:
            if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                stores[node.id] = stores.get(node.id, 0) + 1
            elif isinstance(node, ast.arg):
                stores[node.arg] = 1
        for node in self.nodes:
            if not isinstance(node, ast.Assign) or len(node.targets) != 1:
                continue
            target = node.targets[0]
            if not isinstance(target, ast.Name) or stores[target.id] != 1:
                continue
            kind = self._list(node.value)
            if kind is not None:
                self.lists[target.id], self.given[target.id] = kind, node
            elif self._is_quotient(node.value):
                self.quotients.add(target.id)

    def _list(self, node: ast.AST) -> str | None:
        """Return the former kind of list of an expression, as users know it; None if it is none."""
        if isinstance(node, ast.Name):
            return self.lists.get(node.id)
        if not isinstance(node, ast.Call):
            return None
        function = node.func
        if isinstance(function, ast.Name) and function.id in {*_LAZY, "range"} - self.known:
            return f"{function.id}()"
        if not isinstance(function, ast.Attribute) or node.args or node.keywords:
            return None
        owner = getattr(function.value, "attr", getattr(function.value, "id", ""))
        is_operation = owner == "op" and function.attr == "values"  # TensorFlow's has such a list
        return f".{function.attr}()" if function.attr in _VIEWS and not is_operation else None

    def _is_quotient(self, node: ast.AST) -> bool:
        """Return True if an expression is a quotient of possible integers."""
        if isinstance(node, ast.Name):
            return node.id in self.quotients
        if not isinstance(node, ast.BinOp) or "division" in self.known:
            return False
        if isinstance(node.op, (ast.Add, ast.Sub, ast.Mult)):
            return self._is_quotient(node.left) or self._is_quotient(node.right)
        return isinstance(node.op, ast.Div) and _is_whole(node.left) and _is_whole(node.right)

    def habits(self) -> Iterator[Habit]:
        """Yield the lines of the scope."""
        for node in self.nodes:
            reason = self._reason(node)
            if reason is not None:
                yield Habit(node.lineno, reason)  # type: ignore[attr-defined]
        yield from self._repetitions()

    def _reason(self, node: ast.AST) -> str | None:
        if isinstance(node, ast.Subscript):
            return self._of_subscript(node)
        if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Add, ast.Mult)):
            for side, other in ((node.left, node.right), (node.right, node.left)):
                kind = self._list(side)
                if kind is not None and (isinstance(other, ast.List) or self._list(other)):
                    return f"{kind} gave a list"
                if isinstance(side, ast.List) and self._is_quotient(other):
                    return "/ gave a whole number"
        if isinstance(node, ast.Call):
            return self._of_call(node)
        return None

    def _of_subscript(self, node: ast.Subscript) -> str | None:
        kind = self._list(node.value)
        if kind is not None and (kind != "range()" or isinstance(node.ctx, ast.Store)):
            return f"{kind} gave a list"
        bounds = (
            [node.slice.lower, node.slice.upper]
            if isinstance(node.slice, ast.Slice)
            else [node.slice]
        )
        is_name = [isinstance(bound, ast.Name) for bound in bounds]
        for bound, named in zip(bounds, is_name, strict=True):
            if bound is not None and not named and self._is_quotient(bound):
                return "/ gave a whole number"
        return None

    def _of_call(self, node: ast.Call) -> str | None:
        function = node.func
        first = node.args[0] if node.args else None
        name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
        if isinstance(function, ast.Attribute) and name in _OF_LISTS:
            kind = self._list(function.value)
            if kind is not None:
                return f"{kind} gave a list"
        if name in ("sort", "sorted") and _compares(node):
            return "lists were sorted by functions of two arguments"
        if first is None:
            return None
        if name in ("range", "xrange") and any(map(self._is_quotient, node.args)):
            return "/ gave a whole number"
        kind = self._list(first)
        if kind is None:
            return None
        of_length = name == "len" and kind.rstrip("()") in _LAZY
        of_array = isinstance(function, ast.Attribute) and name in _OF_ARRAYS and kind != "range()"
        return f"{kind} gave a list" if of_length or of_array or name == "shuffle" else None

    def _repetitions(self) -> Iterator[Habit]:
        """Yield uses of a ``zip()`` that another use, or turn of a loop, has gone through."""
        uses: dict[str, list[ast.Name]] = {}
        for node in self.nodes:
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "next":
                for part in ast.walk(node):
                    self.lists.pop(getattr(part, "id", ""), None)
        for node in self.nodes:
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
                continue
            if self.lists.get(node.id, "").rstrip("()") in _LAZY:
                uses.setdefault(node.id, []).append(node)
        for name, nodes in uses.items():
            around = self.paths[self.given[name]]
            for number, node in enumerate(nodes):
                loops = [step for step in self.paths[node] if isinstance(step[0], _LOOPS)]
                again = any(step not in around for step in loops)
                if again or any(self._both_run(before, node) for before in nodes[:number]):
                    yield Habit(node.lineno, f"{self.lists[name]} gave a list")

    def _both_run(self, first: ast.AST, second: ast.AST) -> bool:
        """Return False for nodes in two branches of one condition."""
        branches = dict(self.paths[first])
        return all(branches.get(node, field) == field for node, field in self.paths[second])


def _is_whole(node: ast.AST) -> bool:
    """Return False for operands that are no whole numbers, as ``1.0`` and ``float(x)``."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, int)
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id in ("len", "int")
    if isinstance(node, ast.BinOp):
        return _is_whole(node.left) and _is_whole(node.right)
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript))


def _compares(node: ast.Call) -> bool:
    """Return whether a sort is given a function of two arguments."""
    named = [word.value for word in node.keywords if word.arg == "cmp"]
    by_place = node.args[isinstance(node.func, ast.Name) :]
    lambdas = [item for item in by_place if isinstance(item, ast.Lambda)]
    return bool(named) or any(len(item.args.args) == 2 for item in lambdas)
