"""`break`, `continue` and early `return` as flags that guard the skipped code.

    while test:                     break_ = False
        a                           while test and not break_:
        if b:                           continue_ = False
            break               ->      a
        c                               if b:
                                            break_ = True
                                            continue_ = True
                                        if not continue_:
                                            c

The order in which conditions are joined and blocks nested is that of TensorFlow, since every one of
them becomes nodes of the graph where a flag is a tensor.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from stillflow.autograph.build import (
    Block,
    assign,
    expression,
    locate,
    map_blocks,
    operator,
    statements,
    thunk,
)  # fmt: skip

NewName = Callable[[str], str]


def lower_jumps(body: Block, new_name: NewName) -> Block:
    """Return the body of a function with at most one `return`, at its end, and no other jumps."""
    body, _ = LoopJumps(new_name).block(body)
    if not returns_early(body):
        return body
    move_into_branches(body)
    return Returns(new_name("do_return"), new_name("retval_")).function(body)


def returns_early(body: Block) -> bool:
    """Return True if a function's body returns elsewhere than in its last statement."""
    parts = body[:-1] if isinstance(body[-1], ast.Return) else body
    return any(isinstance(node, ast.Return) for part in parts for node in _code(part))


def _code(node: ast.AST) -> list[ast.AST]:
    """Return the nodes of a statement, without those of functions inside."""
    found = [node]
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.expr):
        for child in ast.iter_child_nodes(node):
            found += _code(child)
    return found


def _unset(flag: str) -> ast.expr:
    return operator("not_", expression(flag))


def _guard(flag: str, block: Block) -> ast.stmt:
    return locate(ast.If(_unset(flag), block, []), block[0])


def _both(left: ast.expr, right: ast.expr) -> ast.expr:
    return operator("and_", thunk(left), thunk(right))


class _Jumps:
    """Rewrites blocks statement by statement, each to a list of statements."""

    def block(self, block: Block) -> tuple[Block, bool]:
        """Return the block rewritten, and whether it may jump."""
        done: Block = []
        for index, node in enumerate(block):
            new, jumps = self.statement(node)
            done += new
            if jumps:
                rest, _ = self.block(block[index + 1 :])
                return done + ([_guard(self.flag, rest)] if rest else []), True
        return done, False

    @property
    def flag(self) -> str:
        """The flag that a jump sets."""
        raise NotImplementedError

    def statement(self, node: ast.stmt) -> tuple[Block, bool]:
        raise NotImplementedError

    def inside(self, node: ast.stmt) -> bool:
        """Rewrites the blocks of a statement; says whether one may jump."""
        jumping = False

        def change(block: Block) -> Block:
            nonlocal jumping
            new, jumps = self.block(block)
            jumping = jumping or jumps
            return new

        map_blocks(node, change)
        return jumping


@dataclass
class _Loop:
    new_name: NewName
    break_: str = ""
    continue_: str = ""

    def jump(self, breaks: bool) -> str:
        """Code for a jump."""
        self.continue_ = self.continue_ or self.new_name("continue_")
        if not breaks:
            return f"{self.continue_} = True"
        self.break_ = self.break_ or self.new_name("break_")
        return f"{self.break_} = True\n{self.continue_} = True"


class LoopJumps(_Jumps):
    """Lowers `break` and `continue`."""

    def __init__(self, new_name: NewName) -> None:
        self.new_name = new_name
        self.loops: list[_Loop] = []

    @property
    def flag(self) -> str:
        return self.loops[-1].continue_

    def statement(self, node: ast.stmt) -> tuple[Block, bool]:
        if isinstance(node, ast.Break | ast.Continue):
            code = statements(self.loops[-1].jump(isinstance(node, ast.Break)))
            return [locate(new, node) for new in code], True
        if isinstance(node, ast.While | ast.For):
            return self.loop(node)
        return [node], self.inside(node)

    def loop(self, node: ast.While | ast.For) -> tuple[Block, bool]:
        loop = _Loop(self.new_name)
        self.loops.append(loop)
        node.body, _ = self.block(node.body)
        self.loops.pop()
        node.orelse, jumps = self.block(node.orelse)  # a jump there is one of the loop around
        if loop.continue_:
            node.body.insert(0, locate(assign(loop.continue_, "False"), node))
        if not loop.break_:
            return [node], jumps
        if node.orelse:
            node.orelse = [_guard(loop.break_, node.orelse)]
        if isinstance(node, ast.While):
            node.test = locate(_both(node.test, _unset(loop.break_)), node)
        else:
            node.extra_test = locate(_unset(loop.break_), node)  # type: ignore[attr-defined]
        return [locate(assign(loop.break_, "False"), node), node], jumps


def move_into_branches(block: Block) -> bool:
    """Move the code after an `if` that returns into its other branch; return True if all returns.

    So a branch that returns has a sibling that does too, as tensors need it.
    """
    returns = False
    for index, node in enumerate(block):
        if isinstance(node, ast.Return):
            returns = True
        elif isinstance(node, ast.If):
            if_true = move_into_branches(node.body)
            if_false = move_into_branches(node.orelse)
            returns = returns or (if_true and if_false)
            if if_true or if_false:
                rest = block[index + 1 :]
                del block[index + 1 :]
                returns = move_into_branches(rest) or returns
                (node.orelse if if_true else node.body).extend(rest)
                break
        elif isinstance(node, ast.With):
            returns = move_into_branches(node.body) or returns
        else:
            map_blocks(node, _moved)
    return returns


def _moved(block: Block) -> Block:
    move_into_branches(block)
    return block


class Returns(_Jumps):
    """Lowers `return` to an assignment and a flag."""

    def __init__(self, do_return: str, retval: str) -> None:
        self.do_return, self.retval = do_return, retval

    @property
    def flag(self) -> str:
        return self.do_return

    def function(self, body: Block) -> Block:
        """Return the body of a function."""
        before = statements(
            f"{self.do_return} = False\n{self.retval} = ag__.UndefinedReturnValue()"
        )
        after = statements(f"return ag__.returned({self.do_return}, {self.retval})")
        done, _ = self.block(body)
        return [
            *(locate(node, body[0]) for node in before),
            *done,
            *(locate(node, body[-1]) for node in after),
        ]

    def statement(self, node: ast.stmt) -> tuple[Block, bool]:
        if isinstance(node, ast.Return):
            code = statements(f"{self.do_return} = True\n{self.retval} = None")
            if node.value is not None:
                code[1].value = node.value  # type: ignore[attr-defined]
            return [locate(new, node) for new in code], True
        if not isinstance(node, ast.While | ast.For):
            return [node], self.inside(node)
        node.body, jumps = self.block(node.body)
        if jumps:
            if isinstance(node, ast.While):
                node.test = locate(_both(_unset(self.flag), node.test), node)
            else:
                extra = getattr(node, "extra_test", None)
                new = _unset(self.flag) if extra is None else _both(_unset(self.flag), extra)
                node.extra_test = locate(new, node)  # type: ignore[attr-defined]
        node.orelse, more = self.block(node.orelse)
        if jumps and node.orelse:
            node.orelse = [_guard(self.flag, node.orelse)]
        return [node], jumps or more
