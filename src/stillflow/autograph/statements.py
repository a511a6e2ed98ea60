"""Statements become calls of operators: `if`, `while` and `for` with their blocks as functions.

    if a > b:                           def ag__body():
        x = f(a)                            nonlocal x
                                            x = ag__.callee(f, scope)(a)
                            ->          def ag__orelse():
                                            pass
                                        def ag__get():
                                            return (x,)
                                        def ag__set(ag__values):
                                            nonlocal x
                                            (x,) = ag__values
                                        ag__.if_(a > b, ag__body, ag__orelse, ag__get, ag__set,
                                                 ("x",), ())

The blocks change the function's own variables, so that with Python's values nothing is different
from the statement itself; with tensors the operators read and set them by the last two functions.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable

from stillflow.autograph.build import (
    Block,
    expression,
    locate,
    map_blocks,
    operator,
    statements,
    thunk,
)  # fmt: skip
from stillflow.autograph.expressions import Expressions
from stillflow.autograph.liveness import Liveness
from stillflow.autograph.names import Names
from stillflow.autograph.options import Feature


class Statements:
    """Rewrites the statements of one function, whose jumps are lowered already.

    Args:
      names: of the whole body.
      own: the function's variables and parameters.
      liveness: of its variables.
      expressions: rewrites expressions.
      inner_function: rewrites functions defined inside.
      bound: the variables that have a value at the start.
    """

    def __init__(
        self,
        names: Names,
        own: Iterable[str],
        liveness: Liveness,
        expressions: Expressions,
        inner_function: Callable[[ast.FunctionDef], None],
        bound: Iterable[str],
    ) -> None:
        self.declared = names.declared
        self.variables = {*own, *names.declared}
        self.liveness, self.expressions = liveness, expressions
        self.inner_function = inner_function
        # Names that have a value, or may have one, at the code being rewritten.
        self.bound = {*bound, *names.declared}

    def block(self, block: Block) -> Block:
        return [new for node in block for new in self.statement(node)]

    def statement(self, node: ast.stmt) -> Block:
        method = getattr(self, f"_{type(node).__name__}", None)
        if method is not None:
            return method(node)
        return self._plain(node)

    def _plain(self, node: ast.stmt) -> Block:
        """Return a statement unchanged except for its parts."""
        names = Names(node)
        self.bound.update(_bound_by_head(node))
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.expr):
                setattr(node, name, self.expressions.visit(value))
            elif isinstance(value, list) and value and isinstance(value[0], ast.expr):
                setattr(node, name, [self.expressions.visit(item) for item in value])
        map_blocks(node, self.block)
        self.bound.update(names.bound)
        return [node]

    # ---- definitions

    def _FunctionDef(self, node: ast.FunctionDef) -> Block:
        node.args.defaults = [self.expressions.visit(value) for value in node.args.defaults]
        node.args.kw_defaults = [
            None if value is None else self.expressions.visit(value)
            for value in node.args.kw_defaults
        ]
        self.inner_function(node)
        self.bound.add(node.name)
        return [node]

    def _ClassDef(self, node: ast.ClassDef) -> Block:
        self.bound.add(node.name)
        return [node]  # its methods are converted when they are called

    # ---- statements without blocks

    def _Assert(self, node: ast.Assert) -> Block:
        if not self.expressions.options.uses(Feature.ASSERT_STATEMENTS):
            return self._plain(node)
        message = node.msg or expression("'Assertion error'")
        if not isinstance(message, ast.Constant):
            raise NotImplementedError("can only convert string messages for now.")
        test = self.expressions.visit(node.test)
        return [locate(ast.Expr(operator("assert_stmt", test, thunk(message))), node)]

    # ---- branches and loops

    def _If(self, node: ast.If) -> Block:
        live = self.liveness.out_of(node)
        inside = [Names(node.body), Names(node.orelse)]
        state = _State(self, inside, lambda name: name in live)
        test = self.expressions.visit(node.test)
        code = state.definitions()
        for name, names, block in zip(
            ("ag__body", "ag__orelse"), inside, (node.body, node.orelse), strict=True
        ):
            # A variable that this branch alone uses, but with the value from before.
            before = self.liveness.into_block(block, live)
            given = [n for n in state.private(names) if n in before and n in self.bound]
            parameters = ", ".join(f"{n}={n}" for n in given)
            code += self._function(name, parameters, state, names, block, given)
        call = f"ag__.if_(ag__test, ag__body, ag__orelse, {state.arguments()})"
        return self._done([*code, *_call(call, test)], node, state)

    def _While(self, node: ast.While) -> Block:
        into, out_of = self.liveness.into(node), self.liveness.out_of(node)
        names, inside = Names(node.test), Names(node.body)
        state = _State(self, [names, inside], lambda name: name in into or name in out_of, into)
        code = state.definitions()
        code += self._function("ag__body", "", state, inside, node.body)
        test: ast.expr = thunk(self.expressions.visit(node.test))
        if names.bound:  # by `:=`, which in a lambda would bind a variable of its own
            (function,) = statements("def ag__test(): return 0")
            function.body[0].value = test.body  # type: ignore[attr-defined]
            function.body[:0] = state.declarations(names)  # type: ignore[attr-defined]
            code, test = [*code, function], expression("ag__test")
        code += _call(f"ag__.while_(ag__test, ag__body, {state.arguments()})", test)
        return self._done(code, node, state) + self.block(node.orelse)

    def _For(self, node: ast.For) -> Block:
        into, out_of = self.liveness.into(node), self.liveness.out_of(node)
        inside = Names([node.target, *node.body])
        state = _State(self, [inside], lambda name: name in into or name in out_of, into)
        sequence = self.expressions.visit(node.iter)
        code = state.definitions()
        target = locate(ast.Assign([node.target], expression("ag__item")), node.target)
        code += self._function("ag__body", "ag__item", state, inside, [target, *node.body])
        extra = getattr(node, "extra_test", None)
        test = expression("None") if extra is None else thunk(self.expressions.visit(extra))
        call = f"ag__.for_(ag__items, ag__test, ag__body, {state.arguments()})"
        code += _call(call, sequence, test)
        return self._done(code, node, state) + self.block(node.orelse)

    def _function(
        self, name: str, parameters: str, state: _State, names: Names, block: Block,
        given: Iterable[str] = (),
    ) -> Block:  # fmt: skip
        """Return a block as a function; its changes of the state are the outer variables."""
        (made,) = statements(f"def {name}({parameters}): pass")
        assert isinstance(made, ast.FunctionDef)
        before = self.bound
        self.bound = (before | set(state.variables)) - set(state.private(names)) | set(given)
        body = self.block(block)
        self.bound = before
        made.body = [*state.declarations(names), *(body or made.body)]
        return [made]

    def _done(self, code: Block, node: ast.stmt, state: _State) -> Block:
        self.bound.update(state.variables)
        return [locate(new, node) for new in code]


class _State:
    """Variables that a statement changes for the code after it, or for its next iteration.

    `inside` has the names of the blocks; `counts` says whether a changed variable is part of the
    state. All names of `live` must be so into a loop for an attribute or item to be part of it.
    """

    def __init__(
        self, statements: Statements, inside: list[Names], counts: Callable[[str], bool],
        live: Iterable[str] | None = None,
    ) -> None:  # fmt: skip
        self.declared, self.bound = statements.declared, statements.bound
        changed = {name for names in inside for name in names.bound}
        # In the order of the alphabet; TensorFlow's own order is a different one in each process.
        self.variables = sorted(n for n in changed & statements.variables if counts(n))
        # Variables local to a block have no attributes that other code sees.
        hidden = changed - {*self.variables, *self.declared}
        composites = {text: roots for names in inside for text, roots in names.composites.items()}
        self.composites = sorted(
            text
            for text, roots in composites.items()
            if not roots & hidden and (live is None or roots <= set(live))
        )

    def private(self, names: Names) -> list[str]:
        """Return the variables that are a block's own."""
        return [n for n in names.bound if n not in self.variables and n not in self.declared]

    def declarations(self, names: Names) -> Block:
        """Says that a block's variables are those around it."""
        return self._declare(n for n in self.variables if n in names.bound)

    def _declare(self, names: Iterable[str]) -> Block:
        lines = [f"{self.declared.get(name, 'nonlocal')} {name}" for name in names]
        return statements("\n".join(lines))

    def definitions(self) -> Block:
        """Return the functions that read and set the state, and values for unset variables."""
        undefined = [n for n in self.variables if n not in self.bound]
        code = statements("\n".join(f"{n} = ag__.Undefined({n!r})" for n in undefined))
        places = "".join(f"{place}, " for place in (*self.variables, *self.composites))
        code += statements(f"def ag__get(): return ({places})")
        code += statements("def ag__set(ag__values): pass")
        if places:
            setter = self._declare(self.variables) + statements(f"({places}) = ag__values")
            code[-1].body = setter  # type: ignore[attr-defined]
        return code

    def arguments(self) -> str:
        return f"ag__get, ag__set, {tuple(self.variables)}, {tuple(self.composites)}"


def _bound_by_head(node: ast.stmt) -> list[str]:
    """Return the names that a statement binds before its blocks run."""
    targets = [*getattr(node, "items", ()), *(case.pattern for case in getattr(node, "cases", ()))]
    caught = [handler.name for handler in getattr(node, "handlers", ()) if handler.name]
    return [*Names(targets).bound, *caught]


def _call(text: str, *arguments: ast.expr) -> Block:
    """Return a call statement, with these instead of the first arguments."""
    (made,) = statements(text)
    made.value.args[: len(arguments)] = arguments  # type: ignore[attr-defined]
    return [made]
