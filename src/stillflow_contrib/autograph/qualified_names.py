"""Qualified names, `a.b[0]`, of a syntax tree (TensorFlow's `autograph.pyct.qual_names`)."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any, NamedTuple

import gast

from stillflow_contrib.autograph.annotations import Basic, getanno, setanno


class StringLiteral(NamedTuple):
    """A string between brackets."""

    value: str

    def __str__(self) -> str:
        return f"'{self.value}'"


class NumberLiteral(NamedTuple):
    """A number between brackets."""

    value: Any

    def __str__(self) -> str:
        return str(self.value)


@dataclass(frozen=True, repr=False)
class QN:
    """A name, an attribute or an item of one.

    Attributes:
      base: a string, a literal, or the name that has the attribute or item.
      attr: the attribute.
      subscript: the name or literal between brackets, as a `QN`.
    """

    base: Any
    attr: str | None = None
    subscript: Any = None

    def __str__(self) -> str:
        if self.attr is not None:
            return f"{self.base}.{self.attr}"
        return str(self.base) if self.subscript is None else f"{self.base}[{self.subscript}]"

    __repr__ = __str__

    @property
    def qn(self) -> tuple[Any, ...]:
        """The parts."""
        return tuple(x for x in (self.base, self.attr, self.subscript) if x is not None)

    def is_symbol(self) -> bool:
        """Return True for what a variable may be called."""
        return isinstance(self.base, str)

    def is_simple(self) -> bool:
        """Return True for names without attributes and items."""
        return not self.is_composite()

    def is_composite(self) -> bool:
        """Return True for attributes and items."""
        return isinstance(self.base, QN)

    def has_attr(self) -> bool:
        """Return True for attributes."""
        return self.attr is not None

    def has_subscript(self) -> bool:
        """Return True for items."""
        return self.subscript is not None

    @property
    def parent(self) -> QN:
        """The name that has the attribute or item; ValueError for simple names."""
        if not self.is_composite():
            raise ValueError(f'Cannot get parent of simple name "{self}".')
        return self.base

    @property
    def owner_set(self) -> set[QN]:
        """All names that have this one as an attribute or item, at any depth."""
        return {self.base, *self.base.owner_set} if self.is_composite() else set()

    @property
    def support_set(self) -> set[QN]:
        """The simple names that have to be there for this one."""
        if not self.is_composite():
            return {self} if self.is_symbol() else set()
        inside: set[QN] = self.subscript.support_set if self.has_subscript() else set()
        return self.base.support_set | inside

    def ssf(self) -> str:
        """Return a variable's name that says which name it is made of."""
        if not self.is_composite():
            return str(self.base)
        rest = self.attr if self.has_attr() else f"sub_{self.subscript.ssf()}"
        return f"{self.base.ssf()}_{rest}"

    def ast(self) -> Any:
        """Return an expression of the name, which reads it."""
        if not self.is_composite():
            if self.is_symbol():
                return gast.Name(self.base, gast.Load(), None, None)
            return gast.Constant(self.base.value, None)
        if self.has_attr():
            return gast.Attribute(self.base.ast(), self.attr, gast.Load())
        return gast.Subscript(self.base.ast(), self.subscript.ast(), gast.Load())


class _Resolver(ast.NodeTransformer):
    def visit_Name(self, node: Any) -> Any:
        self.generic_visit(node)
        setanno(node, Basic.QN, QN(node.id))
        return node

    def visit_Attribute(self, node: Any) -> Any:
        self.generic_visit(node)
        if (base := getanno(node.value, Basic.QN, None)) is not None:
            setanno(node, Basic.QN, QN(base, attr=node.attr))
        return node

    def visit_Subscript(self, node: Any) -> Any:
        self.generic_visit(node)
        base, item = getanno(node.value, Basic.QN, None), getanno(node.slice, Basic.QN, None)
        if isinstance(node.slice, gast.Constant):
            text = isinstance(node.slice.value, str)
            item = QN((StringLiteral if text else NumberLiteral)(node.slice.value))
        if base is not None and item is not None:
            setanno(node, Basic.QN, QN(base, subscript=item))
        return node


def resolve(node: Any) -> Any:
    """Annotate the names of a tree, and their attributes and items, with a `QN` each."""
    return _Resolver().visit(node)


def from_str(qn_str: str) -> QN:
    """Return the name that some code is."""
    return getanno(resolve(gast.parse(qn_str).body[0].value), Basic.QN)
