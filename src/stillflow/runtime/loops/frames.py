"""The frames of loops, found from the wiring alone.

A loop's operations stand between its Enter and its Exit operations. Which frame an operation runs
in follows from its inputs: Enter opens a frame, Exit leaves it, everything else stays where its
inputs are. Contexts of the program that built the graph are not needed, so imported graphs work.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from stillflow import errors
from stillflow.graph.operation import Operation, Tensor
from stillflow.runtime.schedule.dependencies import schedule


class LateEntry(errors.InvalidArgumentError):
    """Error: an input of a loop depends on its output, so the loop cannot run as one."""


class Unstructured(Exception):
    """The wiring of a loop is none that `while_loop` makes."""


class Frame:
    """A loop (or, without a parent, the graph outside of loops).

    Attributes:
      name: the `frame_name` of its Enter operations.
      parent: the frame around it.
      enters: operations that bring values in.
      exits: operations that bring values out.
      ops: the operations inside, without those of inner frames.
      units: `ops` and the frames inside, in the order in which they run.
    """

    def __init__(self, name: str, parent: Frame | None) -> None:
        self.name = name
        self.parent = parent
        self.enters: list[Operation] = []
        self.exits: list[Operation] = []
        self.ops: list[Operation] = []
        self.children: dict[str, Frame] = {}
        self.units: list[Operation | Frame] = []

    def child(self, name: str) -> Frame:
        if name not in self.children:
            self.children[name] = Frame(name, self)
        return self.children[name]

    def all_ops(self) -> Iterator[Operation]:
        """Every operation of this loop and of those inside it."""
        yield from (*self.enters, *self.ops, *self.exits)
        for frame in self.children.values():
            yield from frame.all_ops()


def has_loops(ops: Sequence[Operation]) -> bool:
    return any(op.card.flow == "enter" or op.card.flow == "next iteration" for op in ops)


def inner_ops(ops: Sequence[Operation], fed: Collection[Tensor]) -> set[Operation]:
    """Those of `ops` whose outputs are inside a loop."""
    if not has_loops(ops):
        return set()
    frames = find_frames(ops, fed).children.values()
    return {op for frame in frames for op in frame.all_ops() if op not in frame.exits}


def find_frames(
    ops: Sequence[Operation], fed: Collection[Tensor], by_creation: bool = True
) -> Frame:
    """Sort operations into frames; give the outermost one.

    Each of `ops` comes after its inputs, but for what closes a loop, and runs in this order, or by
    creation; `fed` values come from outside. InvalidArgumentError for inputs from different frames.
    """
    top = Frame("", None)
    inside: dict[Operation, Frame] = {}
    for op in ops:
        sources = [source for source in _sources(op, fed) if source in inside]
        frame = _common_frame(op, sources, inside, top)
        if any(tensor in fed for tensor in op._inputs) and frame is not top:
            raise _different_frames(op, op, sources[0], top, frame)
        if op.card.flow == "enter":
            frame = frame.child(op.attrs["frame_name"].decode())
            frame.enters.append(op)
        elif op.card.flow == "exit":
            if frame.parent is None:
                text = f"{{{{node {op.name}}}}} leaves a frame that was never entered"
                raise errors.invalid_argument(text, op)
            frame.exits.append(op)
        else:
            frame.ops.append(op)
        inside[op] = frame
    _check_back_edges(ops, inside)
    place = {op: op._id if by_creation else number for number, op in enumerate(ops)}
    _order(top, inside, place, fed)
    return top


def _sources(op: Operation, fed: Collection[Tensor]) -> Iterator[Operation]:
    """Yield the dependencies of `op`, without the edges that close loops."""
    merge = op.card.flow == "merge"
    for tensor in op._inputs:
        if tensor not in fed and not (merge and tensor.op.card.flow == "next iteration"):
            yield tensor.op
    yield from op._control_inputs


def _frame_after(op: Operation, inside: dict[Operation, Frame]) -> Frame:
    """Return the frame that the outputs of `op` are in."""
    frame = inside[op]
    if op.card.flow == "exit":
        assert frame.parent is not None
        return frame.parent
    return frame


def _common_frame(
    op: Operation, sources: Sequence[Operation], inside: dict[Operation, Frame], top: Frame
) -> Frame:
    if not sources:
        return top
    frame = _frame_after(sources[0], inside)
    for source in sources[1:]:
        other = _frame_after(source, inside)
        if other is not frame:
            raise _different_frames(op, source, sources[0], other, frame)
    return frame


def _check_back_edges(ops: Sequence[Operation], inside: dict[Operation, Frame]) -> None:
    for op in ops:
        if op.card.flow != "merge":
            continue
        for tensor in op._inputs:
            if tensor.op.card.flow == "next iteration" and tensor.op in inside:
                frame = inside[tensor.op]
                if frame is not inside[op]:
                    raise _different_frames(op, tensor.op, op, frame, inside[op])


def _different_frames(
    op: Operation, one: Operation, other: Operation, one_frame: Frame, other_frame: Frame
) -> errors.InvalidArgumentError:
    return errors.invalid_argument(
        f"{{{{node {op.name}}}}} has inputs from different frames. The input "
        f"{{{{node {one.name}}}}} is in frame '{one_frame.name}'. The input "
        f"{{{{node {other.name}}}}} is in frame '{other_frame.name}'.",
        op,
    )


def _order(
    frame: Frame,
    inside: dict[Operation, Frame],
    place: dict[Operation, int],
    fed: Collection[Tensor],
) -> None:
    """Set `units`: a loop runs as one, after all that enters it and before all that leaves it."""
    for inner in frame.children.values():
        _order(inner, inside, place, fed)
    units = _members(frame, place)
    number = {unit: position for position, unit in enumerate(units)}
    before: list[set[int]] = []
    for unit in units:
        needs: set[int] = set()
        for op in unit.enters if isinstance(unit, Frame) else (unit,):
            for source in _sources(op, fed):
                made_by = inside.get(source)
                if made_by is frame and source.card.flow != "enter":
                    needs.add(number[source])
                elif made_by is not None and made_by.parent is frame:
                    needs.add(number[made_by])
        before.append(needs)
    frame.units = [units[position] for position in schedule(before)]
    if len(frame.units) != len(units):
        done = set(frame.units)
        raise _cycle(next(unit for unit in units if unit not in done))


def _members(frame: Frame, place: dict[Operation, int]) -> list[Operation | Frame]:
    """Return a frame's operations in order; a loop comes where its first Exit does."""
    keyed: list[tuple[int, int, Operation | Frame]] = [(place[op], 0, op) for op in frame.ops]
    for inner in frame.children.values():
        gates = inner.exits or inner.enters
        keyed.append((min(place[op] for op in gates), 1, inner))
    return [unit for _, _, unit in sorted(keyed, key=lambda item: item[:2])]


def _cycle(unit: Operation | Frame) -> LateEntry:
    op = (unit.exits or unit.enters)[0] if isinstance(unit, Frame) else unit
    text = f"The graph couldn't be sorted in topological order: {op.name} is part of a cycle"
    return LateEntry(op.node_def, op, text)
