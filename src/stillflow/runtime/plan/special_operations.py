"""Tracing of branches, and of the other operations whose steps are not calls of their kernels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from stillflow.graph.operation import Operation
from stillflow.graph.traits import Access, Flow, HandleKind
from stillflow.ops.functional.lowered import pivot_op
from stillflow.ops.kernel_errors import as_op_error
from stillflow.runtime.failures import no_loop, no_scalar
from stillflow.runtime.ir import containers
from stillflow.runtime.ir.facts import PlanNode
from stillflow.runtime.ir.steps import Guard, Step, Value, both
from stillflow.runtime.plan import crossings
from stillflow.runtime.plan.checks import check

if TYPE_CHECKING:
    from stillflow.runtime.plan.trace import Tracer


def _switch(tracer: Tracer, op: Operation) -> None:
    """Switch hands its data on to one of two outputs."""
    guard = tracer.guard_of(op)
    data, predicate = op._inputs
    source = tracer.values[data]
    if op.type == "Switch" and data.dtype._is_ref_dtype and source.is_handle:
        source = tracer.read(op, source, guard)
    truth = tracer.facts.value(predicate)
    if truth is not None and truth.ndim and guard is not None:
        raise as_op_error(no_scalar(truth.shape), op)
    for branch, tensor in enumerate(op._outputs):
        if guard is None or (truth is not None and bool(truth) != bool(branch)):
            tracer.values.setdefault(tensor, Value("dead", None))
            continue
        inner: Guard = guard
        if truth is None:
            name = tracer.predicate(predicate, op)
            inner = both(guard, ((name, bool(branch)),))
        tracer.pass_on(data, tensor, source, inner)


def _merge(tracer: Tracer, op: Operation) -> None:
    """Merge takes whichever input exists."""
    alive = []
    for index, tensor in enumerate(op._inputs):
        if tensor not in tracer.values:
            raise no_loop(op, tensor)
        guard = tracer.values[tensor].guard
        if guard is not None:
            value = tracer.argument(op, index, tensor, guard)
            if tracer.moves is not None:
                value = tracer.moves.bring(value, tensor, op)
            alive.append((index, value))
    tracer._op_guards[op] = None
    if not alive:
        tracer.give_dead(op)
        return
    if len(alive) == 1:
        _merge_of_one(tracer, op, *alive[0])
        return
    guards = [value.guard or () for _, value in alive]
    common = tuple(item for item in guards[0] if all(item in guard for guard in guards))
    output, chosen = tracer.name("t"), tracer.name("t")
    guard = common
    rest = [tuple(item for item in g if item not in common) for g in guards]
    complementary = (
        len(rest) == 2 and all(len(r) == 1 for r in rest) and (rest[0][0][0] == rest[1][0][0])
    )
    if not complementary:
        flag = tracer.name("p")
        tracer.steps.append(Step("flag", op, [flag], [], common, arguments=[False]))
        guard = (*common, (flag, True))
    roots: frozenset[int] = frozenset()
    for position, value in alive:
        roots |= value.roots
        tracer.steps.append(
            Step("alias", op, [output, chosen], [value.name], value.guard, arguments=[position])
        )
        if guard != common:
            assert guard is not None
            tracer.steps.append(Step("flag", op, [guard[-1][0]], [], value.guard, arguments=[True]))
    tracer._op_guards[op] = guard
    is_handle = alive[0][1].is_handle
    tracer.set_output(op._outputs[0], Value(output, guard, roots, is_handle))
    if tracer.moves is not None and not is_handle:
        tracer.moves.put(output, tracer.moves.device_of(op))
    tracer.set_output(op._outputs[1], Value(chosen, guard, tracer.memory.fresh()))
    dims = {tracer.facts.dims(op._inputs[i]) for i, _ in alive}
    tracer.facts._dims[op._outputs[0]] = dims.pop() if len(dims) == 1 else None


def _merge_of_one(tracer: Tracer, op: Operation, index: int, value: Value) -> None:
    """Merge hands on the only input that can exist, whenever it does."""
    output, chosen = op._outputs
    tracer._op_guards[op] = value.guard
    if output not in tracer.values:
        tracer.pass_on(op._inputs[index], output, value, value.guard)
    if chosen not in tracer.values:
        tracer.know(chosen, torch.tensor(index, dtype=torch.int32), value.guard)


def _read_variable(tracer: Tracer, op: Operation) -> None:
    """ReadVariableOp takes the tensor out of its handle, as reading a reference does."""
    guard = tracer.guard_of(op)
    if guard is None:
        tracer.give_dead(op)
        return
    check(op, PlanNode(op, tracer.facts), tracer.facts)
    tracer.set_output(op._outputs[0], tracer.read(op, tracer.values[op._inputs[0]], guard))


def _sparse_reshape(tracer: Tracer, op: Operation) -> None:
    """Trace SparseReshape, which passes indices on if the shape does not change."""
    facts, guard = tracer.facts, tracer.guard_of(op)
    indices, size, _ = op._inputs
    dims = facts.dims(indices)
    given: Any = facts.value(size)
    assert op.card.value_part is not None
    known: Any = None if given is None else op.card.value_part(PlanNode(op, facts))
    is_same = known is not None and np.array_equal(known[1], given)
    if guard is None or dims is None or not is_same or dims[1:] != known[1].shape:
        tracer.plain(op)
        return
    tracer.settle(op, [None, facts.resources.from_array(known[1])], guard)
    tracer.set_output(op._outputs[0], replace(tracer.values[indices], guard=guard))
    facts.set_dims(op, [dims, dims[1:]])


def _control_trigger(tracer: Tracer, op: Operation) -> None:
    """ControlTrigger runs after its control inputs, whether or not those ran."""
    guards = [tracer._op_guards.get(control, ()) for control in op._control_inputs]
    tracer._op_guards[op] = tracer.trigger_guard([g for g in guards if g is not None])


def _pivot(tracer: Tracer, op: Operation) -> None:
    """Trace an operation that only orders: no step."""
    tracer.guard_of(op)


_BY_FLOW: dict[Flow, Any] = {
    "switch": _switch, "merge": _merge, "trigger": _control_trigger,
}  # fmt: skip
_BY_ACCESS: dict[tuple[HandleKind | None, Access], Any] = {
    ("variable", "read"): _read_variable, **containers.TRACED,
    ("rendezvous", "put"): crossings.send, ("rendezvous", "take"): crossings.receive,
}  # fmt: skip
_BY_TYPE: dict[str, Any] = {pivot_op.name: _pivot, "SparseReshape": _sparse_reshape}


def special(op: Operation) -> Callable[[Tracer, Operation], None] | None:
    """Return the function that traces an operation in a way of its own, None for most."""
    card = op.card
    if card.flow is not None:
        return _BY_FLOW.get(card.flow)
    if card.access is not None:
        return _BY_ACCESS.get((card.handle, card.access))
    return _BY_TYPE.get(op.type)
