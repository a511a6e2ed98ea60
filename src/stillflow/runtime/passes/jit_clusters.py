"""Steps that become one and are compiled, which `global_jit_level` and jit scopes ask for.

Neighbouring steps without effect become one step. Its function is compiled by torch.compile once
the steps have taken as long as that will. Compiling needs a C++ compiler, on CUDA Triton. Where
there is none, or torch.compile fails for another reason, one line says so, and the steps run as
they would have.
"""

from __future__ import annotations

import os
import shutil
import time
import warnings
from collections.abc import Callable, Collection
from functools import cache
from typing import Any

import torch

from stillflow.graph.operation import Operation
from stillflow.platform import tf_logging as logging
from stillflow.runtime.devices.moves import HOST
from stillflow.runtime.plan.facts import Facts
from stillflow.runtime.plan.regions import Code, Part, taken_after
from stillflow.runtime.plan.steps import Memory, Name, Step, last_uses, ops_of

# A single step has nothing to be compiled with.
_AT_LEAST = 2
# Compiling takes about so many seconds, and so many for each step. It waits until the steps have
# taken as long as they are: what it costs is then never much more than what was already spent.
_SECONDS, _SECONDS_PER_STEP = 2.0, 0.2
_NO_NUMBERS = frozenset(("string", "resource", "variant"))


def join_pure(
    steps: list[Step],
    facts: Facts,
    kept: Collection[str],
    memory: Memory,
    device_of: Callable[[Operation], Any] | None,
) -> list[Step]:
    """Put one step in the place of those next to each other that are compiled.

    Args:
      steps: in the order in which they run.
      facts: about the plan's tensors; shapes have to be known.
      kept: names of values that the run gives back.
      memory: of the plan.
      device_of: where an operation computes; None if all are on the host.
    """
    everything = facts.resources.compiles
    if not (everything or any(_is_marked(step.op) for step in steps)):
        return steps

    def place(step: Step) -> Any:
        if not (everything or _is_marked(step.op)) or not _is_pure(step, facts):
            return None
        return HOST if device_of is None or step.op is None else device_of(step.op)

    last = last_uses(steps, kept)
    result: list[Step] = []
    cluster: list[Step] = []
    present: Any = None
    for number, step in enumerate(steps):
        if step.kind == "read" and not step.guard:  # as well before the cluster as behind it
            result.append(step)
            continue
        wanted = place(step)
        if wanted != present or wanted is None:
            result += _joined(cluster, taken_after(cluster, last, number), memory)
            cluster, present = [], wanted
        if wanted is None:
            result.append(step)
        else:
            cluster.append(step)
    return result + _joined(cluster, taken_after(cluster, last, len(steps)), memory)


def _is_marked(op: Operation | None) -> bool:
    return op is not None and bool(op.attrs.get("_XlaCompile"))


def _is_pure(step: Step, facts: Facts) -> bool:
    op = step.op
    if step.kind != "call" or step.guard or step.writes or op is None or not step.outputs:
        return False
    ops = ops_of(step)
    if any(not op.card.foldable or op.card.beside or op.card.keeps for op in ops):
        return False
    tensors = [tensor for op in ops for tensor in (*op._inputs, *op._outputs)]
    if any(tensor.dtype.base_dtype.name in _NO_NUMBERS for tensor in tensors):
        return False
    shapes = [facts.dims(tensor) for tensor in tensors]
    return all(dims is not None and None not in dims for dims in shapes)


def _joined(cluster: list[Step], wanted: set[str], memory: Memory) -> list[Step]:
    """Return the steps as one, if that is worth it."""
    if len(cluster) < _AT_LEAST:
        return cluster
    part = Part(cluster, wanted, set(), memory, {})
    if not part.outputs:
        return cluster
    names = [Name(name) for name in part.inputs]
    function = Compiled(Code(part), len(cluster))
    return [Step("call", cluster[-1].op, part.outputs, part.inputs, (), function, names)]


class Compiled:
    """The function of some steps, compiled once these have taken as long as compiling will.

    Args:
      steps: the function as it is.
      count: how many steps it has.
    """

    def __init__(self, steps: Code, count: int) -> None:
        self._steps = steps
        self._left = _SECONDS + count * _SECONDS_PER_STEP  # seconds until it is compiled
        self._compiled: Callable[..., Any] | None = None
        self._missing = _missing()
        if self._missing:
            _notice(self._missing)

    def __call__(self, *values: Any) -> Any:
        if self._missing:
            return self._steps(*values)
        if self._left > 0:
            begun = time.perf_counter()
            result = self._steps(*values)
            self._left -= time.perf_counter() - begun
            return result
        try:
            if self._compiled is None:
                # Fewer digits are not TensorFlow's numbers, in spite of torch's advice.
                warnings.filterwarnings("ignore", message="TensorFloat32 tensor cores")
                # Loops in C ask whether they are there; where they are called nothing is compiled.
                warnings.filterwarnings("ignore", message="Dynamo detected a call to a .functools")
                self._compiled = torch.compile(self._steps.code)
            return self._compiled(*values)
        except Exception as error:
            result = self._steps(*values)  # or it was not the compiler's fault
            self._missing = str(error).strip().partition("\n")[0] or type(error).__name__
            _notice(self._missing)
            return result


@cache
def _missing() -> str:
    """Return the missing requirement of torch.compile on this machine; "" if none is known."""
    compilers = [os.environ.get("CXX", ""), "g++", "clang++", "cl"]
    if not any(shutil.which(name) for name in compilers if name):
        return "there is no C++ compiler"
    return ""


@cache
def _notice(reason: str) -> None:
    """Says, once for each reason, that nothing is compiled."""
    logging.warning(f"Operations that are to be compiled run as they are: {reason}")
