"""Arrays indexed by lists, which NumPy takes otherwise since 1.23.

Old NumPy took a list with a slice, an array or a list in it for a tuple: ``index = [slice(None)] *
3``, ``a[index]``, ``a[[rows, columns]]``.  The first is an error now, the second something else.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

from stillflow.facade.say import say

AS_INDEX = "__stillflow_as_index__"
# {name in rewritten code: name in this module}
HELPERS = {AS_INDEX: "as_index"}
PAIRS = "__stillflow_pairs_of_indices__"
NESTED = {PAIRS: "pairs_of_indices"}
_MOST_DIMS = 32  # longer lists were arrays of indices
_GROWING = ("append", "insert", "extend")
_ITERATES = "yield"  # for a function whose name nobody needs, because it is iterated


def as_index(index: Any) -> Any:
    """Return an index as NumPy takes it now: a tuple if it is a list with slices or the like."""
    if type(index) is list and any(
        item is None or item is Ellipsis or isinstance(item, slice) for item in index
    ):
        return tuple(index)
    return index


def pairs_of_indices(array: Any, index: list[Any]) -> Any:
    """Return a list that indexes an array as NumPy takes it now, a tuple for lists in a list."""
    import numpy as np

    nested = any(isinstance(item, (list, tuple, np.ndarray)) for item in index)
    if not nested or not isinstance(array, np.ndarray) or len(index) >= _MOST_DIMS:
        return index
    say("a list of indices is one for each dimension here, as in old NumPy")
    return tuple(index)


class Nested(ast.NodeTransformer):
    """Rewriter of ``a[[rows, columns]]``, where the array may be NumPy's.

    Args:
      holds: whether an expression may be a value of NumPy's.
    """

    def __init__(self, holds: Callable[[ast.expr], bool]) -> None:
        self._holds = holds
        self.changed = False

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """Hand the list, and the array, to the function that decides when it runs."""
        self.generic_visit(node)
        index, array = node.slice, node.value
        lists = isinstance(index, ast.List) and not all(map(_is_one, index.elts))
        if lists and isinstance(array, ast.Name) and self._holds(array):
            self.changed = True
            function, given = (ast.Name(name, ast.Load()) for name in (PAIRS, array.id))
            call = ast.Call(function, [given, index], [])
            node.slice = ast.fix_missing_locations(ast.copy_location(call, index))
        return node


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, (ast.Constant, ast.UnaryOp, ast.BinOp))


def suspicious(code: CodeType) -> bool:
    """Return whether code, the nested functions left out, may make slices; cheap."""
    return "slice" in code.co_names


def rewritten(tree: ast.Module) -> ast.Module | None:
    """Return a module's tree after its repair, None if it needs none."""
    names = set(_lists_of_slices(tree))
    repair = _Repair(names | set(_handed_on(tree, names)))
    tree = repair.visit(tree)
    return ast.fix_missing_locations(tree) if repair.changed else None


def _lists_of_slices(tree: ast.Module) -> Iterator[str]:
    """Find the names that stand for lists with slices somewhere in a module."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if node.value is not None and _has_slices(node.value):
                yield from (target.id for target in targets if isinstance(target, ast.Name))
            elif _is_slice(node.value):
                for target in targets:
                    if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
                        yield target.value.id
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            grown = node.func.value
            if (
                node.func.attr in _GROWING
                and isinstance(grown, ast.Name)
                and any(_is_slice(item) or _has_slices(item) for item in node.args)
            ):
                yield grown.id


def _handed_on(tree: ast.Module, names: set[str]) -> Iterator[str]:
    """Yield the names of results of the module's functions and iterators, if they may be one."""
    makers = set(_makers(tree, names))
    if not makers:
        return
    iterates = not makers.isdisjoint((_ITERATES, "__next__", "__iter__", "__getitem__"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            called = _called(node.value)
            if called in makers or (called == "next" and iterates):
                for target in node.targets:
                    yield from _targets(target)
        elif isinstance(node, (ast.For, ast.comprehension)) and not _counts(node.iter):
            yield from _targets(node.target)


def _makers(tree: ast.Module, names: set[str]) -> Iterator[str]:
    """Find the functions that return a list with slices; `_ITERATES` if one yields it."""
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        for node in ast.walk(function):
            if isinstance(node, (ast.Return, ast.Yield)) and node.value is not None:
                value = node.value
                if _has_slices(value) or (isinstance(value, ast.Name) and value.id in names):
                    yield _ITERATES if isinstance(node, ast.Yield) else function.name


def _called(call: ast.Call) -> str:
    """Return the last part of the name of a function that is called."""
    return getattr(call.func, "attr", getattr(call.func, "id", ""))


def _counts(iterable: ast.expr) -> bool:
    return isinstance(iterable, ast.Call) and _called(iterable) in ("range", "xrange")


def _targets(target: ast.expr) -> Iterator[str]:
    """Yield the names that an assignment or a loop binds."""
    yield from (node.id for node in ast.walk(target) if isinstance(node, ast.Name))


def _is_slice(node: ast.AST | None) -> bool:
    if isinstance(node, ast.IfExp):
        return _is_slice(node.body) or _is_slice(node.orelse)
    return (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "slice"
    )


def _has_slices(node: ast.AST) -> bool:
    """Return whether an expression makes a list with slices in it."""
    if isinstance(node, ast.List):
        return any(_is_slice(item) for item in node.elts)
    if isinstance(node, ast.ListComp):
        return _is_slice(node.elt)
    if isinstance(node, ast.BinOp):
        return _has_slices(node.left) or _has_slices(node.right)
    return False


class _Repair(ast.NodeTransformer):
    def __init__(self, names: set[str]) -> None:
        self.names = names
        self.changed = False

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        index = node.slice
        if _has_slices(index) or (isinstance(index, ast.Name) and index.id in self.names):
            self.changed = True
            call = ast.Call(ast.Name(AS_INDEX, ast.Load()), [index], [])
            node.slice = ast.copy_location(call, index)
        return node
