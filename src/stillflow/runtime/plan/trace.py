"""Tracing of ordered operations to steps: shapes, folding, kernels, dead branches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.dims import num_elements
from stillflow.graph.node import Call, Handle
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.kernel_errors import as_op_error, raise_from
from stillflow.ops.training.cards import GroupedUpdate
from stillflow.runtime.devices.moves import HOST, Moves, is_of_host, settled
from stillflow.runtime.failures import fed_for_a_reference, no_kernel, no_scalar, truth_of
from stillflow.runtime.ir.facts import Facts, PlanNode
from stillflow.runtime.ir.inputs import is_handle, wants_reference
from stillflow.runtime.ir.steps import ANY, Guard, Memory, Name, Step, Value, both
from stillflow.runtime.loops.frames import Frame
from stillflow.runtime.passes.simplifications import Shortcuts
from stillflow.runtime.plan.checks import check, refusal
from stillflow.runtime.plan.common_subexpressions import Duplicates
from stillflow.runtime.plan.special_operations import special
from stillflow.util import progress

# Functions of these modules give results where their arguments are.
_OWN_DEVICE = (
    "torch", "_operator", "builtins", "stillflow.ops.nn.convolution",
    "stillflow.ops.nn.pool_kernels", "stillflow.ops.random.device_draws", "stillflow.ops.training",
)  # fmt: skip
# Results up to this size are kept in the plan; larger ones are computed when needed.
MAX_FOLDED_ELEMENTS = 1 << 16


class Tracer:
    """Walks operations in order, keeping for every tensor its `Value`, and collects steps."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.memory = Memory()
        self.steps: list[Step] = []
        self.values: dict[Tensor, Value] = {}
        self.constants: dict[str, Any] = {}
        self.failed = False  # whether a step is bound to raise, if it runs
        self.held: set[int] = set()  # memory that a stack or array holds on to
        self._op_guards: dict[Operation, Guard] = {}
        self._predicates: dict[str, str] = {}
        self._count = 0
        self.fed_by_host = False  # True if the feeds come from the program
        # None where all is computed that is asked for, as it is asked for.
        self.duplicates: Duplicates | None = None
        self.shortcuts: Shortcuts | None = None
        self.moves: Moves | None = None  # None where every device computes on the CPU
        if facts.resources.several:
            self.moves = Moves(
                facts.resources.device_of, facts.dims, self.constants, self.memory, self.steps,
                self.name,
            )  # fmt: skip

    def name(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    def look_back(self) -> None:
        """Make operations reuse the results of earlier ones, where that saves work."""
        if self.moves is None:
            self.duplicates = Duplicates(self)
            self.shortcuts = Shortcuts(self.facts, self.values, self.memory)

    def shapes(self) -> dict[str, tuple[Any, Any]]:
        """Return the dims and type of each value, by name."""
        return {
            value.name: (self.facts.dims(tensor), tensor.dtype.base_dtype)
            for tensor, value in self.values.items()
        }

    def feed(self, tensor: Tensor, place: Any = None, known: np.ndarray | None = None) -> str:
        """Return the name of a parameter of the plan, whose value may be known."""
        if known is not None:
            self.know(tensor, self.facts.resources.from_array(known), ())
            return self.name("t")
        # The feed of a reference is a value, not a variable.
        handle = tensor.dtype.name == "resource"
        value = Value(self.name("t"), roots=self.memory.borrowed(), is_handle=handle)
        if self.moves is not None:
            self.moves.put(value.name, HOST if self.fed_by_host else place)
        self.values[tensor] = value
        return value.name

    def run(self, units: Sequence[Operation | Frame]) -> None:
        for unit in progress.over(units, "planning", "operations"):
            self.one(unit)

    def one(self, unit: Operation | Frame) -> None:
        """Traces an operation, or a whole loop."""
        if isinstance(unit, Frame):
            from stillflow.runtime.loops.loop import trace_loop

            trace_loop(self, unit)
            return
        outputs = unit._outputs
        if outputs and all(map(self.values.__contains__, outputs)):
            return  # every output is fed
        trace = special(unit)
        if trace is not None:
            trace(self, unit)
        else:
            self.plain(unit)

    # ---- one operation

    def guard_of(self, op: Operation) -> Guard:
        """When `op` runs: whenever all its inputs exist and its control inputs ran."""
        guard: Guard = ()
        guards = [self.values[tensor].guard for tensor in op._inputs]
        guards += [self._op_guards.get(control, ()) for control in op._control_inputs]
        for each in guards:
            if each != guard:
                guard = both(guard, each)
        self._op_guards[op] = guard
        return guard

    def trigger_guard(self, guards: Sequence[Guard]) -> Guard:
        """Return the guard of a ControlTrigger that waits for operations under `guards`."""
        del guards
        return ()

    def plain(self, op: Operation) -> None:
        guard = self.guard_of(op)
        if guard is None:
            self.give_dead(op)
            return
        node = PlanNode(op, self.facts)
        try:
            check(op, node, self.facts)
            if not self.fold(op, node, guard):
                self.run_once(op, node, guard)
        except errors.OpError as error:
            self.fail(op, error, guard)

    def fail(self, op: Operation, error: errors.OpError, guard: Guard) -> None:
        """Put the error where the op would run: checks before it come first, as does a branch.

        The op's consumers never run, as in a branch that is not taken.
        """

        def refuse(*_: Any) -> None:
            kind: Any = type(error)
            raise kind(error.node_def, error.op, error.message)

        self.failed = True
        self._op_guards[op] = None
        self.give_dead(op)
        self.steps.append(Step("call", op, [], [], guard, refuse))

    def fold(self, op: Operation, node: PlanNode, guard: Guard) -> bool:
        """Compute the op now if everything it depends on is known; say whether it did."""
        card, facts = op.card, self.facts
        if not card.foldable or not op._outputs:
            return False
        if card.value_part is not None and op.type != "Const":
            try:
                known = card.value_part(node)
            except Exception as error:
                raise refusal(op, error) from error
            arrays: Sequence[Any] = known if isinstance(known, (list, tuple)) else [known]
            if any(array is not None for array in arrays):
                from_array = facts.resources.from_array
                self.settle(op, [None if a is None else from_array(a) for a in arrays], guard)
                if all(array is not None for array in arrays):
                    return True
        if op.type == "Const":
            self.settle(op, [facts.resources.from_array(op._values[0])], guard)  # type: ignore[index]
            return True
        if not op._inputs or any(tensor not in facts.values for tensor in op._inputs):
            return False
        if self.moves is not None and any(tensor.dtype.name == "variant" for tensor in op._outputs):
            return False  # a list would hold a value made on the host
        for tensor in op._outputs:
            size = num_elements(facts.dims(tensor))
            if size is None or size > MAX_FOLDED_ELEMENTS:
                return False
        outputs = self.compute(op, node, [facts.values[tensor] for tensor in op._inputs])
        self.settle(op, outputs, guard)
        return True

    def run_once(self, op: Operation, node: PlanNode, guard: Guard) -> None:
        """Use the results of an operation that computed the same, or run this one."""
        seen = self.duplicates
        key = None if seen is None else seen.key(op, guard)
        found = None if seen is None or key is None else seen.find(key, op)
        if found is not None:
            self.repeat(op, *found)
            return
        self.emit(op, node, guard)
        if seen is not None and key is not None and self.steps:
            seen.note(key, op, self.steps[-1])
        if self.shortcuts is not None and op.type == "Unique":
            self.shortcuts.see_unique(op)

    def repeat(self, op: Operation, earlier: Operation, step: Step) -> None:
        """Use the results of an operation that a step runs."""
        step.joined.append(op)
        for tensor, same in zip(op._outputs, earlier._outputs, strict=True):
            self.set_output(tensor, self.values[same])
            self.facts._dims[tensor] = self.facts.dims(same)

    def compute(self, op: Operation, node: PlanNode, inputs: list[Any]) -> Sequence[Any]:
        """Run an op's kernel on values that are known now."""
        if self.moves is not None:
            node = PlanNode(op, self.facts, "cpu")
        function, arguments, keywords = self.kernel(op, node)
        by_tensor = dict(zip(op._inputs, inputs, strict=True))
        try:
            args = [by_tensor[a] if isinstance(a, Tensor) else a for a in arguments]
            result = function(*args, **keywords) if function is not None else args[0]
        except Exception as error:
            raise_from(as_op_error(error, op), error)
        return [result] if len(op._outputs) == 1 else result

    def settle(self, op: Operation, outputs: Sequence[Any], guard: Guard) -> None:
        """Record known outputs, those that are not None, as constants of the plan."""
        for tensor, value in zip(op._outputs, outputs, strict=True):
            if value is not None and tensor not in self.values:
                self.know(tensor, value, guard)

    def know(self, tensor: Tensor, value: Any, guard: Guard) -> None:
        """Record the value of a tensor as a constant of the plan."""
        name = self.name("c")
        self.constants[name] = value
        self.facts.values[tensor] = value
        self.facts._dims[tensor] = tuple(value.shape)
        self.values[tensor] = Value(name, guard, self.memory.borrowed())

    def kernel(self, op: Operation, node: PlanNode) -> tuple[Any, Sequence[Any], dict[str, Any]]:
        """Return the function an op runs, with its arguments (input tensors or constants)."""
        if op.card.kernel_part is None:
            raise no_kernel(op)
        self.facts.resources.bounds.check(node)
        try:
            made = op.card.kernel_part(node)
        except Exception as error:
            raise refusal(op, error) from error
        if isinstance(made, Call):
            return made.function, made.args, made.kwargs
        return made, op._inputs, {}

    def emit(self, op: Operation, node: PlanNode, guard: Guard) -> None:
        """Add the step that runs an op, reading variables where it takes their tensors."""
        if self.moves is not None:
            place = self.moves.settle(op, [(tensor, self.values[tensor]) for tensor in op._inputs])
            node = PlanNode(op, self.facts, place)
        function, arguments, keywords = self.kernel(op, node)
        if isinstance(function, Handle):
            self.handle(op, function.state)
            return
        card, view = op.card, op.card.view
        if self.shortcuts is not None:
            shortcut = self.shortcuts.find(op, function, arguments, keywords)
            if shortcut is not None:
                (function, arguments, keywords), view = shortcut.call, view or shortcut.view
        given = {}  # input tensor -> its value, references read
        for index, tensor in enumerate(op._inputs):
            given[tensor] = self.argument(op, index, tensor, guard)
        if self.moves is not None:
            function = self.moved(op, function, arguments, given)
        if function is None and len(op._outputs) == 1:  # the op hands its input on
            source = given[arguments[0]]
            same = Value(source.name, guard, source.roots, source.is_handle)
            self.set_output(op._outputs[0], same)
            if source.name in self.constants:
                self.adopt_constant(arguments[0], op._outputs[0])
            return
        taken = dict.fromkeys(argument for argument in arguments if isinstance(argument, Tensor))
        for tensor in taken:
            if tensor not in given:
                given[tensor] = self.values[tensor]
        # Only the kernel's inputs: a known shape went into it as plain numbers.
        shared = frozenset[int]().union(*(given[a].roots for a in taken)) if view else frozenset()
        outputs = self.outputs(op, given, guard, shared)
        # An input whose shape was all that mattered is not waited for, nor kept alive.
        inputs = [tensor for tensor in given if tensor in taken or not card.foldable]
        step = Step("call", op, outputs, [given[t].name for t in inputs], guard, function)
        step.arguments = [Name(given[a].name) if isinstance(a, Tensor) else a for a in arguments]
        step.keywords = keywords
        if card.writes:
            changed = [op._inputs[i] for i in card.writes if i < len(op._inputs)]
            step.writes = [self.buffer_id(given[tensor]) for tensor in changed]
        if card.calls:
            step.writes.append(ANY)  # a call may change any variable
        self.steps.append(step)

    def outputs(
        self, op: Operation, given: dict[Tensor, Value], guard: Guard, shared: frozenset[int]
    ) -> list[str]:
        """Return names for a step's results, which may share the memory of `shared`."""
        outputs = []
        for tensor in op._outputs:
            if tensor.dtype._is_ref_dtype and wants_reference(op, 0):
                # The op gives back the reference it took, but only where it runs.
                taken_reference = given[op._inputs[0]]
                self.set_output(tensor, replace(taken_reference, guard=guard))
                self.adopt_constant(op._inputs[0], tensor)
                outputs.append("_")
                continue
            name = self.name("t")
            outputs.append(name)
            roots = shared if shared else self.memory.fresh()
            self.set_output(tensor, Value(name, guard, roots, is_handle(tensor)))
            if self.moves is not None and not is_of_host(tensor):
                self.moves.put(name, self.moves.device_of(op))
        return outputs

    def moved(
        self, op: Operation, function: Any, arguments: Sequence[Any], given: dict[Tensor, Value]
    ) -> Any:
        """Transfer a kernel's inputs to its device; return the kernel, whose results stay there."""
        assert self.moves is not None
        for argument in arguments:
            if isinstance(argument, Tensor):
                given[argument] = self.moves.bring(given[argument], argument, op)
        if isinstance(function, GroupedUpdate):  # one call is for variables of one device
            function.device = self.moves.device_of(op)
        if all(is_of_host(tensor) for tensor in op._outputs):  # a list may be one value then
            return function
        module = getattr(function, "__module__", None) or "torch"
        if module.startswith(_OWN_DEVICE):
            return function
        return settled(function, self.moves.device_of(op))

    def set_output(self, tensor: Tensor, value: Value) -> None:
        self.values.setdefault(tensor, value)
        if value.name in self.constants and not value.is_handle:
            self.facts.values.setdefault(tensor, self.constants[value.name])

    def give_dead(self, op: Operation) -> None:
        """Make the outputs of an operation, those that are not fed, dead."""
        for tensor in op._outputs:
            self.values.setdefault(tensor, Value("dead", None))

    def pass_on(self, source: Tensor, target: Tensor, value: Value, guard: Guard) -> None:
        """Make the value of a tensor that of another one, under a guard."""
        self.set_output(target, Value(value.name, guard, value.roots, value.is_handle))
        self.facts._dims[target] = self.facts.dims(source)
        self.adopt_constant(source, target)

    def adopt_constant(self, source: Tensor, target: Tensor) -> None:
        if source in self.facts.values:
            self.facts.values[target] = self.facts.values[source]
        if source in self.facts.handles:
            self.facts.handles[target] = self.facts.handles[source]

    def buffer_id(self, value: Value) -> int:
        """Return the number of the variable behind a handle.

        ANY where it is known only at run time.
        """
        handle = self.constants.get(value.name)
        return ANY if handle is None else self.memory.number_of(handle)

    def argument(self, op: Operation, index: int, tensor: Tensor, guard: Guard) -> Value:
        """Return an input in the kernel's form; a reference is read unless the op takes it."""
        value = self.values[tensor]
        if not tensor.dtype._is_ref_dtype:
            return value
        if value.is_handle:
            return value if wants_reference(op, index) else self.read(op, value, guard)
        if tensor in self.facts.fed and wants_reference(op, index):
            raise fed_for_a_reference(op, index, sorted(t.name for t in self.facts.fed))
        return value

    def read(self, op: Operation | None, handle: Value, guard: Guard) -> Value:
        """Add the step that takes a variable's tensor out of its reference."""
        state = self.constants.get(handle.name)
        if state is not None and getattr(state, "is_fixed", False) and self.moves is None:
            self.constants[name := self.name("c")] = state.value
            return Value(name, guard, self.memory.borrowed())
        name = self.name("t")
        step = Step("read", op, [name], [handle.name], guard)
        # A value read through a resource stays unchanged; one read through a reference is the
        # variable's memory, and shows later writes until its use, as in TF.
        snapshot = state is None or getattr(state, "is_resource", True)
        roots = self.memory.variable(step, self.buffer_id(handle), snapshot)
        self.steps.append(step)
        if self.moves is not None:
            self.moves.put(name, self.moves.place(handle.name))
        return Value(name, guard, roots)

    def handle(self, op: Operation, state: Any) -> None:
        """Record an output that is a handle to session state, known before the run."""
        name = self.name("r")
        self.constants[name] = state
        self.facts.handles[op._outputs[0]] = state
        if getattr(state, "reshaped", False):
            self.facts._dims[op._outputs[0]] = None if op._outputs[0].dtype._is_ref_dtype else ()
        self.values[op._outputs[0]] = Value(name, self.guard_of(op), is_handle=True)
        if self.moves is not None:
            self.moves.put(name, self.moves.device_of(op))

    def predicate(self, tensor: Tensor, op: Operation) -> str:
        """Return the local name of a tensor's truth, computed once.

        Raises:
          InvalidArgumentError: if it is no scalar.
        """
        value = self.values[tensor]
        if value.name not in self._predicates:
            dims = self.facts.dims(tensor)
            if dims:  # a list of sizes; () is a scalar
                raise as_op_error(no_scalar(dims), op)
            name = self._predicates[value.name] = self.name("p")
            step = Step("bool", op, [name], [value.name], value.guard)
            step.function = None if dims == () else truth_of
            self.steps.append(step)
        return self._predicates[value.name]
