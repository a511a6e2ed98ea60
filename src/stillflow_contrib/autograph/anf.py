"""A-normal form: code whose intermediate values have names (`common_transformers.anf`).

y = f(g(x) + 1)    ->    tmp_1001 = g(x)
                         tmp_1002 = tmp_1001 + 1
                         y = f(tmp_1002)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import gast

from stillflow_contrib.autograph import templates

ANY = object()


def REPLACE(parent: Any, field: str, child: Any) -> bool:
    """Name the child."""
    return True


def LEAVE(parent: Any, field: str, child: Any) -> bool:
    """Leave the child as it is."""
    return False


class ASTEdgePattern(NamedTuple):
    """A pattern of an edge of the tree; `ANY` stands for every parent, field or child.

    Attributes:
      parent: class of the node above, or a tuple of classes.
      field: name of its field.
      child: class of the node below, or a tuple of classes.
    """

    parent: Any
    field: Any
    child: Any

    def matches(self, parent: Any, field: str, child: Any) -> bool:
        """Return True if the pattern is one of an edge."""
        return (
            (self.parent is ANY or isinstance(parent, self.parent))
            and self.field in (ANY, field)
            and (self.child is ANY or isinstance(child, self.child))
        )


Rules = list[tuple[Any, Callable[[Any, str, Any], bool]]]
_DEFAULT: Rules = [
    (ASTEdgePattern(ANY, ANY, (gast.Constant, gast.Name)), LEAVE),
    (ASTEdgePattern(ANY, ANY, gast.expr), REPLACE),
]

# Statements that hold others: the fields that are computed before those.
_HEADS = {"If": ["test"], "While": ["test"], "For": ["iter"], "With": ["items"]}
_WITHIN = ("AsyncFor", "AsyncWith", "FunctionDef", "AsyncFunctionDef", "ClassDef", "Try")
# Statements whose own values stay: naming them would take the same statement again.
_PLAIN = ("Assign", "AugAssign", "AnnAssign", "Expr", "Delete")
# What is computed at another time, or not always: no statement before it can.
_LATER = (
    "BoolOp", "Lambda", "IfExp", "ListComp", "SetComp", "DictComp", "GeneratorExp", "Assert",
    "While",
)  # fmt: skip
_THROUGH = ("Starred", "withitem", "Slice", "keyword")  # parts of the node above


def transform(node: Any, ctx: Any, config: Rules | None = None, gensym_source: Any = None) -> Any:
    """Return a tree in A-normal form.

    Args:
      node: a function or another statement.
      ctx: is not used.
      config: pairs of an `ASTEdgePattern`, or `ANY`, and a function of a parent, a field and a
        child, which says whether the child gets a name. The first pattern that matches decides;
        without any the child stays. By default all but constants and names get one.
      gensym_source: class with a method `new_name`, called with `ctx`; by default names are
        `tmp_1001`, `tmp_1002`, ...

    Raises:
      ValueError: if a value would get a name that is computed at another time or not always, as in
        a lambda or behind `and`.
    """
    names = _Names() if gensym_source is None else gensym_source(ctx)
    found = _Anf(_DEFAULT if config is None else config, names).statement(node)
    return found[0] if len(found) == 1 else found


class _Names:
    count = 1000

    def new_name(self, stem: str = "tmp") -> str:
        self.count += 1
        return f"{stem}_{self.count}"


class _Anf:
    def __init__(self, rules: Rules, names: Any) -> None:
        self.rules, self.names = rules, names
        self.before: list[Any] = []  # statements that compute what got names

    def statement(self, node: Any) -> list[Any]:
        """Return the statements that a statement becomes."""
        kind = type(node).__name__
        heads = _HEADS.get(kind)
        if heads is None and kind not in _WITHIN:
            self._parts(node, node._fields, names=kind not in _PLAIN)
        else:
            self._parts(node, heads or (), names=True)
        before, self.before = self.before, []
        if before and kind in _LATER:
            raise ValueError(_nontrivial(kind))
        for field, value in gast.iter_fields(node) if heads or kind in _WITHIN else ():
            if field in ("body", "orelse", "finalbody"):
                self._block(value)
            elif field == "handlers":
                for handler in value:
                    self._block(handler.body)
        return [*before, node]

    def _block(self, block: list[Any]) -> None:
        block[:] = [new for each in block for new in self.statement(each)]

    def _parts(self, node: Any, fields: Any, names: bool) -> None:
        """Give names to the values below some fields of a node, the innermost first."""
        known = len(self.before)
        values = [(field, getattr(node, field, None)) for field in fields]
        for _, value in values:
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, gast.AST):
                    self._parts(each, each._fields, type(each).__name__ not in _THROUGH)
        for field, value in values if names else ():
            if isinstance(value, list):
                setattr(node, field, [self._named(node, field, each) for each in value])
            else:
                setattr(node, field, self._named(node, field, value))
        if len(self.before) > known and type(node).__name__ in _LATER:
            raise ValueError(_nontrivial(type(node).__name__))

    def _named(self, parent: Any, field: str, node: Any) -> Any:
        if type(node).__name__ in _THROUGH:
            for name, value in gast.iter_fields(node):
                setattr(node, name, self._named(parent, field, value))
            return node
        trivial = not isinstance(node, gast.expr) or isinstance(node, gast.Name)
        target = isinstance(getattr(node, "ctx", None), (gast.Store, gast.Del))
        if trivial or target or not self._gets_name(parent, field, node):
            return node
        name = self.names.new_name()
        self.before += templates.replace("name = value", name=name, value=node)
        return templates.replace_as_expression("name", name=name)

    def _gets_name(self, parent: Any, field: str, node: Any) -> bool:
        for pattern, decide in self.rules:
            if pattern is ANY or pattern.matches(parent, field, node):
                return decide(parent, field, node)
        return False


def _nontrivial(kind: str) -> str:
    return f"Nontrivial {kind} nodes not supported yet: no statement can come before their parts."
