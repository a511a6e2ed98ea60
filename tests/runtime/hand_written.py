"""Steps of plans written by hand, for tests of what edits, checks and orders them.

steps = [call("Cast", "b", "a"), call("Mul", "c", "b", 2.0)]
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from stillflow.graph import card as cards
from stillflow.runtime.ir.steps import Guard, Name, Step

KERNELS: dict[str, Any] = {
    "Add": torch.add, "Mul": torch.mul, "Sub": torch.sub, "Relu": torch.relu, "Neg": torch.neg,
    "Exp": torch.exp, "Tanh": torch.tanh, "Maximum": torch.maximum,
}  # fmt: skip


def call(kind: str, output: str, *arguments: Any, guard: Guard = (), **fields: Any) -> Step:
    """Return a call of an operation's kernel; arguments that are texts are names of values."""
    op: Any = SimpleNamespace(
        type=kind, name=output, card=cards.get(kind), attrs={}, _inputs=[], _outputs=[]
    )
    given = [Name(each) if isinstance(each, str) else each for each in arguments]
    names = [str(each) for each in given if isinstance(each, Name)]
    step = Step("call", op, [output], names, guard, KERNELS.get(kind), given)
    for name, value in fields.items():
        setattr(step, name, value)
    return step


def other(kind: str, output: str, *inputs: str, guard: Guard = ()) -> Step:
    """Return a step of another kind: a "read" of a variable, a "bool" of a predicate."""
    return Step(kind, None, [output], list(inputs), guard, arguments=[Name(n) for n in inputs])


def outputs(steps: Any) -> list[str]:
    """Return the names that steps make, in order."""
    return [name for step in steps for name in step.outputs]
