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
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from stillflow.graph.operation import Operation
from stillflow.platform import tf_logging as logging
from stillflow.runtime.devices.moves import HOST
from stillflow.runtime.ir.facts import Facts
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.ir.steps import Name, Step, ops_of
from stillflow.runtime.plan.regions import Code, Part

# A single step has nothing to be compiled with.
_AT_LEAST = 2
# Compilation takes about so many seconds, and so many for each step. It waits until the steps have
# taken as long: its cost is then never much more than the time already spent.
_SECONDS, _SECONDS_PER_STEP = 2.0, 0.2
_NO_NUMBERS = frozenset(("string", "resource", "variant"))


def fuse_clusters(graph: StepGraph) -> None:
    """Replace steps next to each other that are to be compiled by one step.

    The shapes of their tensors have to be known.
    """
    assert graph.facts is not None
    everything = graph.facts.resources.compiles
    if not (everything or any(_is_marked(step.op) for step in graph)):
        return
    cluster: list[Step] = []
    present: Any = None
    for step in graph:
        if step.kind == "read" and not step.guard:  # it may run before the cluster as well
            continue
        wanted = None
        if (everything or _is_marked(step.op)) and _is_pure(step, graph.facts):
            wanted = (step.op and graph.device_of(step.op)) or HOST
        if wanted != present or wanted is None:
            _put(graph, cluster, step)
            cluster, present = [], wanted
        if wanted is not None:
            cluster.append(step)
    _put(graph, cluster, None)


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


def _put(graph: StepGraph, cluster: list[Step], before: Step | None) -> None:
    """Put one step for a cluster before another step, or at the end, if that is worth it."""
    if len(cluster) < _AT_LEAST:
        return
    inside = set(map(id, cluster))
    made = [name for step in cluster for name in step.outputs]
    wanted = {
        name for name in made
        if graph.is_result(name) or any(id(step) not in inside for step in graph.consumers(name))
    }  # fmt: skip
    part = Part(cluster, wanted, set(), graph.memory, {})
    if not part.outputs:
        return
    function = Compiled(Code(part), len(cluster))
    names = [Name(name) for name in part.inputs]
    step = Step("call", cluster[-1].op, part.outputs, part.inputs, (), function, names, fused=True)
    graph.replace(cluster, step, at=before)


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
                # Fewer digits are not TensorFlow's numbers, although torch advises them.
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
    """Return the reason why torch.compile cannot work on this machine; "" if none is known."""
    compilers = [os.environ.get("CXX", ""), "g++", "clang++", "cl"]
    if not any(shutil.which(name) for name in compilers if name):
        return "there is no C++ compiler"
    return ""


@cache
def _notice(reason: str) -> None:
    """Says, once for each reason, that nothing is compiled."""
    logging.warning(f"Operations that are to be compiled run as they are: {reason}")
