"""Bidirectional layers on top of each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import stillflow as tf
from stillflow.graph.export import export
from stillflow.nn.recurrent.dynamic import bidirectional_dynamic_rnn
from stillflow.nn.recurrent.static import static_bidirectional_rnn

Pair: TypeAlias = tuple[Any, Any]  # the forward one, and the backward one


def _check(cells_fw: Any, cells_bw: Any, states_fw: Any, states_bw: Any) -> None:
    for which, cells in (("fw", cells_fw), ("bw", cells_bw)):
        if not cells:
            raise ValueError(f"Must specify at least one {which} cell for BidirectionalRNN.")
    for which, cells in (("fw", cells_fw), ("bw", cells_bw)):
        if not isinstance(cells, list):
            raise ValueError(f"cells_{which} must be a list of RNNCells (one per layer).")
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")
    for which, states in (("fw", states_fw), ("bw", states_bw)):
        fits = isinstance(states, list) and len(states) == len(cells_fw)
        if states is not None and not fits:
            raise ValueError(
                f"initial_states_{which} must be a list of state tensors (one per layer)."
            )


@export("contrib.rnn.stack_bidirectional_rnn")
def stack_bidirectional_rnn(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """`tf.nn.static_bidirectional_rnn` layer by layer.

    Args:
      cells_fw, cells_bw: lists of cells, one per layer.
      inputs, dtype, sequence_length: as for `tf.nn.static_bidirectional_rnn`.
      initial_states_fw, initial_states_bw: lists of states, one per layer.
      scope: a variable scope or its name, "stack_bidirectional_rnn" by default.

    Returns:
      The outputs of the last layer, and tuples of the states of all, forward and backward.

    Raises:
      ValueError: if the lists do not fit.
    """

    def run(cells: Pair, layer: Any, first: Pair, cell_scope: Any) -> tuple[Any, Pair]:
        layer, forward, backward = static_bidirectional_rnn(
            *cells, layer, initial_state_fw=first[0], initial_state_bw=first[1],
            sequence_length=sequence_length, dtype=dtype, scope=cell_scope,
        )  # fmt: skip
        return layer, (forward, backward)

    return _stack(cells_fw, cells_bw, inputs, initial_states_fw, initial_states_bw, scope, run)


@export("contrib.rnn.stack_bidirectional_dynamic_rnn")
def stack_bidirectional_dynamic_rnn(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: Any = None,
    swap_memory: bool = False,
) -> tuple[Any, Any, Any]:
    """`tf.nn.bidirectional_dynamic_rnn` layer by layer, each on the joined outputs of the last.

    Args:
      cells_fw, cells_bw: lists of cells, one per layer.
      inputs, dtype, sequence_length, parallel_iterations, time_major, swap_memory: as for
        `tf.nn.bidirectional_dynamic_rnn`.
      initial_states_fw, initial_states_bw: lists of states, one per layer.
      scope: a variable scope or its name, "stack_bidirectional_rnn" by default.

    Returns:
      The outputs of the last layer, and tuples of the states of all, forward and backward.

    Raises:
      ValueError: if the lists do not fit.
    """

    def run(cells: Pair, layer: Any, first: Pair, _: Any) -> tuple[Any, Pair]:
        outputs, states = bidirectional_dynamic_rnn(
            *cells, layer, initial_state_fw=first[0], initial_state_bw=first[1],
            sequence_length=sequence_length, dtype=dtype, swap_memory=swap_memory,
            parallel_iterations=parallel_iterations, time_major=time_major,
        )  # fmt: skip
        return tf.concat(outputs, 2), states

    return _stack(cells_fw, cells_bw, inputs, initial_states_fw, initial_states_bw, scope, run)


def _stack(
    cells_fw: list[Any],
    cells_bw: list[Any],
    inputs: Any,
    initial_states_fw: Any,
    initial_states_bw: Any,
    scope: Any,
    run: Callable[[Pair, Any, Pair, Any], tuple[Any, Pair]],
) -> tuple[Any, Any, Any]:
    """Run layers one upon the other; `run` takes cells, input, first states and the scope."""
    _check(cells_fw, cells_bw, initial_states_fw, initial_states_bw)
    nothing = [None] * len(cells_fw)
    pairs = zip(cells_fw, cells_bw, strict=True)
    first = zip(initial_states_fw or nothing, initial_states_bw or nothing, strict=True)
    states: list[Pair] = []
    layer = inputs
    with tf.variable_scope(scope or "stack_bidirectional_rnn"):
        for i, (cells, begin) in enumerate(zip(pairs, first, strict=True)):
            with tf.variable_scope(f"cell_{i}") as cell_scope:
                layer, state = run(cells, layer, begin, cell_scope)
            states.append(state)
    return layer, tuple(fw for fw, _ in states), tuple(bw for _, bw in states)
