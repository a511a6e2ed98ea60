"""`if`, `while` and `for` as functions of their blocks, for Python's values and for tensors.

A block takes the variables that it may change and returns their new values. A target that is no
plain variable (`self.a`, `d["k"]`) is read and set by two more functions, `get_state` and
`set_state`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.autograph.operators import loops
from stillflow.autograph.operators.tensors import is_dense_tensor, is_range_tensor
from stillflow.autograph.operators.verification import (
    Names,
    check_branches,
    check_defined_before_loop,
    check_defined_in_branch,
)  # fmt: skip
from stillflow.autograph.verbosity import warn
from stillflow.graph.func_graph import FuncGraph
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_like import is_tensor
from stillflow.ops.control_flow.cond import cond as tf_cond

Block = Callable[..., Any]
LIMIT_PYTHON_ITERATIONS = True
PYTHON_MAX_ITERATIONS = 100000000
WARN_INEFFICIENT_UNROLL = True
INEFFICIENT_UNROLL_MIN_ITERATIONS = 3000
_LOOKS = 4  # iterations that are looked at before the loop is found harmless


def if_stmt(
    cond: Any, body: Block, orelse: Block, get_state: Block, set_state: Block,
    basic_symbol_names: Names = None, composite_symbol_names: Names = None,
) -> Any:  # fmt: skip
    """Return an `if`: `body()` or `orelse()`, by `tf.cond` where the condition is a tensor.

    ValueError if a branch leaves a variable without a value, TypeError if branches differ.
    """
    if not is_dense_tensor(cond):
        return body() if cond else orelse()
    names = _joined(basic_symbol_names, composite_symbol_names)
    results: dict[str, Any] = {}

    def branch(name: str, block: Block) -> Callable[[], Any]:
        def run() -> tuple[Any, tuple[Tensor, ...]]:
            before = get_state()
            values = block()
            check_defined_in_branch(_tuple(values), name)
            results[name] = values, get_state()
            set_state(before)
            if len(results) == 2:
                check_branches(_all(results["if"]), _all(results["else"]), names)
            return results[name]

        return run

    values, state = tf_cond(cond, branch("if", body), branch("else", orelse))
    set_state(state)
    return values


def while_stmt(
    test: Block, body: Block, get_state: Block, set_state: Block, init_vars: tuple[Any, ...],
    basic_symbol_names: Names = None, composite_symbol_names: Names = None, opts: Any = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Return a `while`: by `tf.while_loop` where the first test is a tensor.

    Variables need values before the loop; ValueError if one changes its shape in it, TypeError for
    its type or structure.
    """
    first = try_out(test, *init_vars)
    if is_dense_tensor(first):
        names = _joined(basic_symbol_names, composite_symbol_names)
        return loops.staged(test, body, get_state, set_state, init_vars, names, opts)
    if not first:  # as a test may have effects, it is not asked twice
        return init_vars
    values = body(*init_vars)
    watch = LoopWatch()
    while test(*values):
        with watch:
            values = body(*values)
    return values


def try_out(test: Block, *values: Any) -> Any:
    """Return the result of a test; its operations are in no graph of the program's."""
    with FuncGraph("tmp").as_default():
        return test(*values)


def for_stmt(
    iter_: Any, extra_test: Block | None, body: Block, get_state: Block, set_state: Block,
    init_vars: tuple[Any, ...], basic_symbol_names: Names = None,
    composite_symbol_names: Names = None,
) -> tuple[Any, ...]:  # fmt: skip
    """Return a `for`: by `tf.while_loop` over a tensor or an iterator, by `reduce` over a dataset.

    `extra_test` of the variables says whether there is a next iteration; `body` takes an item and
    the variables. Errors are those of `while_stmt`.
    """
    walk = staged_walk(iter_)
    if walk is not None:
        check_defined_before_loop(init_vars)
        names = _joined(basic_symbol_names, composite_symbol_names)
        return walk(iter_, extra_test, body, get_state, set_state, init_vars, names)
    values = init_vars
    for item in iter_:
        if extra_test is not None and not extra_test(*values):
            break
        values = body(item, *values)
    return values


def staged_walk(iter_: Any) -> Callable[..., tuple[Any, ...]] | None:
    """Return the loop over `iter_` at run time; None if Python iterates now."""
    from stillflow.data.dataset import DatasetV2
    from stillflow.data.iterator import IteratorV2

    if is_tensor(iter_):
        return loops.over_range if is_range_tensor(iter_) else loops.over_rows
    if isinstance(iter_, DatasetV2):
        return loops.over_dataset
    if isinstance(iter_, IteratorV2):
        return loops.over_iterator
    handler = getattr(iter_, "_autograph_for_loop", None)
    if handler is None:
        return None
    return lambda iter_, extra_test, body, get_state, set_state, init_vars, names: handler(
        extra_test, body, init_vars
    )


def _joined(basic: Names, composite: Names) -> Names:
    return None if basic is None else (*basic, *(composite or ()))


def _tuple(values: Any) -> tuple[Any, ...]:
    return values if isinstance(values, tuple) else (values,)


def _all(result: tuple[Any, tuple[Any, ...]]) -> tuple[Any, ...]:
    values, state = result
    return (*_tuple(values), *state)


class LoopWatch:
    """A context around each iteration: warns once if late ones still make operations."""

    def __init__(self) -> None:
        self.iterations = 0
        self.looks = _LOOKS if WARN_INEFFICIENT_UNROLL else 0
        self.before: int | None = None

    def __enter__(self) -> None:
        if self.looks and self.iterations > INEFFICIENT_UNROLL_MIN_ITERATIONS:
            self.before = len(get_default_graph().get_operations())

    def __exit__(self, *details: Any) -> None:
        self.iterations += 1
        if LIMIT_PYTHON_ITERATIONS and self.iterations > PYTHON_MAX_ITERATIONS:
            raise ValueError("iteration limit exceeded")
        if self.before is None or not self.looks:
            return
        self.looks -= 1
        made = get_default_graph().get_operations()[self.before :]
        if made:
            self.looks = 0
            warn(
                "TensorFlow ops are being created in a Python loop with large number of iterations."
                " This can lead to slow startup. Did you mean to use a TensorFlow loop? For "
                "example, `while True:` is a Python loop, and `while tf.constant(True):` is a "
                "TensorFlow loop. The following ops were created after iteration %s: %s",
                self.iterations, tuple(made),
            )  # fmt: skip
