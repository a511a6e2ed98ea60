"""Vectorization of a pure function of elements.

The map functions and queues of input pipelines parse, decode and scale one small element after
the other, and most of the time goes to calls. Where all operations can, they take stacked elements:
parsers and decoders of strings take a vector of them, and `torch.vmap` serves for the rest. Where
an element fails or differs from the others in shape, the caller takes them one by one, so that
errors are those of the element.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy as np
import torch

from stillflow.graph.constant_value import Dims
from stillflow.graph.operation import Tensor
from stillflow.ops.io.parsing.single_example import stacked_parser
from stillflow.ops.kernels import copied
from stillflow.ops.queues.elements import Stacked, stacked
from stillflow.runtime.host.denormals import flushed
from stillflow.runtime.ir.facts import Facts, PlanNode
from stillflow.runtime.ir.steps import Name, Step, taken_by
from stillflow.runtime.loops.frames import has_loops
from stillflow.runtime.loops.vectorization import turn_function
from stillflow.runtime.passes.dead_steps import live_steps
from stillflow.runtime.plan.trace import Tracer
from stillflow.runtime.resources import Resources
from stillflow.runtime.schedule.prune import needed_ops
from stillflow.util.interpreter_exit import at_work

# Takes stacked values, gives the sequence of stacked results.
_Part = tuple[Callable[..., Sequence[Any]], list[Any], list[str]]

# Operations on two strings, alike for many pairs and for many strings and one that they share.
_PAIRS_OF_STRINGS = frozenset(("Equal", "NotEqual"))


class _OneByOne(Exception):
    """Elements cannot be taken together."""


class RowPlan:
    """Computation of `outputs` for many elements.

    Args:
      resources: the session's state.
      feeds: the components of an element, with their shapes.
      same: those that all elements share.
      outputs: what is computed of each element.

    Raises:
      _OneByOne: if one of the operations takes one element at a time.
    """

    def __init__(
        self, resources: Resources, feeds: dict[Tensor, Dims], same: Collection[Tensor],
        outputs: Sequence[Tensor],
    ) -> None:  # fmt: skip
        ops = needed_ops(outputs, (), feeds)
        if has_loops(ops) or not all(op.card.foldable for op in ops):
            raise _OneByOne
        tracer = self._tracer = Tracer(Facts(resources, feeds))
        self._inputs = [tracer.feed(tensor) for tensor in feeds]
        with at_work, flushed:
            tracer.run(ops)
        values = [tracer.values[tensor] for tensor in outputs]
        if tracer.failed or any(value.guard != () or value.is_handle for value in values):
            raise _OneByOne
        self._outputs = [value.name for value in values]
        steps = live_steps(tracer.steps, self._outputs)
        if any(step.kind != "call" or step.guard for step in steps):
            raise _OneByOne
        self._varied = {tracer.values[tensor].name for tensor in feeds if tensor not in same}
        self._parts = self._split(steps)

    def __call__(self, *columns: Any) -> Stacked:
        """Return the results for elements whose components are stacked.

        Shared ones are as they are.
        """
        known = {**self._tracer.constants, **dict(zip(self._inputs, columns, strict=True))}
        for function, arguments, names in self._parts:
            given = [known[a] if isinstance(a, Name) else a for a in arguments]
            known.update(zip(names, function(*given), strict=True))
        count = next(len(known[name]) for name in self._inputs if name in self._varied)
        return Stacked(_own([
            known[name] if name in self._varied else stacked([(known[name],)] * count)[0]
            for name in self._outputs
        ], columns))  # fmt: skip

    # ---- when the plan is made

    def _split(self, steps: list[Step]) -> list[_Part]:
        """Merge steps to functions of all elements at once, neighbours in one call."""
        parts: list[_Part] = []
        group: list[Step] = []
        for number, step in enumerate(steps):
            if self._is_varied(step) and _is_batched(step):
                group.append(step)
                self._varied.update(step.outputs)
                continue
            if group:
                parts.append(self._together(group, steps[number:]))
                group = []
            parts.append(self._alone(step))
        if group:
            parts.append(self._together(group, []))
        return parts

    def _is_varied(self, step: Step) -> bool:
        return not self._varied.isdisjoint(step.inputs)

    def _alone(self, step: Step) -> _Part:
        function = step.function
        assert function is not None and step.op is not None
        if self._is_varied(step):
            others = [name for name in step.inputs if name != step.arguments[0]]
            if self._is_pair(step):
                pass
            elif not self._varied.isdisjoint(others):
                raise _OneByOne
            elif step.op.type == "ParseSingleExample":
                parser = stacked_parser(PlanNode(step.op, self._tracer.facts))
                if parser is None:
                    raise _OneByOne
                function = parser
            elif step.op.card.batching != "each string" or step.keywords:
                raise _OneByOne
            self._varied.update(step.outputs)
        elif step.keywords:
            raise _OneByOne
        run = function if len(step.outputs) > 1 else lambda *values: (function(*values),)
        return run, step.arguments, step.outputs

    def _is_pair(self, step: Step) -> bool:
        """Return True if a step compares strings that broadcast when stacked as each does alone."""
        assert step.op is not None
        if step.op.type not in _PAIRS_OF_STRINGS or step.keywords:
            return False
        varied: set[int | None] = set()
        shared: set[int | None] = set()
        for argument, tensor in zip(step.arguments, step.op._inputs, strict=True):
            dims = self._tracer.facts.dims(tensor)
            ranks = varied if argument in self._varied else shared
            ranks.add(None if dims is None else len(dims))
        return None not in varied and len(varied) == 1 and shared <= {0}

    def _together(self, group: list[Step], later: Sequence[Step]) -> _Part:
        made = [name for step in group for name in step.outputs]
        known = {*made, *self._tracer.constants}
        taken = dict.fromkeys(name for step in group for name in taken_by(step))
        inputs = [name for name in taken if name not in known]
        wanted = {*self._outputs, *(name for step in later for name in step.inputs)}
        outputs = [name for name in made if name in wanted]
        constants, memory = self._tracer.constants, self._tracer.memory
        turn = turn_function(constants, memory, group, inputs, outputs)
        axes = tuple(0 if name in self._varied else None for name in inputs)
        return torch.vmap(turn, axes), [Name(name) for name in inputs], outputs


def _own(results: list[Any], others: Sequence[Any]) -> list[Any]:
    """Results, copied where they share memory with something else."""
    taken = {_memory(value) for value in others}
    owned = []
    for value in results:
        memory = _memory(value)
        if memory in taken or not (isinstance(value, np.ndarray) or value.is_contiguous()):
            value = copied(value)
        else:
            taken.add(memory)
        owned.append(value)
    return owned


def _memory(value: Any) -> int:
    """Return the key of a value's memory."""
    if isinstance(value, torch.Tensor):
        return value.untyped_storage().data_ptr()
    return id(value if value.base is None else value.base)


def _is_batched(step: Step) -> bool:
    assert step.op is not None
    tensors = (*step.op._inputs, *step.op._outputs)
    return step.op.card.batching == "vmap" and all(tensor.dtype.torch_name for tensor in tensors)


def row_plan(
    resources: Resources, feeds: dict[Tensor, Dims], same: Collection[Tensor],
    outputs: Sequence[Tensor],
) -> RowPlan | None:  # fmt: skip
    """Return a `RowPlan`, or None if elements cannot be computed together."""
    try:
        return RowPlan(resources, feeds, same, outputs)
    except _OneByOne:
        return None
