"""Values that a captured part takes from the host, and those that it hands back there.

A move of its own makes memory on the device only to copy it once more to where a graph finds it;
one back waits for each value by itself, in memory that the device cannot write to straight away.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from stillflow.runtime.capture.cuda_graph import Ends
from stillflow.runtime.capture.graph_capture import Captured
from stillflow.runtime.ir.steps import Memory, Name, Step, count_uses


def take_ends(
    steps: Sequence[Step], kept: Collection[str], roots: Mapping[str, frozenset[int]],
    memory: Memory,
) -> list[Step]:  # fmt: skip
    """Make captured parts do transfers that nobody else uses.

    The steps are in the order in which they run, placed in memory; `kept` names the plan's results,
    `roots` has the memory of every value by name.
    """
    uses = count_uses(steps, kept)
    moves = {name: at for at, step in enumerate(steps) for name in _moved(step)}
    result = list(steps)
    gone: set[int] = set()
    for at, step in enumerate(steps):
        if not isinstance(step.function, Captured):
            continue
        sent = {
            place: moves[name] for place, name in enumerate(map(str, step.arguments))
            if name in moves and moves[name] < at and uses[name] == 1
            and _can_wait(steps, moves[name], at, roots, memory)
        }  # fmt: skip
        brought = {
            place: move for place, name in enumerate(step.outputs) if uses[name] == 1
            for move in (moves.get(name, -1),) if move > at and steps[move].guard == step.guard
        }  # fmt: skip
        result[at] = _with_ends(step, _each(steps, sent), _each(steps, brought))
        gone |= {*sent.values(), *brought.values()}
    return [step for at, step in enumerate(result) if at not in gone]


def _moved(step: Step) -> list[str]:
    """Return the key of a transfer: its output on a device, or its input from one."""
    if step.kind != "move":
        return []
    return step.inputs if step.arguments[0].type == "cpu" else step.outputs


def _each(steps: Sequence[Step], places: Mapping[int, int]) -> dict[int, Step]:
    return {place: steps[move] for place, move in places.items()}


def _can_wait(
    steps: Sequence[Step], move: int, until: int, roots: Mapping[str, frozenset[int]],
    memory: Memory,
) -> bool:  # fmt: skip
    """Return True if a transfer's value is the same when the part runs, and is sent only then."""
    (name,) = steps[move].inputs
    mine = roots.get(name)
    if not mine or any(memory.kinds[root] == "variable" for root in mine):
        return False
    if not set(steps[move].guard or ()).issubset(steps[until].guard or ()):
        return False
    others = [name for step in steps[move + 1 : until] for name in step.inputs]
    return not any(mine & roots.get(other, frozenset()) for other in others)


def _with_ends(step: Step, sent: Mapping[int, Step], brought: Mapping[int, Step]) -> Step:
    """Return a captured part with the inputs and outputs of its transfers."""
    if not sent and not brought:
        return step
    assert isinstance(step.function, Captured)
    arguments, outputs = list(step.arguments), list(step.outputs)
    for place, move in sent.items():
        arguments[place] = Name(move.inputs[0])
    for place, move in brought.items():
        outputs[place] = move.outputs[0]
    function = step.function.with_ends(Ends(frozenset(sent), frozenset(brought)))
    inputs = list(map(str, arguments))
    return replace(step, function=function, arguments=arguments, inputs=inputs, outputs=outputs)
