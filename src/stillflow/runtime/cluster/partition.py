"""Partition of a run's graph into one graph per task.

A tensor for another task gets a `_Send` behind its operation and a `_Recv` in its place there; so
does a control input, as an empty tensor. The value of a reference is sent when its first reader
there would read it, after the updates that this one follows. A feed becomes a placeholder; each
task that takes a constant has it itself.
Everything keeps the order of one list in which the whole run could be done: each part in that order
never waits for a tensor that cannot come (the first operation not yet done, of all parts, can
always be done).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from stillflow.graph.graphdef import fill_library, fill_node
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.constants import const_op
from stillflow.ops.control_flow.identity_and_group import identity_op
from stillflow.ops.send_recv import FEED, RECV, SEND, task_of
from stillflow.runtime.cluster import control_loops
from stillflow.runtime.cluster.control_loops import ControlLoops, SpansTasks
from stillflow.runtime.cluster.joined_sends import is_small, join_sends
from stillflow.runtime.cluster.loop_reads import LoopReads
from stillflow.runtime.cluster.loop_tasks import device_of_loops
from stillflow.runtime.cluster.loose_shapes import with_loose_shapes
from stillflow.runtime.functions.inlining import Inliner, inline
from stillflow.runtime.loops.frames import Frame, LateEntry, find_frames, has_loops
from stillflow.runtime.schedule.operations import by_accesses
from stillflow.runtime.schedule.prune import needed_ops

_CALLS = ("func", "list(func)")
# Marks operations that run without a consumer, unless they are in a branch not taken.
EFFECT = "_effect"


# Transferable between tasks: a tensor, or the end of an operation.
Source = Tensor | Operation


class Part:
    """Part of a run for one task.

    Attributes:
      graph: a `GraphDef`.
      feeds: tensors that are fed, with the names they have in it.
      fetches: tensors that are given back.
      targets: names of operations that run.
    """

    def __init__(self, task: str) -> None:
        from stillflow.protos import GraphDef

        self.task = task
        self.graph = GraphDef()
        self.feeds: dict[Tensor, str] = {}
        self.fetches: list[Tensor] = []
        self.targets: list[str] = []


class Partition:
    """Partition of a run's graph.

    Args:
      tensors: the fetches.
      targets: operations that are run.
      fed: the feeds.
      device_of: the full name of an operation's device.
      incarnations: of the devices; tasks of TensorFlow check them.
      skip: operations that have run before, as steps of a partial run know.
      names: feeds that name devices, with their values.
    """

    def __init__(
        self,
        tensors: Sequence[Tensor],
        targets: Sequence[Operation],
        fed: Collection[Tensor],
        device_of: Callable[[Operation], str],
        incarnations: Mapping[str, int],
        skip: Collection[Operation] = (),
        names: Mapping[Tensor, Any] | None = None,
    ) -> None:
        self._incarnations = incarnations
        self._skip = skip
        self._ops = [op for op in needed_ops(tensors, targets, fed) if op not in skip]
        self._graph = self._ops[0].graph if self._ops else None
        self._now: dict[Any, Any] = {}
        self._effects: set[Operation] = set()
        if any(op.card.inlined for op in self._ops):
            inliner = Inliner(device_of)
            inliner.targets = names or {}
            self._take_calls_apart(tensors, targets, fed, inliner)
        self._fed = {self.now(tensor) for tensor in fed}
        self._ops = by_accesses(self._ops, self._fed)
        self._fetched = [self.now(tensor) for tensor in tensors]
        self._targets = [self.now(op) for op in targets]
        graph = self._graph
        self._loose = set() if graph is None else with_loose_shapes(self._ops, graph)
        self._devices = {op: device_of(op) for op in self._ops}
        self._depths: dict[Operation, int] = {}
        self._loop_reads = LoopReads()
        self._loops: ControlLoops | None = None  # if loops span tasks
        # References whose values other tasks take, by the operation there that is the first to.
        self._first_reads: dict[Operation, list[Tensor]] = {}
        # The device and the loop of the first to take a source in a task.
        self._ends: dict[tuple[Source, str], tuple[str, Frame | None]] = {}
        self._measure()

    def now(self, of_graph: Any) -> Any:
        """Return a tensor or operation of the graph after inlining."""
        return self._now.get(of_graph, of_graph)

    def _take_calls_apart(
        self, tensors: Sequence[Tensor], targets: Sequence[Operation], fed: Collection[Tensor],
        inliner: Inliner,
    ) -> None:  # fmt: skip
        """Inline calls, so that operations on resources of other tasks run there."""
        self._ops, scope = inline(self._ops, fed, tensors, targets, inliner)
        self._now = {**scope.tensors, **scope.ops}
        self._effects = set(inliner.kept)
        of_graph = set(scope.ops.values())
        names = {op.name for op in of_graph}
        for op in self._ops:
            if op in of_graph:
                continue
            name, number = op.name, 0
            while name in names:  # names in a body may be names of the graph
                number += 1
                name = f"{op.name}_{number}"
            names.add(name)
            op.name = name

    @property
    def tasks(self) -> set[str]:
        """The tasks that have something to do."""
        return {task_of(device) for device in self._devices.values()}

    def _measure(self) -> None:
        """Put the operations in order, loops into one task if possible, and find their depths."""
        if not has_loops(self._ops):
            for op in self._ops:
                self._depths[op] = self._depth(op)
            return
        try:
            top = find_frames(self._ops, self._fed)
        except LateEntry:
            if len(self.tasks) > 1:
                raise
            return  # nothing crosses, and the task runs any wiring
        placed = self._devices.copy()
        try:
            moved = device_of_loops(top.units, placed)
            moved = {op: d for op, d in moved.items() if task_of(placed[op]) != task_of(d)}
            if any(op.card.effect not in ("pure", "state") for op in moved):
                raise SpansTasks
            self._devices.update(moved)
            self._set_order(top.units)
        except SpansTasks:
            self._devices, self._loop_reads = placed, LoopReads()
            self._loops = ControlLoops(top)
            self._loops.colocate(self._ops, placed)
            self._set_order(top.units)

    def _set_order(self, units: Sequence[Operation | Frame]) -> None:
        ordered: list[Operation] = []
        for unit in units:
            if not isinstance(unit, Frame):
                self._depths[unit] = self._depth(unit)
                ordered.append(unit)
                continue
            inside = set(unit.all_ops())
            depth = max((self._depth(op) for op in unit.enters), default=0)
            reads = []
            if self._loops is None:
                reads = self._loop_reads.find(inside, self._is_elsewhere(unit.enters[0]))
            self._devices.update((op, self._devices[op._inputs[0].op]) for op in reads)
            ordered += [*reads, *(op for op in self._ops if op in inside)]
            self._depths.update(dict.fromkeys((*reads, *inside), depth))
        self._ops = ordered

    def _is_elsewhere(self, near: Operation) -> Callable[[Operation], bool]:
        task = task_of(self._devices[near])
        return lambda op: op in self._devices and task_of(self._devices[op]) != task  # not fed

    def _inputs_of(self, op: Operation) -> list[Tensor]:
        return self._loop_reads.inputs.get(op, op._inputs)

    def _controls(self, op: Operation) -> list[Operation]:
        return [control for control in op._control_inputs if control not in self._skip]

    def _depth(self, op: Operation) -> int:
        """Return the number of branches around an operation."""
        sources = [t.op for t in op._inputs if t not in self._fed] + self._controls(op)
        deepest = max((self._depths.get(source, 0) + (source.card.flow == "switch")
                       for source in sources), default=0)  # fmt: skip
        return max(0, deepest - 1) if op.card.flow == "merge" else deepest

    # ---- the parts

    def parts(self) -> list[Part]:
        """Return the parts, one for each task."""
        made = {task: Part(task) for task in sorted(self.tasks)}
        crossing = self._crossing()
        received: dict[tuple[str, str], str] = {}
        for op in self._ops:
            device = self._devices[op]
            part = made[task_of(device)]
            for read in self._first_reads.get(op, ()):
                number = sorted(crossing[read.op][read]).index(device)
                there = made[task_of(self._devices[read.op])]
                self._send(there, read.op, read, device, number, self._before(op, there.task))
            inputs = list(self._inputs(op, part, received))
            node = part.graph.node.add()
            fill_node(node, op)
            self._loop_reads.rewrite(op, node)
            del node.input[:]
            node.input.extend(inputs)
            node.device = device
            node.attr.pop("_class", None)  # devices are settled
            if op in self._effects:
                node.attr[EFFECT].b = True
            for source, tasks in crossing.get(op, {}).items():
                if _is_reference(source):
                    continue  # its value leaves when it is read
                for number, device in enumerate(sorted(tasks)):
                    self._send(part, op, source, device, number)
        for (task, frame), condition in self._counted:
            part, name = made[task], condition._as_node_def_input()
            if task_of(self._devices[condition.op]) != task:
                name = self._receive(part, condition, received)
            control_loops.write(part.graph, frame, control_loops.device_in(task), name)
        for part in made.values():
            self._finish(part)
        return list(made.values())

    @property
    def _counted(self) -> list[tuple[tuple[str, Frame], Tensor]]:
        """The loops that tasks count the iterations of, with their conditions."""
        return [] if self._loops is None else list(self._loops.needed.items())

    def _crossing(self) -> dict[Operation, dict[Source, set[str]]]:
        """Return the outputs, or ends, of an operation that other tasks wait for: their devices."""
        found: dict[Operation, dict[Source, set[str]]] = {}
        loops = self._loops
        for op in self._ops:
            device = self._devices[op]
            sources: list[Source] = [*self._inputs_of(op), *self._controls(op)]
            for source in sources:
                maker = source.op if isinstance(source, Tensor) else source
                if source in self._fed or task_of(self._devices[maker]) == task_of(device):
                    continue
                if _is_copied(source):
                    continue
                frame = None if loops is None else loops.take(op, task_of(device))
                if self._is_new(source, device, frame, found) and _is_reference(source):
                    self._first_reads.setdefault(op, []).append(source)
        for (task, frame), condition in self._counted:
            if task_of(self._devices[condition.op]) != task:
                self._is_new(condition, control_loops.device_in(task), frame, found)
        return found

    def _is_new(
        self, source: Source, device: str, frame: Frame | None,
        found: dict[Operation, dict[Source, set[str]]],
    ) -> bool:  # fmt: skip
        """Note that a task takes a source, in a frame; return True for the first time."""
        key = source, task_of(device)
        if key in self._ends:
            return False
        self._ends[key] = device, frame
        maker = source.op if isinstance(source, Tensor) else source
        found.setdefault(maker, {}).setdefault(source, set()).add(device)
        return True

    def _before(self, op: Operation, task: str) -> list[Operation]:
        """Return the operations of a task that another task's operation is to follow."""
        return [c for c in self._controls(op) if task_of(self._devices[c]) == task]

    def _inputs(
        self, op: Operation, part: Part, received: dict[tuple[str, str], str]
    ) -> Iterator[str]:
        """Yield an operation's inputs as its part names them.

        Add receives for those from elsewhere.
        """
        for tensor in self._inputs_of(op):
            if tensor in self._fed:
                yield self._placeholder(part, tensor)
            elif task_of(self._devices[tensor.op]) == part.task:
                yield tensor._as_node_def_input()
            elif _is_copied(tensor):
                yield self._copy(part, tensor.op, self._devices[op], received)
            else:
                yield self._receive(part, tensor, received)
        for control in self._controls(op):
            if task_of(self._devices[control]) == part.task:
                yield f"^{control.name}"
            else:
                yield f"^{self._receive(part, control, received)}"

    def _placeholder(self, part: Part, tensor: Tensor) -> str:
        name = part.feeds.get(tensor)
        if name is None:
            name = part.feeds[tensor] = f"{tensor.op.name}/_fed_{tensor.value_index}"
            node = part.graph.node.add(name=name, op=FEED, device=f"{part.task}/cpu:0")
            node.attr["dtype"].type = tensor.dtype.base_dtype.as_datatype_enum
            node.attr["shape"].shape.CopyFrom(tensor.shape.as_proto())
        return name

    def _copy(
        self, part: Part, constant: Operation, device: str, received: dict[tuple[str, str], str]
    ) -> str:
        """Return the name of a constant of another task in a part."""
        name = received.get((part.task, constant.name))
        if name is None:
            name = received[part.task, constant.name] = f"{constant.name}/_copied"
            node = part.graph.node.add()
            fill_node(node, constant)
            node.name, node.device = name, device
            node.attr.pop("_class", None)
        return name

    def _receive(self, part: Part, source: Source, received: dict[tuple[str, str], str]) -> str:
        maker, key, dtype = _crossed(source)
        name = received.get((part.task, key))
        if name is not None:
            return name
        number = source.value_index if isinstance(source, Tensor) else "control"
        name = received[part.task, key] = f"{maker.name}/_received_{number}"
        device, frame = self._ends[source, part.task]
        node = part.graph.node.add(name=name, op=RECV, device=device)
        if frame is not None:
            node.input.append(f"^{control_loops.merge_name(frame)}")
        node.attr["tensor_type"].type = dtype
        self._address(node, key, maker, device)
        if isinstance(source, Tensor) and source.op not in self._loose:
            shapes = node.attr["_output_shapes"].list
            shapes.shape.add().CopyFrom(source.shape.as_proto())
        conditional = self._is_conditional(maker)
        if conditional:
            node.attr["_conditional"].b = True
        if source is maker and (conditional or frame is not None):
            # Control edges of TensorFlow's own `_Recv` do not tell that the value is dead.
            there = part.graph.node.add(name=f"{name}_there", op=identity_op.name, device=device)
            there.input.append(name)
            there.attr["T"].type = dtype
            name = received[part.task, key] = there.name
        return name

    def _is_conditional(self, op: Operation) -> bool:
        return self._depths[op] + (op.card.flow == "switch") > 0

    def _send(
        self, part: Part, op: Operation, source: Source, there: str, number: int,
        after: Sequence[Operation] = (),
    ) -> None:  # fmt: skip
        _, key, dtype = _crossed(source)
        what = source.value_index if isinstance(source, Tensor) else "control"
        name = f"{op.name}/_sent_{what}_{number}"
        if isinstance(source, Tensor):
            sent = source._as_node_def_input()
        else:
            sent = f"{name}_empty"
            control_loops.add_empty(part.graph, sent, self._devices[op], [f"^{op.name}"])
        node = part.graph.node.add(name=name, op=SEND, device=self._devices[op])
        node.input.append(sent)
        node.input.extend(f"^{each.name}" for each in after)
        node.attr["T"].type = dtype
        self._address(node, key, op, there)
        if self._loops is None and is_small(source):
            node.attr["_more"].b = True  # `join_sends` says whether there is more
        part.targets.append(node.name)

    def _address(self, node: Any, key: str, maker: Operation, there: str) -> None:
        node.attr["tensor_name"].s = key.encode()
        node.attr["send_device"].s = self._devices[maker].encode()
        node.attr["send_device_incarnation"].i = self._incarnations.get(self._devices[maker], 0)
        node.attr["recv_device"].s = there.encode()

    def _finish(self, part: Part) -> None:
        """Set the results of a part, and add the functions that it calls."""
        join_sends(part.graph)
        part.fetches = [
            tensor for tensor in self._fetched
            if tensor not in self._fed and task_of(self._devices[tensor.op]) == part.task
        ]  # fmt: skip
        part.targets += [op.name for op in self._targets if task_of(self._devices[op]) == part.task]
        graph = self._graph
        assert graph is not None
        part.graph.versions.CopyFrom(graph.graph_def_versions)
        own = [op for op in self._ops if task_of(self._devices[op]) == part.task]
        if any(_calls(op) for op in own):
            fill_library(part.graph.library, graph._functions)


def _crossed(source: Source) -> tuple[Operation, str, int]:
    """Return the producer of a transferred tensor or control edge; its key, and its type."""
    if isinstance(source, Tensor):
        return source.op, source.name, source.dtype.base_dtype.as_datatype_enum
    return source, f"^{source.name}", 1


def _is_copied(source: Source) -> bool:
    """Return True for a constant, which each task has itself."""
    if not isinstance(source, Tensor):
        return False
    return source.op.card is const_op and not source.op._control_inputs


def _is_reference(source: Source) -> TypeGuard[Tensor]:
    """Return True for a variable whose value is read where its reader is done, not made."""
    return isinstance(source, Tensor) and source.dtype._is_ref_dtype


def _calls(op: Operation) -> bool:
    declared = op.card.signature.attrs.values()
    return op.type in op.graph._functions or any(attr.kind in _CALLS for attr in declared)
