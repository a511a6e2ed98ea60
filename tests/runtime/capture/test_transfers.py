"""Transfers to and from a device that become a part of the captured code between them."""

from __future__ import annotations

import pytest
import torch

from stillflow.runtime.capture.graph_capture import Captured
from stillflow.runtime.capture.transfers import take_ends
from stillflow.runtime.ir.steps import Memory, Name, Step
from stillflow.runtime.plan.regions import Part

CUDA, CPU = torch.device("cuda:0"), torch.device("cpu")
MEMORY = Memory()
FED, ITS_OWN = MEMORY.borrowed(), MEMORY.variable(Step("read", None, [], [], ()), 0, False)


def move(name, target, result, guard=()):
    return Step("move", None, [result], [name], guard, arguments=[target])


def host(*names, result="h"):
    return Step("call", None, [result], list(names), (), print, [Name(name) for name in names])


def part(guard=()):
    """Return a part from `x_there` to `y` and `z`."""
    step = Step("call", None, ["y", "z"], ["x_there"], (), print, [Name("x_there")])
    captured = Captured(Part([step], {"y", "z"}, set(), MEMORY, {}), CUDA)
    return Step("call", None, ["y", "z"], ["x_there"], guard, captured, [Name("x_there")])


def kinds(steps, kept, roots=None):
    """Return the remaining steps, and the captured part's inputs and outputs."""
    left = take_ends(steps, kept, {"x": FED} if roots is None else roots, MEMORY)
    (taken,) = [step for step in left if isinstance(step.function, Captured)]
    return [step.kind for step in left], (taken.inputs, taken.outputs)


def test_a_part_moves_what_nobody_else_takes():
    steps = [move("x", CUDA, "x_there"), part(), move("y", CPU, "y_here"), move("z", CPU, "z_here")]
    kept = ["y_here", "z_here"]
    assert kinds(steps, kept) == (["call"], (["x"], ["y_here", "z_here"]))


def test_what_others_take_too_is_moved_for_them():
    steps = [move("x", CUDA, "x_there"), part(), move("y", CPU, "y_here"), host("y_here")]
    kept = ["y", "z", "x_there"]
    assert kinds(steps, kept) == (["move", "call", "move", "call"], (["x_there"], ["y", "z"]))


@pytest.mark.parametrize("roots", [{}, {"x": ITS_OWN}, {"x": FED, "seen": FED}])
def test_what_may_change_meanwhile_is_sent_at_once(roots):
    steps = [move("x", CUDA, "x_there"), host("seen"), part(), move("z", CPU, "z_here")]
    left, ends = kinds(steps, ["y", "z_here"], roots)
    assert left == ["move", "call", "call"]
    assert ends == (["x_there"], ["y", "z_here"])


def test_conditions_are_kept():
    taken = (("p", True),)
    before, after = move("x", CUDA, "x_there"), move("y", CPU, "y_here", taken)
    assert kinds([before, part(taken), after], ["y_here"])[1] == (["x"], ["y_here", "z"])
    before, after = move("x", CUDA, "x_there", taken), move("y", CPU, "y_here", taken)
    assert kinds([before, part(), after], ["y_here"])[1] == (["x_there"], ["y", "z"])
