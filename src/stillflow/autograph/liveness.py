"""Liveness of a function's variables after each statement.

The analysis goes backwards over code without `break`, `continue` and early `return`
(`autograph.jumps` has made flags of these), so that the structure of the code is all there is to
know about its flow.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from stillflow.autograph.names import Code, Names, free_names

Set = frozenset[str]
_EVERYTHING = {"eval", "exec", "locals", "vars", "dir"}  # calls that may read any variable


class Liveness:
    """Variables live before (`into`) and after (`out_of`) statements.

    Args:
      body: of the function.
      variables: its own variables.
      at_end: those that are read after it has ended: global ones, and those of functions around.
    """

    def __init__(self, body: Sequence[ast.stmt], variables: Iterable[str], at_end: Iterable[str]):
        self._into: dict[int, Set] = {}
        self._out_of: dict[int, Set] = {}
        self._closures = _closures(body)
        always = Names(body).read & _EVERYTHING
        # Variables that are live everywhere, since the code may jump at any point.
        self._pinned = frozenset(variables) if always else frozenset()
        self._at_end = frozenset(at_end)
        self._block(body, self._at_end)

    def into(self, node: ast.stmt) -> Set:
        return self._into[id(node)]

    def out_of(self, node: ast.stmt) -> Set:
        return self._out_of[id(node)]

    def into_block(self, block: Sequence[ast.stmt], after: Set) -> Set:
        """Variables live before a block."""
        return self.into(block[0]) if block else after

    # ---- the analysis

    def _reads(self, code: Code) -> Set:
        """Names that code reads, and those that local functions read that it names."""
        found, new = set(), Names(code).read
        while new:
            found |= new
            new = {free for name in new for free in self._closures.get(name, ())} - found
        return frozenset(found)

    def _block(self, block: Sequence[ast.stmt], live: Set) -> Set:
        for node in reversed(block):
            live = self._statement(node, live)
        return live

    def _statement(self, node: ast.stmt, live: Set) -> Set:
        live |= self._pinned
        self._out_of[id(node)] = live
        method = getattr(self, f"_{type(node).__name__}", self._plain)
        self._into[id(node)] = live = method(node, live) | self._pinned
        return live

    def _plain(self, node: ast.stmt, live: Set) -> Set:
        names = Names(node)
        return (live - set(names.bound)) | self._reads(node)

    def _Return(self, node: ast.Return, live: Set) -> Set:
        return self._at_end | self._reads(node)

    def _FunctionDef(self, node: ast.FunctionDef, live: Set) -> Set:
        live -= {node.name}
        # A decorator may call the function at once; otherwise naming it reads what it reads.
        if node.decorator_list:
            return live | self._reads(node)
        return live | self._reads(_defaults(node.args))

    def _If(self, node: ast.If, live: Set) -> Set:
        branches = self._block(node.body, live) | self._block(node.orelse, live)
        return branches | self._reads(node.test)

    def _While(self, node: ast.While, live: Set) -> Set:
        start = self._block(node.orelse, live) | self._reads(node.test)
        return self._loop(node.body, start)

    def _For(self, node: ast.For, live: Set) -> Set:
        start = self._block(node.orelse, live)
        extra = getattr(node, "extra_test", None)
        if extra is not None:
            start |= self._reads(extra)
        return self._loop(node.body, start, Names(node.target)) | self._reads(node.iter)

    def _loop(self, body: Sequence[ast.stmt], start: Set, target: Names | None = None) -> Set:
        live, before = start, None
        while live != before:
            before = live
            inside = self._block(body, live)
            if target is not None:
                inside = (inside - set(target.bound)) | target.read
            live = start | inside
        return live

    def _With(self, node: ast.With, live: Set) -> Set:
        inside = self._block(node.body, live)
        return (inside - set(Names(node.items).bound)) | self._reads(node.items)

    def _Try(self, node: ast.Try, live: Set) -> Set:
        after = self._block(node.finalbody, live)
        handlers = [self._block(handler.body, after) for handler in node.handlers]
        types = [handler.type for handler in node.handlers if handler.type is not None]
        caught = after.union(*handlers) | self._reads(types)
        pinned, self._pinned = self._pinned, self._pinned | caught
        inside = self._block(node.body, self._block(node.orelse, after))
        self._pinned = pinned
        return inside | caught

    _TryStar = _Try

    def _Match(self, node: ast.Match, live: Set) -> Set:
        for case in node.cases:
            live |= self._block(case.body, live) | self._reads([case.guard] if case.guard else [])
        return live | self._reads(node.subject)


def _defaults(args: ast.arguments) -> list[ast.expr]:
    return [*args.defaults, *(default for default in args.kw_defaults if default is not None)]


def _closures(body: Sequence[ast.stmt]) -> dict[str, set[str]]:
    """Return the outer names that each local function reads."""
    found: dict[str, set[str]] = {}
    for statement in body:
        for node in ast.walk(statement):
            if isinstance(node, ast.FunctionDef):
                found.setdefault(node.name, set()).update(free_names(node))
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        found.setdefault(target.id, set()).update(free_names(node.value))
    return found
