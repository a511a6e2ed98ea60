"""Inference part of a graph, pruned, folded and traced: the input of exporters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import torch

from stillflow.export.problems import ExportError, Problem, explained
from stillflow.graph.constant_value import Dims
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.queues.staging_cards import cards as staging_cards
from stillflow.runtime.functions.inlining import inline
from stillflow.runtime.ir.facts import Facts, PlanNode
from stillflow.runtime.ir.steps import Guard, Step, Value
from stillflow.runtime.loops.frames import find_frames, has_loops
from stillflow.runtime.passes.dead_steps import live_steps
from stillflow.runtime.plan.trace import Tracer
from stillflow.runtime.resources import Resources
from stillflow.runtime.schedule.prune import order, reachable

_PLACEHOLDERS = ("Placeholder", "PlaceholderV2")
_FED = (*_PLACEHOLDERS, "PlaceholderWithDefault")
# Parts of the names of truth placeholders that say whether a model trains.
_TRAINING = ("train", "phase", "learning")


@dataclass
class Parameter:
    """A tensor with a value of its own: a variable, or a weight of a frozen graph.

    Attributes:
      name: of the variable or constant in TensorFlow.
      value: its numbers.
      trainable: whether gradients are for it.
    """

    name: str
    value: torch.Tensor
    trainable: bool


@dataclass
class Program:
    """Program to be exported.

    Attributes:
      graph: where it comes from.
      inputs: the tensors that callers give, with their local names.
      outputs: the tensors that they get, with the values that these are.
      steps: what is computed, in order.
      parameters: by local name.
      training: local names of truths that say whether the model trains.
      tracer: what made the steps; it knows shapes, types and constants.
      targets: operations without outputs that run as well, such as updates of variables.
    """

    graph: Any
    inputs: list[tuple[Tensor, str]]
    outputs: list[tuple[Tensor, Value]]
    steps: list[Step]
    tracer: Tracer
    parameters: dict[str, Parameter] = field(default_factory=dict)
    training: dict[str, Tensor] = field(default_factory=dict)
    targets: Sequence[Operation] = ()

    @property
    def changes(self) -> bool:
        """True if a step changes a variable."""
        return any(step.op is not None and changes(step.op) for step in self.steps)

    def dims(self, tensor: Tensor) -> Dims:
        """Return the dimensions of a tensor, as far as they are known."""
        return self.tracer.facts.dims(tensor)

    def is_image(self, tensor: Tensor) -> bool:
        """Return True for numbers of four dimensions."""
        return len(self.dims(tensor) or ()) == 4 and bool(tensor.dtype.base_dtype.is_floating)


class ExportTracer(Tracer):
    """Traces as for a plan, but keeps weights apart from numbers that are folded."""

    def __init__(self, facts: Facts, has_variables: bool) -> None:
        super().__init__(facts)
        self.moves = None
        facts.exporting = True
        self.has_variables = has_variables
        self.weights: dict[str, Operation] = {}  # constants that stand for variables
        self.problems: list[Problem] = []

    def fold(self, op: Operation, node: PlanNode, guard: Guard) -> bool:
        """Compute the op now if it can be; a weight stays, so that it can be trained."""
        if op.type != "Const" or self.has_variables or not _is_weight(op):
            return super().fold(op, node, guard)
        name = self.name("c")
        value = self.facts.resources.from_array(op._values[0])  # type: ignore[index]
        self.constants[name] = value
        self.weights[name] = op
        self.facts._dims[op._outputs[0]] = tuple(value.shape)
        self.values[op._outputs[0]] = Value(name, guard, self.memory.borrowed())
        return True

    def run_once(self, op: Operation, node: PlanNode, guard: Guard) -> None:
        """Add the step of an op; one that has none is noted, so that all are named at once."""
        try:
            super().run_once(op, node, guard)
        except ExportError:
            raise
        except Exception as error:
            self.problems.append(Problem(op, str(error).partition("\n")[0]))
            for tensor in op._outputs:
                self.values.setdefault(tensor, Value(self.name("t"), guard))


def _is_weight(op: Operation) -> bool:
    dtype = op._outputs[0].dtype
    return bool(dtype.is_floating and op._values[0].ndim > 0)  # type: ignore[index]


def capture(
    resources: Resources,
    inputs: Sequence[Tensor],
    outputs: Sequence[Tensor],
    shapes: Mapping[Tensor, Dims] = MappingProxyType({}),
    for_onnx: bool = False,
    targets: Sequence[Operation] = (),
) -> Program:
    """Trace the part of a graph between inputs and outputs, with variables of `resources`.

    Args:
      resources: the session's.
      inputs, outputs: tensors.
      shapes: of inputs, where they are not those of the graph.
      for_onnx: whether the program rests where it could train, and changes no variables.
      targets: operations to run, with all that they wait for.

    Raises:
      ExportError: if operations cannot be exported, or placeholders are needed that are no inputs.
    """
    graph = outputs[0].graph if outputs else targets[0].graph
    feeds: dict[Tensor, Dims] = {tensor: shapes.get(tensor, tensor._dims) for tensor in inputs}
    switches = _training_switches(outputs, feeds, targets)
    feeds.update(dict.fromkeys(switches, ()))
    ops = _needed(outputs, feeds, targets)
    _require_inputs(ops, feeds)
    wanted: Sequence[Tensor] = outputs
    if any(op.card.inlined for op in ops):
        ops, now = inline(ops, feeds, wanted, list(targets))
        wanted = [now.tensors.get(tensor, tensor) for tensor in wanted]
        feeds = {now.tensors.get(tensor, tensor): dims for tensor, dims in feeds.items()}
        ops = _needed(wanted, feeds, [now.ops.get(op, op) for op in targets])
    _require_exportable(ops, feeds, inputs, updates=not for_onnx, runs=bool(targets))
    facts = Facts(resources, feeds)
    has_variables = any("variable" in (op.card.handle, op.card.gives) for op in ops)
    tracer = ExportTracer(facts, has_variables)
    rests = np.array(False) if for_onnx else None  # what follows the inputs are the switches
    names = {
        tensor: tracer.feed(tensor, known=rests if place >= len(inputs) else None)
        for place, tensor in enumerate(feeds)
    }
    tracer.run(find_frames(ops, feeds).units if has_loops(ops) else ops)
    if tracer.problems:
        raise explained(tracer.problems, inputs)
    values = [_value(tracer, tensor) for tensor in wanted]
    keep = [value.name for value in values]
    keep += [name for value in values for name, _ in value.guard or ()]
    fed = list(names.values())
    program = Program(
        graph, list(zip(inputs, fed[: len(inputs)], strict=True)),
        list(zip(outputs, values, strict=True)), live_steps(tracer.steps, keep), tracer,
        targets=targets,
    )  # fmt: skip
    program.training = dict(zip(fed[len(inputs) :], switches, strict=True))
    _find_parameters(program, tracer)
    return program


def _value(tracer: Tracer, tensor: Tensor) -> Value:
    value = tracer.values.get(tensor)
    if value is None or value.guard is None:
        raise ExportError(f"{tensor.name} has no value outside of its loop or branch")
    if tensor.dtype._is_ref_dtype and value.is_handle:
        return tracer.read(tensor.op, value, value.guard)
    return value


def _needed(
    tensors: Sequence[Tensor], fed: Any, targets: Sequence[Operation] = ()
) -> list[Operation]:
    """Return the operations that tensors depend on; of control inputs those that tell of branches.

    Other operations that wait for each other, such as assertions and updates, are part of the
    function if it has targets; values are pushed onto stacks if they are popped.
    """
    found = reachable(tensors, targets, fed, _is_pivot if not targets else None)
    if not targets and any(op.card.handle == "stack" for op in found):
        found = reachable(tensors, targets, fed, lambda op: _is_pivot(op)
                          or op.card.handle == "stack" or op.type == "ControlTrigger")  # fmt: skip
    return order(found, set(fed))


def changes(op: Operation) -> bool:
    """Return True for an operation that changes a variable."""
    card = op.card
    return bool(card.writes) or (card.handle == "variable" and card.access == "replace")


def _is_pivot(op: Operation) -> bool:
    """Return True for the operations by which branches and loops say that they run."""
    return op.card.flow is not None and op.type not in ("NoOp", "ControlTrigger")


def placeholders(outputs: Sequence[Tensor], targets: Sequence[Operation] = ()) -> list[Tensor]:
    """Return the placeholders that outputs and targets depend on, in the order of their making.

    What queues and iterators give is fed as well.
    """
    ops = _needed(outputs, {}, targets)
    taken = {tensor for op in ops for tensor in op._inputs}.union(outputs)
    fed = [op for op in ops if op.type in _PLACEHOLDERS or (
        op.card.access == "take" and op.card.handle in ("queue", "iterator"))]  # fmt: skip
    return [tensor for op in fed for tensor in op._outputs if tensor in taken]


def is_training_switch(tensor: Tensor) -> bool:
    """Return True for a scalar truth, fed by programs, by whose name they tell a graph to train."""
    if tensor.op.type not in _FED or tensor.dtype.name != "bool":
        return False
    if tensor._dims != () and tensor.op.type == "PlaceholderWithDefault":
        return False
    return any(part in tensor.op.name.lower() for part in _TRAINING)


def _training_switches(
    outputs: Sequence[Tensor], fed: Any, targets: Sequence[Operation]
) -> list[Tensor]:
    """Scalar truths by which the graph is told to train, and that are no inputs."""
    tensors = [op._outputs[0] for op in _needed(outputs, fed, targets) if op.type in _FED]
    return [each for each in tensors if each not in fed and is_training_switch(each)]


def _require_inputs(ops: Sequence[Operation], fed: Any) -> None:
    missing = [
        op for op in ops
        if op.type in _PLACEHOLDERS and op._outputs[0] not in fed
    ]  # fmt: skip
    if missing:
        names = ", ".join(op._outputs[0].name for op in missing)
        raise ExportError(f"the outputs depend on {names}; add to the inputs what is missing")


_BLOCKED = {
    "runs Python": "runs Python code of the program", "network": "uses the network",
    "reads files": "reads files", "writes files": "writes files",
}  # fmt: skip
_OBJECTS = {
    "queue": "a queue", "iterator": "an iterator", "dataset": "a dataset", "reader": "a reader",
    "summary writer": "a summary writer", "rendezvous": "a transfer",
}  # fmt: skip
# Objects of Python in a module, and none of ONNX. They are filled where operations run.
_OF_PYTHON = {
    "barrier": "a barrier", "mutex": "a mutex", "accumulator": "an accumulator",
    "staging area": "a staging area", "optional": "an optional",
}  # fmt: skip


def _require_exportable(
    ops: Sequence[Operation], fed: Any, inputs: Sequence[Tensor], updates: bool, runs: bool
) -> None:
    """Raise the error of operations that no exported model can have."""
    problems = []
    for op in ops:
        if all(tensor in fed for tensor in op._outputs) and op._outputs:
            continue
        card = op.card
        kind = "staging area" if op.type in staging_cards else card.handle or card.gives
        if card.effect in _BLOCKED and not (updates and _goes_out(op)):
            problems.append(Problem(op, _BLOCKED[card.effect]))
        elif kind in _OBJECTS:
            problems.append(Problem(op, f"works on {_OBJECTS[kind]}"))
        elif kind in _OF_PYTHON and not (updates and (runs or kind == "optional")):
            problems.append(Problem(op, f"works on {_OF_PYTHON[kind]}"))
        elif updates:
            continue
        elif not op._outputs and card.effect == "state" and not _is_known(op):
            problems.append(Problem(op, "changes an object"))
        elif changes(op):
            problems.append(Problem(op, "changes a variable"))
    if problems:
        raise explained(problems, inputs)


def _goes_out(op: Operation) -> bool:
    """Return True for an operation that has a source, or whose attributes rule its effect out."""
    card = op.card
    is_harmless = card.harmless is not None and card.harmless(Node(op))
    return is_harmless or card.torch_source_part is not None


def _is_known(op: Operation) -> bool:
    """Return True for an operation without outputs whose effect goes out, or that only checks."""
    card = op.card
    return changes(op) or card.handle == "table" or card.idempotent or not op._inputs


def _find_parameters(program: Program, tracer: ExportTracer) -> None:
    """Record the values of variables, and the weights."""
    names = {id(state): tensor.op.name for tensor, state in reversed(tracer.facts.handles.items())}
    trainable = _trainable(program.graph)
    handles = [name for name, value in tracer.constants.items() if hasattr(value, "value")]
    for name in handles:
        state = tracer.constants[name]
        known = names.get(id(state), name)
        if state.value is None:
            raise ExportError(f"the variable {known} has no value: initialize or restore it")
        if not isinstance(state.value, torch.Tensor):
            raise ExportError(f"the variable {known} holds strings")
        learns = state.value.is_floating_point() and (not trainable or known in trainable)
        program.parameters[name] = Parameter(known, state.value.detach().cpu(), learns)
    for step in program.steps:
        if step.kind == "read" and step.inputs[0] in program.parameters:
            program.parameters[step.outputs[0]] = program.parameters[step.inputs[0]]
    used = {name for step in program.steps for name in step.inputs}
    used.update(value.name for _, value in program.outputs)
    fixed = _statistics(program)
    for name, op in tracer.weights.items():
        if name in used:
            value = tracer.constants[name].detach().cpu()
            program.parameters[name] = Parameter(op.name, value, name not in fixed)


def _statistics(program: Program) -> set[str]:
    """Local names of means and variances that batch normalizations take: none has a gradient."""
    return {
        program.tracer.values[tensor].name
        for step in program.steps
        if step.op is not None and step.op.type.startswith("FusedBatchNorm")
        for tensor in step.op._inputs[3:5]
    }


def _trainable(graph: Any) -> set[str]:
    """Names of the variables that the program trains; empty if it does not say."""
    found = graph.get_collection("trainable_variables")
    return {variable.op.name for variable in found if hasattr(variable, "op")}
