"""Names of TensorFlow that a source uses."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

_ROOTS = ("tensorflow", "tensorflow_core", "tensorflow_estimator", "horovod")


@dataclass(frozen=True)
class Use:
    """A name, where it is used, and whether the program does without it if it has to.

    Attributes:
      name: dotted, from the package on: "tensorflow.nn.relu".
      line: the line.
      guarded: whether it stands under `try` with a handler for a name that is missing.
    """

    name: str
    line: int
    guarded: bool


def uses(tree: ast.Module) -> list[Use]:
    """Return the names of TensorFlow that a module uses, as far as reading tells.

    Names are followed through imports, assignments (`slim = tf.contrib.slim`) and the scopes of
    functions, not through containers, calls or arguments.
    """
    reader = Reader()
    reader.visit(tree)
    return reader.found


class Reader(ast.NodeVisitor):
    """Walks through a module with the names that are bound to something of TensorFlow."""

    def __init__(self) -> None:
        self.found: list[Use] = []
        self._scopes: list[dict[str, str | None]] = [{}]
        self._guards = 0

    def _add(self, name: str, node: ast.AST) -> None:
        self.found.append(Use(name, getattr(node, "lineno", 0), self._guards > 0))

    def _bind(self, name: str, meaning: str | None) -> None:
        """Record the meaning of a name; None for names outside of TensorFlow."""
        if meaning is not None or self._meaning(name) is not None:
            self._scopes[-1][name] = meaning

    def _meaning(self, name: str) -> str | None:
        for scope in reversed(self._scopes):
            if name in scope:
                return scope[name]
        return None

    def dotted(self, node: ast.AST) -> str | None:
        """Return the TensorFlow name of an expression; None if it has none."""
        if isinstance(node, ast.Name):
            return self._meaning(node.id)
        if isinstance(node, ast.Attribute):
            base = self.dotted(node.value)
            return base and f"{base}.{node.attr}"
        return None

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            root = alias.name.partition(".")[0]
            if root not in _ROOTS:
                self._bind(alias.asname or root, None)
                continue
            if alias.name != root:
                self._add(alias.name, node)
            self._bind(alias.asname or root, alias.name if alias.asname else root)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        ours = not node.level and module.partition(".")[0] in _ROOTS
        for alias in node.names:
            if not ours:
                self._bind(alias.asname or alias.name, None)
            elif alias.name == "*":
                self._add(module, node)
            else:
                name = f"{module}.{alias.name}"
                self._add(name, node)
                self._bind(alias.asname or alias.name, name)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        name = self.dotted(node)
        if name is None:
            self.generic_visit(node)
        else:
            self._add(name, node)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        meaning = self.dotted(node.value)
        for target in node.targets:
            if isinstance(target, ast.Name):
                self._bind(target.id, meaning)
            else:
                self.visit(target)
                for name in _names(target):
                    self._bind(name, None)

    def visit_Try(self, node: ast.Try) -> None:
        guarded = any(_catches_missing(handler) for handler in node.handlers)
        self._guards += guarded
        for statement in node.body:
            self.visit(statement)
        self._guards -= guarded
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(part)

    def visit_If(self, node: ast.If) -> None:
        """Under `if hasattr(tf, "name")`, names are guarded."""
        guarded = any(
            isinstance(part, ast.Call) and _name_of(part.func) == "hasattr"
            for part in ast.walk(node.test)
        )
        self.visit(node.test)
        self._guards += guarded
        for statement in (*node.body, *node.orelse):
            self.visit(statement)
        self._guards -= guarded

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        arguments = node.args
        for part in (
            *node.decorator_list, *arguments.defaults, *filter(None, arguments.kw_defaults)
        ):  # fmt: skip
            self.visit(part)
        self._bind(node.name, None)
        self._inside(node.args, node.body)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.visit_FunctionDef(node)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for part in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
            self.visit(part)
        self._inside(node.args, [node.body])

    def _inside(self, arguments: ast.arguments, body: list[ast.stmt] | list[ast.expr]) -> None:
        """Read a function in a scope of its own, where arguments hide names from outside."""
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [one for one in (arguments.vararg, arguments.kwarg) if one]
        self._scopes.append({one.arg: None for one in every})
        for part in body:
            self.visit(part)
        self._scopes.pop()


def _names(target: ast.AST) -> Iterator[str]:
    """Yield the plain names that an assignment to `target` binds."""
    if isinstance(target, ast.Name):
        yield target.id
    elif isinstance(target, (ast.Tuple, ast.List)):
        for element in target.elts:
            yield from _names(element)
    elif isinstance(target, ast.Starred):
        yield from _names(target.value)


def _name_of(node: ast.AST | None) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _catches_missing(handler: ast.ExceptHandler) -> bool:
    """Return True if a handler catches missing names or modules."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    wanted = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", ""}
    return any(_name_of(kind) in wanted for kind in kinds)
