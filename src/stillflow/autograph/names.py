"""Names that a piece of code reads and binds."""

from __future__ import annotations

import ast
from collections.abc import Iterable

Code = ast.AST | Iterable[ast.AST]


class Names(ast.NodeVisitor):
    """The names that code reads and binds in the function it is part of.

    Attributes:
      read: names read, by functions and comprehensions inside too.
      bound: names assigned, deleted, imported or defined, in the order of the code.
      composites: the text of attributes and items that are assigned, such as `self.a` and
        `d["k"]`, and the names that each reads.
      declared: names declared, and whether `global` or `nonlocal`.
    """

    def __init__(self, code: Code) -> None:
        self.read: set[str] = set()
        self.bound: dict[str, None] = {}
        self.composites: dict[str, set[str]] = {}
        self.declared: dict[str, str] = {}
        for node in [code] if isinstance(code, ast.AST) else code:
            self.visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.bound[node.id] = None
        else:
            self.read.add(node.id)
            if isinstance(node.ctx, ast.Del):
                self.bound[node.id] = None

    def visit_Attribute(self, node: ast.Attribute | ast.Subscript) -> None:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Store) and is_place(node):
            roots = {name.id for name in ast.walk(node) if isinstance(name, ast.Name)}
            self.composites[ast.unparse(node)] = roots

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit_Attribute(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        if isinstance(node.target, ast.Name):
            self.read.add(node.target.id)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.bound[node.name] = None
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        self._capture(node.name)
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        self._capture(node.name)

    def visit_MatchMapping(self, node: ast.MatchMapping) -> None:
        self._capture(node.rest)
        self.generic_visit(node)

    def _capture(self, name: str | None) -> None:
        if name:
            self.bound[name] = None

    def visit_alias(self, node: ast.alias) -> None:
        self.bound[(node.asname or node.name).split(".")[0]] = None

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.declared.update(dict.fromkeys(node.names, type(node).__name__.lower()))

    def visit_Nonlocal(self, node: ast.Nonlocal) -> None:
        self.visit_Global(node)

    # ---- scopes inside

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self.bound[node.name] = None
        self._outside([*node.decorator_list, node.args])
        self.read |= free_names(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._outside([node.args])
        self.read |= free_names(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.bound[node.name] = None
        self._outside([*node.decorator_list, *node.bases, *node.keywords])
        self.read |= Names(node.body).read

    def _outside(self, nodes: Iterable[ast.AST]) -> None:
        for node in nodes:
            for default in ast.walk(node) if isinstance(node, ast.arguments) else [node]:
                if isinstance(default, ast.expr):
                    self.visit(default)

    def visit_ListComp(self, node: ast.ListComp) -> None:
        self._comprehension(node)

    def _comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
    ) -> None:
        targets = Names([generator.target for generator in node.generators])
        inside = Names(ast.iter_child_nodes(node))
        self.read |= inside.read - set(targets.bound)
        for child in ast.walk(node):  # `:=` binds outside
            if isinstance(child, ast.NamedExpr):
                self.bound[child.target.id] = None

    def visit_SetComp(self, node: ast.SetComp) -> None:
        self._comprehension(node)

    def visit_DictComp(self, node: ast.DictComp) -> None:
        self._comprehension(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> None:
        self._comprehension(node)


def is_place(node: ast.AST) -> bool:
    """Return True if code is a name, or attributes and items of one by names and constants."""
    if isinstance(node, ast.Name):
        return True
    if isinstance(node, ast.Attribute):
        return is_place(node.value)
    if isinstance(node, ast.Subscript):
        index = node.slice
        constant = isinstance(index, ast.Constant) and isinstance(index.value, int | float | str)
        return is_place(node.value) and (constant or is_place(index))
    return False


def parameters(args: ast.arguments) -> list[str]:
    """Return the names of a function's parameters."""
    every = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return [arg.arg for arg in every if arg is not None]


def free_names(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> set[str]:
    """Return the outer names that a function's body reads."""
    names = Names(node.body)
    own = {*parameters(node.args), *names.bound} - set(names.declared)
    return (names.read | set(names.declared)) - own
