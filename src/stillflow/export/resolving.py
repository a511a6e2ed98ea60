"""Names in a function's tree, replaced by their values; known expressions are computed."""

from __future__ import annotations

import ast
import builtins
import sys
import types
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from stillflow import native
from stillflow._home import is_our_module
from stillflow.export.literals import UnwritableError
from stillflow.export.simplify import simplified
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import LazyModule
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops import memory_limits, native_calls
from stillflow.ops.linalg import onednn_products
from stillflow.util import texts

if TYPE_CHECKING:
    from stillflow.export.functions import FunctionWriter

UNKNOWN: Any = object()
# Stillflow's own: they are not written, but their attributes are.
_OURS = (DType, Node, Operation, TensorShape)
# Results of functions outside of Stillflow: torch compiles the code, native loops are missing, and
# the memory check does nothing.
_CONSTANT: dict[Any, Any] = {
    native_calls.compiling: True,
    native_calls.reach: False,
    native_calls.take: False,
    native_calls.take_channels: False,
    native.library: None,
    onednn_products.is_faster: False,
    texts.library: None,
    texts.texts_of: None,
    memory_limits.require_room: None,
    memory_limits.require_possible: None,
    memory_limits.require_objects: None,
}
_DECORATORS = {
    "property": "property", "cached_property": "property", "staticmethod": "staticmethod",
    "classmethod": "classmethod",
}  # fmt: skip


class Resolver(ast.NodeTransformer):
    """Resolver of the outer names of a function to their values.

    Expressions of TensorFlow's operations and types are computed; functions that take such are
    written for these. Branches that are known not to be taken are left out unread, since they may
    use missing names.
    """

    def __init__(self, writer: FunctionWriter, names: Mapping[str, Any], local: set[str]) -> None:
        self.writer, self.names, self.local = writer, dict(names), local
        self.assigned: dict[str, int] = {}

    # ---- known values

    def known(self, node: ast.AST | None) -> Any:
        """Return the value of an expression, or UNKNOWN."""
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            if node.id in self.local:
                return UNKNOWN
            return self.names.get(node.id, getattr(builtins, node.id, UNKNOWN))
        if isinstance(node, ast.Attribute):
            return self._known_attribute(node)
        if isinstance(node, ast.Call):
            return self._known_call(node)
        if isinstance(node, ast.Subscript):
            base, index = self.known(node.value), self.known(node.slice)
            if base is UNKNOWN or index is UNKNOWN:
                return UNKNOWN
            try:
                return base[index]
            except (LookupError, TypeError):
                return UNKNOWN
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._known_comparison(node)
        if isinstance(node, (ast.Tuple, ast.List)):
            items = [self.known(item) for item in node.elts]
            return UNKNOWN if any(item is UNKNOWN for item in items) else tuple(items)
        return UNKNOWN

    def _known_attribute(self, node: ast.Attribute) -> Any:
        base = self.known(node.value)
        if base is UNKNOWN or (base is sys and node.attr in ("stdout", "stderr")):
            return UNKNOWN
        plain = isinstance(base, (types.ModuleType, LazyModule, type, *_OURS))
        if plain or hasattr(base, "_fields") or isinstance(base, (dict, bytes)):
            return getattr(base, node.attr, UNKNOWN)
        return UNKNOWN

    def _known_call(self, node: ast.Call) -> Any:
        function = self.known(node.func)
        if function is UNKNOWN:
            return UNKNOWN
        for each, result in _CONSTANT.items():
            if function is each:
                return result
        args = [self.known(arg) for arg in node.args]
        named = {each.arg or "": self.known(each.value) for each in node.keywords}
        values = [*args, *named.values()]
        owner = getattr(function, "__self__", None)
        ours = any(map(_is_ours, (owner, *values)))
        if not (ours or isinstance(owner, dict)) or any(v is UNKNOWN for v in values):
            return UNKNOWN
        try:
            return function(*args, **named)
        except Exception:  # it is to fail where it stands
            return UNKNOWN

    def _known_comparison(self, node: ast.Compare) -> Any:
        left, right = self.known(node.left), self.known(node.comparators[0])
        if left is UNKNOWN or right is UNKNOWN:
            return UNKNOWN
        operator = node.ops[0]
        if isinstance(operator, (ast.Is, ast.IsNot)):
            return (left is right) == isinstance(operator, ast.Is)
        if isinstance(operator, (ast.In, ast.NotIn)):
            return (left in right) == isinstance(operator, ast.In)
        if isinstance(operator, (ast.Eq, ast.NotEq)):
            return (left == right) == isinstance(operator, ast.Eq)
        return UNKNOWN

    # ---- expressions

    def visit_Name(self, node: ast.Name) -> ast.AST:
        if not isinstance(node.ctx, ast.Load) or node.id in self.local:
            return node
        value = self.names.get(node.id, UNKNOWN)
        if value is UNKNOWN or getattr(builtins, node.id, UNKNOWN) is value:
            return node
        return self._written(value)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        value = self.known(node)
        if value is not UNKNOWN and isinstance(node.ctx, ast.Load):
            return self._written(value)
        return self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        value = self.known(node)
        if value is not UNKNOWN and isinstance(node.ctx, ast.Load):
            return self._written(value)
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        value = self.known(node)
        if value is not UNKNOWN:
            return ast.Constant(bool(value))
        return self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        value = self.known(node)
        if value is not UNKNOWN:
            return self._written(value)
        function = self.known(node.func)
        inner = getattr(function, "__wrapped__", function)
        is_written = isinstance(inner, types.FunctionType) and (
            is_our_module(inner.__module__) and not inner.__module__.startswith("stillflow.errors")
        )
        if not is_written:
            return self.generic_visit(node)
        bound, node = self._bind(inner, node)
        name = self.writer.name_of(function if not bound else inner, bound)
        result = self.writer.only_result(name)
        if result is not None:
            return ast.Constant(result.value)
        node.args = [self.visit(arg) for arg in node.args]
        node.keywords = [self.visit(each) for each in node.keywords]
        node.func = ast.Name(name, ast.Load())
        return node

    def _bind(self, function: Any, node: ast.Call) -> tuple[dict[str, Any], ast.Call]:
        """Return a call's arguments that are Stillflow's own, by name, and the other call."""
        code = function.__code__
        names = code.co_varnames[: code.co_argcount]
        bound: dict[str, Any] = {}
        if any(isinstance(arg, ast.Starred) for arg in node.args):
            return bound, node
        rest: list[ast.expr] = []
        keywords = list(node.keywords)
        given = [*node.args, *(each.value for each in keywords)]
        if not any(_is_ours(self.known(each)) for each in given):
            return bound, node
        for place, arg in enumerate(node.args):
            value = self.known(arg)
            if is_bindable(value) and place < len(names):
                bound[names[place]] = value
            elif bound and place < len(names):
                keywords.append(ast.keyword(names[place], arg))
            else:
                rest.append(arg)
        for each in list(keywords):
            value = self.known(each.value)
            if each.arg is not None and is_bindable(value):
                bound[each.arg] = value
                keywords.remove(each)
        return bound, ast.Call(node.func, rest, keywords)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        value = simplified(self.visit(node.value))
        if isinstance(value, ast.Constant) and value.value in (None, False):
            self._know(node.target.id, value.value)
            return value
        return ast.NamedExpr(node.target, value)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """Leave out operands behind one that is known, and all if one decides."""
        values: list[ast.expr] = []
        ends = isinstance(node.op, ast.Or)
        if any(known is ends for known in map(self.known, node.values)):
            return ast.Constant(ends)
        for operand in node.values:
            written = simplified(self.visit(operand))
            values.append(written)
            if isinstance(written, ast.Constant) and bool(written.value) is ends:
                break
        node.values = values
        return values[0] if len(values) == 1 else simplified(node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        test = _settled(simplified(self.visit(node.test)))
        if isinstance(test, ast.Constant):
            return self.visit(node.body if test.value else node.orelse)
        return ast.IfExp(test, self.visit(node.body), self.visit(node.orelse))

    # ---- statements

    def visit_If(self, node: ast.If) -> Any:
        test = _settled(simplified(self.visit(node.test)))
        if isinstance(test, ast.Constant):
            return self.statements(node.body if test.value else node.orelse) or None
        node.test = test
        node.body = self.statements(node.body) or [ast.Pass()]
        node.orelse = self.statements(node.orelse)
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        target = node.targets[0]
        pairs = (
            len(node.targets) == 1
            and isinstance(target, ast.Tuple)
            and (isinstance(node.value, ast.Tuple) and len(target.elts) == len(node.value.elts))
        )
        if pairs and all(isinstance(each, ast.Name) for each in target.elts):  # type: ignore[attr-defined]
            values = [simplified(self.visit(each)) for each in node.value.elts]  # type: ignore[attr-defined]
            if any(isinstance(v, ast.Constant) and v.value is None for v in values):
                single = [
                    self._assigned(name, value)
                    for name, value in zip(target.elts, values, strict=True)  # type: ignore[attr-defined]
                ]
                return [each for each in single if each is not None]
            node.value.elts = values  # type: ignore[attr-defined]
            return node
        value = simplified(self.visit(node.value))
        if len(node.targets) == 1 and isinstance(target, ast.Name):
            return self._assigned(target, value)
        node.value = value
        node.targets = [self.visit(each) for each in node.targets]
        return node

    def _assigned(self, target: ast.Name, value: ast.expr) -> ast.Assign | None:
        is_nothing = isinstance(value, ast.Constant) and value.value is None
        if is_nothing and self.assigned.get(target.id, 1) == 1:
            self._know(target.id, None)
            return None
        return ast.Assign([target], value)

    def _know(self, name: str, value: Any) -> None:
        self.names[name] = value
        self.local = self.local - {name}

    def statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        """Return a block, up to the statement that leaves it."""
        made: list[ast.stmt] = []
        for statement in body:
            found = self.visit(statement)
            for each in found if isinstance(found, list) else [found]:
                if each is not None:
                    made.append(each)
            if made and isinstance(made[-1], (ast.Return, ast.Raise, ast.Continue, ast.Break)):
                break
        return made

    def visit_Expr(self, node: ast.Expr) -> Any:
        if isinstance(node.value, ast.Constant):
            return node  # a docstring
        value = self.visit(node.value)
        return None if isinstance(value, ast.Constant) else ast.Expr(value)

    def visit_Raise(self, node: ast.Raise) -> ast.AST:
        """Return an error of TensorFlow becomes one of Python, of the message alone."""
        call = node.exc
        if isinstance(call, ast.Call):
            kind = self.known(call.func)
            home = getattr(kind, "__module__", None) or ""
            if home.startswith("stillflow.errors") and call.args:
                call.args = call.args[-1:]
        return self.generic_visit(node)

    def visit_With(self, node: ast.With) -> Any:
        node.items = [self.visit(item) for item in node.items]
        node.body = self.statements(node.body) or [ast.Pass()]
        return node

    def visit_Try(self, node: ast.Try) -> Any:
        node.body = self.statements(node.body)
        if not node.body:  # imports that have succeeded
            return self.statements([*node.orelse, *node.finalbody]) or None
        node.handlers = [self.visit(each) for each in node.handlers]
        node.orelse, node.finalbody = self.statements(node.orelse), self.statements(node.finalbody)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> Any:
        node.type = node.type and self.visit(node.type)
        node.body = self.statements(node.body) or [ast.Pass()]
        return node

    def visit_For(self, node: ast.For) -> Any:
        node.iter, node.target = self.visit(node.iter), self.visit(node.target)
        node.body = self.statements(node.body) or [ast.Pass()]
        node.orelse = self.statements(node.orelse)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        """Names are resolved, nothing is left to import."""

    def visit_Import(self, node: ast.Import) -> None:
        """Names are resolved, nothing is left to import."""

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if node.value is None:
            node.annotation = ast.Constant(None)  # a field of a named tuple, or a mere remark
            return node
        value = simplified(self.visit(node.value))
        if isinstance(node.target, ast.Name) and not self.names.get("__class__"):
            assigned = self._assigned(node.target, value)
            if assigned is None:
                return None
        return ast.AnnAssign(node.target, ast.Constant(None), value, node.simple)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        outer = self.local
        if not self.assigned:
            self.assigned = _assignments(node)
        self.local = outer | _stored(node) | {node.name}
        node.returns = None
        node.decorator_list = [
            ast.Name(_DECORATORS[each.id], ast.Load()) for each in node.decorator_list
            if isinstance(each, ast.Name) and each.id in _DECORATORS
        ]  # fmt: skip
        node.args = self.visit(node.args)
        node.body = self.statements(node.body) or [ast.Pass()]
        return node

    def _written(self, value: Any) -> ast.expr:
        if _is_ours(value) and not isinstance(value, DType):
            raise UnwritableError(f"TensorFlow's {value!r}")
        return ast.parse(self.writer.expression(value), mode="eval").body


def _settled(test: ast.expr) -> ast.expr:
    """Return a test as a constant if its last operand decides it."""
    if isinstance(test, ast.BoolOp) and isinstance(test.values[-1], ast.Constant):
        ends = isinstance(test.op, ast.Or)
        if bool(test.values[-1].value) is ends:
            return ast.Constant(ends)
    return test


def _is_ours(value: Any) -> bool:
    return isinstance(value, _OURS)


def is_bindable(value: Any) -> bool:
    """Return True for arguments that functions are written for: types, operations, functions."""
    if value is UNKNOWN:
        return False
    return _is_ours(value) or isinstance(value, types.FunctionType)


def takes_ours(values: Iterable[Any]) -> bool:
    """Return True if one of a call's arguments is Stillflow's own."""
    return any(map(_is_ours, values))


def _stored(node: ast.AST) -> set[str]:
    """Return the names that a function assigns, and its arguments."""
    names = {each.id for each in ast.walk(node)
             if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load)}  # fmt: skip
    return names | {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}


def _assignments(node: ast.AST) -> dict[str, int]:
    """Return the number of assignments to each name in a function."""
    counts: dict[str, int] = {}
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            counts[each.id] = counts.get(each.id, 0) + 1
        elif isinstance(each, ast.arg):
            counts[each.arg] = counts.get(each.arg, 0) + 2
    return counts
