"""Loops that run in the graph: over tests, rows, ranges, iterators and datasets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.autograph.operators.builtin_functions import len_
from stillflow.autograph.operators.verification import (
    Names,
    check_defined_before_loop,
    check_iteration,
)  # fmt: skip
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.ops.arrays.fill import zeros_like
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.control_flow.while_loop import while_loop
from stillflow.ops.functional.nodes import in_xla_graph
from stillflow.ops.math.binary import maximum
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import logical_and, logical_or, not_equal

Block = Callable[..., Any]
Values = tuple[Any, ...]


def staged(
    test: Block, body: Block, get_state: Block, set_state: Block, init_vars: Values, names: Names,
    opts: Any = None,
) -> Values:  # fmt: skip
    """Return a `tf.while_loop` whose variables are `init_vars` and the state."""
    check_defined_before_loop(init_vars)
    count = len(init_vars)

    def loop_test(*values: Any) -> Any:
        set_state(values[count:])
        return test(*values[:count])

    def loop_body(*values: Any) -> Values:
        set_state(values[count:])
        new = tuple(body(*values[:count])) + tuple(get_state())
        check_iteration(values, new, names)
        return new

    final = while_loop(
        loop_test, loop_body, init_vars + tuple(get_state()), return_same_structure=True,
        **(opts or {}),
    )  # fmt: skip
    set_state(final[count:])
    return final[:count]


def _and_then(main: Any, extra_test: Block | None, values: Values) -> Any:
    """Return True if a loop continues: an extra test is called only if the main one is True."""
    if extra_test is None:
        return main
    return cond(main, lambda: extra_test(*values), lambda: False)


def over_rows(
    tensor: Any, extra_test: Block | None, body: Block, get_state: Block, set_state: Block,
    init_vars: Values, names: Names,
) -> Values:  # fmt: skip
    """Loop over the rows of a tensor."""
    from stillflow.ops.tensor_array.tensor_array import TensorArray

    n = len_(tensor)
    rows = TensorArray(tensor.dtype, size=n).unstack(tensor)

    def loop_body(index: Any, *values: Any) -> Values:
        new = tuple(body(rows.read(index), *values))
        check_iteration(values, new, names)
        return (index + 1, *new)

    def loop_test(index: Any, *values: Any) -> Any:
        return _and_then(index < n, extra_test, values)

    opts = _bounded(lambda: n)
    final = staged(loop_test, loop_body, get_state, set_state, (0, *init_vars), None, opts)
    return final[1:]


def over_range(
    numbers: Any, extra_test: Block | None, body: Block, get_state: Block, set_state: Block,
    init_vars: Values, names: Names,
) -> Values:  # fmt: skip
    """Loop over a `tf.range` without creating it."""
    start, limit, delta = numbers.op.inputs

    def loop_body(number: Any, *values: Any) -> Values:
        new = tuple(body(number, *values))
        return (number + delta, *new)

    def loop_test(number: Any, *values: Any) -> Tensor:
        return _and_then(_before(number, limit, delta), extra_test, values)

    names = None if names is None else (None, *names)
    opts = _bounded(lambda: _count(start, limit, delta))
    final = staged(loop_test, loop_body, get_state, set_state, (start, *init_vars), names, opts)
    return final[1:]


def _before(number: Any, limit: Any, delta: Any) -> Tensor:
    step = static_value(delta)
    if step is not None:
        return number < limit if step.item() >= 0 else number > limit
    return logical_or(
        logical_and(delta >= 0, number < limit), logical_and(delta < 0, number > limit)
    )


def _bounded(count: Callable[[], Any]) -> dict[str, Any]:
    """XLA asks for the greatest number of iterations."""
    return {"maximum_iterations": count()} if in_xla_graph(get_default_graph()) else {}


def over_iterator(
    iterator: Any, extra_test: Block | None, body: Block, get_state: Block, set_state: Block,
    init_vars: Values, names: Names,
) -> Values:  # fmt: skip
    """Loop over an iterator to its end."""
    from stillflow.data.iterator import get_next_as_optional

    def loop_body(has_next: Any, values: Values) -> tuple[Any, Values]:
        item = get_next_as_optional(iterator)
        has_next = item.has_value()
        # A branch gives something, even if the loop has no variables.
        filler = () if init_vars else (constant(()),)

        def step() -> Values:
            new = tuple(body(item.get_value(), *values))
            check_iteration(values, new, names)
            return filler + new

        new = cond(has_next, step, lambda: filler + values)
        if filler:
            new = ()
        return has_next, new

    def loop_test(has_next: Any, values: Values) -> Tensor:
        return _and_then(has_next, extra_test, values)

    _, final = staged(loop_test, loop_body, get_state, set_state, (True, init_vars), None)
    return final


# ---- datasets


def over_dataset(
    dataset: Any, extra_test: Block | None, body: Block, get_state: Block, set_state: Block,
    init_vars: Values, names: Names,
) -> Values:  # fmt: skip
    """Loop over a dataset by `reduce`."""
    walk = _reduced if extra_test is None else _scanned
    return walk(dataset, extra_test, body, get_state, set_state, init_vars, names)  # type: ignore[arg-type]


def _scanned(
    dataset: Any, extra_test: Any, body: Block, get_state: Block, set_state: Block,
    init_vars: Values, names: Names,
) -> Values:  # fmt: skip
    """Loop with an extra test: a scan gives all states up to the first one that fails it.

    The library's functions are called after the functions here, as in TensorFlow.
    """
    from stillflow.data.experimental import scan, take_while

    def scan_body(both: Any, item: Any) -> tuple[tuple[Any, Any], tuple[Any, Any, Any]]:
        values, state = both

        def run() -> tuple[tuple[Tensor, ...], Any]:
            set_state(state)
            new = body(item, *values)
            check_iteration(values + state, new + state, names, shapes=False)
            return new, get_state()

        goes_on = extra_test(*values)
        new, new_state = cond(goes_on, run, lambda: (values, state))
        return (new, new_state), (new, new_state, goes_on)

    def take_while_predicate(values: Values, state: Values, goes_on: Any) -> Any:
        return goes_on

    def reduce_body(old: Any, new: Any) -> tuple[tuple[Tensor, ...], Any]:
        values, state, _ = new
        return values, state

    start = init_vars, get_state()
    states = dataset.apply(scan(start, scan_body)).apply(take_while(take_while_predicate))
    final, final_state = states.reduce(start, reduce_body)
    set_state(final_state)
    return final


def _reduced(
    dataset: Any, extra_test: None, body: Block, get_state: Block, set_state: Block,
    init_vars: Values, names: Names,
) -> Values:  # fmt: skip
    """Without an extra test. `reduce` wants a state, so there is one even where nothing changes."""
    no_vars, no_state = not init_vars, not get_state()
    if no_vars:
        init_vars = (constant(0),)
        names = None if names is None else (None, *names)
    if no_state:
        constant(0)  # TensorFlow leaves this node in the graph

    def reduce_body(both: Any, item: Any) -> Any:
        values, state = both
        if not no_state:
            set_state(state)
        if no_vars:
            body(item)
            new = values
        else:
            new = body(item, *values)
        new_state = state if no_state else get_state()
        check_iteration(values + state, new + new_state, names, shapes=False)
        return new, new_state

    final, final_state = dataset.reduce((init_vars, get_state()), reduce_body)
    set_state(final_state)
    return () if no_vars else final


def _count(start: Any, limit: Any, delta: Any) -> Any:
    """Return the length of a range."""
    distance = convert_to_tensor(limit - start)
    whole = distance // delta
    rest = cast(not_equal(distance % delta, zeros_like(whole)), distance.dtype)
    count = whole + rest
    return cast(maximum(count, zeros_like(count)), dtypes.int32)
