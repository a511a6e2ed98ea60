"""`if`, `while` and `for` with blocks that change the variables of the function around them.

Conversion replaces statements by these. Over Python's values the blocks just run. For tensors,
`get` and `set_` make functions of variables of them, for `control_flow`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.autograph.operators import control_flow
from stillflow.autograph.operators.tensors import is_dense_tensor, match_staging_level
from stillflow.graph.operation import Tensor

Block = Callable[..., Any]
Values = tuple[Any, ...]


class _Places:
    """Targets that blocks change: variables, and attributes and items, by the program's names."""

    def __init__(self, get: Block, set_: Block, variables: Values, composites: Values) -> None:
        self.get, self.set_, self.count = get, set_, len(variables)
        self.names = variables, composites

    def variables(self) -> Values:
        return self.get()[: self.count]

    def set_variables(self, values: Values) -> None:
        if self.count:
            self.set_((*values, *self.get()[self.count :]))

    def state(self) -> Values:
        return self.get()[self.count :]

    def set_state(self, state: Values) -> None:
        if state:
            self.set_((*self.variables(), *state))

    def function(self, block: Block) -> Block:
        """Return a block as a function of the variables that gives their new values."""

        def run(*values: Any) -> Values:
            first = len(values) - self.count
            self.set_variables(values[first:])
            block(*values[:first])
            return self.variables()

        return run

    def test(self, test: Block) -> Block:
        """A test as a function of the variables."""

        def run(*values: Any) -> Any:
            self.set_variables(values)
            return test()

        return run


def if_(
    cond: Any, body: Block, orelse: Block, get: Block, set_: Block, variables: Values,
    composites: Values,
) -> None:  # fmt: skip
    """`if cond: body() else: orelse()`."""
    if not is_dense_tensor(cond):
        (body if cond else orelse)()
        return
    places = _Places(get, set_, variables, composites)

    def branch(block: Block) -> Block:
        def run() -> Tensor | tuple[Any, ...]:
            before = places.variables()
            block()
            values = places.variables()
            places.set_variables(before)
            # A branch gives something, even if it only has effects.
            return values or match_staging_level(1, cond)

        return run

    values = control_flow.if_stmt(
        cond, branch(body), branch(orelse), places.state, places.set_state, *places.names
    )
    places.set_variables(values)


def while_(
    test: Block, body: Block, get: Block, set_: Block, variables: Values, composites: Values
) -> None:
    """`while test(): body()`."""
    first = control_flow.try_out(test)
    if is_dense_tensor(first):
        places = _Places(get, set_, variables, composites)
        names = (*variables, *composites)
        final = control_flow.loops.staged(
            places.test(test), places.function(body), places.state, places.set_state,
            places.variables(), names,
        )  # fmt: skip
        places.set_variables(final)
        return
    if not first:
        return
    body()
    watch = control_flow.LoopWatch()
    while test():
        with watch:
            body()


def for_(
    items: Any, extra_test: Block | None, body: Block, get: Block, set_: Block, variables: Values,
    composites: Values,
) -> None:  # fmt: skip
    """`for item in items: body(item)`, as long as the extra test holds."""
    if control_flow.staged_walk(items) is None:
        for item in items:
            if extra_test is not None and not extra_test():
                break
            body(item)
        return
    places = _Places(get, set_, variables, composites)
    final = control_flow.for_stmt(
        items, None if extra_test is None else places.test(extra_test), places.function(body),
        places.state, places.set_state, places.variables(), *places.names,
    )  # fmt: skip
    places.set_variables(final)
