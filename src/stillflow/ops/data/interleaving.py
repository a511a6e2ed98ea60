"""Datasets of the elements of several others: flat_map, interleave, sampling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from stillflow import errors
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.background import Prefetching
from stillflow.ops.data.functions import function_of
from stillflow.ops.data.mapping import CAPTURED, FUNCTION, bound, parallelism
from stillflow.ops.data.pipeline import (
    TYPED,
    Context,
    Dataset,
    Elements,
    as_dataset,
    component_dims,
    dataset_op,
    invalid,
    scalar,
    unary,
)
from stillflow.ops.data.walk import Element, Ended, State, Walk
from stillflow.ops.queues.elements import joined

_CYCLE = f"{CAPTURED}, cycle_length: int64, block_length: int64"

flat_map_dataset_op = unary("FlatMapDataset", CAPTURED, FUNCTION)
interleave_dataset_op = unary("InterleaveDataset", _CYCLE, FUNCTION)
parallel_interleave_dataset_v2_op = unary(
    "ParallelInterleaveDatasetV2", f"{_CYCLE}, num_parallel_calls: int64",
    f"{FUNCTION}\nsloppy: bool = false",
)  # fmt: skip
parallel_interleave_dataset_op = unary(
    "ParallelInterleaveDataset",
    f"{_CYCLE}, sloppy: bool, buffer_output_elements: int64, prefetch_input_elements: int64",
    FUNCTION,
)
directed_interleave_dataset_op = dataset_op(
    "DirectedInterleaveDataset(selector_input_dataset: variant, "
    f"data_input_datasets: N*variant) -> handle: variant{TYPED}\nN: int >= 1"
)

Open = Callable[[Element, int], Elements]


def opener(call: Callable[[Element], Element], context: Context, prefix: str) -> Open:
    """Start the dataset that a function gives for element number so and so."""
    inner = context.in_functions()

    def start(element: Element, number: int) -> Elements:
        results = call(element)
        if len(results) != 1:
            raise invalid("Function must return a single scalar of dtype DT_VARIANT.")
        return as_dataset(results[0]).iterate(inner, f"{prefix}[{number}]")

    return start


class FlatMapping(Walk):
    """The elements of one dataset after the other."""

    numbers: ClassVar[dict[str, str]] = {"number": "element_index"}

    def __init__(self, source: Elements, start: Open) -> None:
        self.source = source
        self.start = start
        self.current: Elements | None = None
        self.made_of: Element = ()  # the element of the current dataset
        self.number = 0

    def __next__(self) -> Element:
        while True:
            if self.current is not None:
                try:
                    return next(self.current)
                except StopIteration:
                    self.current = None
            element = next(self.source)
            number, self.number = self.number, self.number + 1
            self.current, self.made_of = self.start(element, number), element

    def save(self, state: State) -> None:
        super().save(state)
        if self.current is None:
            self.put(state, "current_element_iterator_uninitialized", b"")
        else:
            self.put_values(state, *_MADE_OF, self.made_of)
            self.current.save(state)

    def restore(self, state: State) -> None:
        if self.has(state, "exhausted"):
            self.source = Ended()
            return
        super().restore(state)
        if not self.has(state, "current_element_iterator_uninitialized"):
            self.made_of = self.get_values(state, *_MADE_OF)
            self.current = self.start(self.made_of, self.number - 1)
            self.current.restore(state)


_MADE_OF = "captured_func_inputs_size", "captured_func_inputs[{}]"


@flat_map_dataset_op.kernel
def flat_map_dataset_kernel(node: Node) -> Kernel:
    function = function_of(node, "f")
    types, shapes = list(node.output_types), component_dims(node)

    def run(value: Any, *captured: Any) -> Dataset:
        source, call = as_dataset(value), bound(function, captured)

        def make(context: Context, prefix: str) -> Elements:
            return FlatMapping(source.iterate(context, prefix), opener(call, context, prefix))

        return Dataset("FlatMap", types, shapes, make)

    return run


class Interleaving(Walk):
    """So many elements of each of several datasets in turn.

    Args:
      cycle: how many datasets are open at a time.
      block: how many elements of each come in a row.
    """

    numbers: ClassVar[dict[str, str]] = {
        "place": "cycle_index", "given": "block_index", "used": "num_open"
    }  # fmt: skip
    flags: ClassVar[dict[str, str]] = {"ended": "end_of_input"}
    stats: Any = None  # the target of statistics

    def __init__(self, source: Elements, start: Open, cycle: int, block: int) -> None:
        self.source = source
        self.start = start
        self.open: list[Elements | None] = [None] * cycle
        self.made_of: list[Element] = [()] * cycle
        self.block = block
        self.place = 0
        self.given = 0
        self.used = 0
        self.ended = False

    def _advance(self) -> None:
        self.given = 0
        self.place = (self.place + 1) % len(self.open)

    def __next__(self) -> Element:
        while not self.ended or self.used:
            current = self.open[self.place]
            if current is not None:
                try:
                    element = next(current)
                except StopIteration:
                    self.open[self.place] = None
                    self.used -= 1
                    self._advance()
                    continue
                self.given += 1
                if self.given == self.block:
                    self._advance()
                return element
            if self.ended:
                self._advance()
            else:
                self._open()
        raise StopIteration

    def take(self, count: int) -> tuple[Sequence[Element], Exception | None]:
        if len(self.open) > 1 or self.stats is not None:
            return super().take(count)
        parts: list[Sequence[Element]] = []
        while count:
            current = self.open[0]
            taken, error = super().take(1) if current is None else current.take(count)
            parts.append(taken)
            count -= len(taken)
            if current is not None:
                self.given = (self.given + len(taken)) % self.block
            if error is not None or (current is None and not len(taken)):
                return joined(parts), error
            if current is not None and count:
                self.open[0] = None
                self.used -= 1
                self._advance()
        return joined(parts), None

    def _open(self) -> None:
        try:
            element = next(self.source)
        except StopIteration:
            self.ended = True
            return
        self.open[self.place], self.made_of[self.place] = self.start(element, self.place), element
        self.used += 1

    def save(self, state: State) -> None:
        super().save(state)
        for place, current in enumerate(self.open):
            if current is not None and self.made_of[place]:  # one that failed is made of nothing
                current.save(state)
                self.put_values(state, *_arguments(place), self.made_of[place])

    def restore(self, state: State) -> None:
        super().restore(state)
        for place in range(len(self.open)):
            if self.has(state, _arguments(place)[0]):
                element = self.made_of[place] = self.get_values(state, *_arguments(place))
                walk = self.open[place] = self.start(element, place)
                walk.restore(state)
        self.used = sum(walk is not None for walk in self.open)


def _arguments(place: int) -> tuple[str, str]:
    return f"args_size[{place}]", f"args_list_[{place}][{{}}]"


def _lengths(cycle: Any, block: Any) -> tuple[int, int]:
    cycle_length, block_length = scalar(cycle), scalar(block)
    if cycle_length == -1:
        cycle_length = parallelism(-1)
    if cycle_length <= 0:
        raise invalid("cycle_length must be greater than zero.")
    if block_length <= 0:
        raise invalid("block_length must be greater than zero.")
    return cycle_length, block_length


@interleave_dataset_op.kernel
def interleave_dataset_kernel(node: Node) -> Kernel:
    function = function_of(node, "f")
    types, shapes = list(node.output_types), component_dims(node)

    def run(value: Any, *rest: Any) -> Dataset:
        source, call = as_dataset(value), bound(function, rest[:-2])
        cycle, block = _lengths(*rest[-2:])

        def make(context: Context, prefix: str) -> Elements:
            start = opener(call, context, prefix)
            return Interleaving(source.iterate(context, prefix), start, cycle, block)

        return Dataset("Interleave", types, shapes, make)

    return run


class _Failed(Walk):
    """A dataset that could not be opened: an error, then nothing."""

    inputs = ()

    def __init__(self, error: errors.OpError) -> None:
        self.error: errors.OpError | None = error

    def __next__(self) -> Element:
        error, self.error = self.error, None
        if error is None:
            raise StopIteration
        raise error


class _Ahead(Interleaving):
    """An interleaving whose datasets are read `ahead` elements each, by threads of their own."""

    flags: ClassVar[dict[str, str]] = {**Interleaving.flags, "begun": "begun"}

    def __init__(
        self, context: Context, source: Elements, start: Open, cycle: int, block: int, ahead: int,
        name: str = "",
    ) -> None:  # fmt: skip
        super().__init__(source, self._prefetched, cycle, block)
        self.stats, self.name = context.stats, name
        self.context = context if context.stats is None else context.reporting(None)
        self.start_inner = start
        self.ahead = ahead
        self.begun = False

    def _prefetched(self, element: Element, place: int) -> Elements:
        walk = Prefetching(self.context, self.start_inner(element, place), self.ahead)
        walk.prefix = f"{self.prefix}[{place}]"
        return walk

    def __next__(self) -> Element:
        if not self.begun:
            self._fill()
        if self.stats is not None:
            self.stats.add_scalar(f"{self.name}::thread_utilization", self.used / len(self.open))
        try:
            return super().__next__()
        except errors.OpError:
            if isinstance(self.open[self.place], _Failed):
                self._advance()
            raise

    def _fill(self) -> None:
        """Start all at once, before any is asked for an element."""
        self.begun = True
        for place in range(len(self.open)):
            self.place = place
            self._open()
            if self.ended:
                break
        self.place = 0

    def _open(self) -> None:
        try:
            super()._open()
        except (errors.CancelledError, errors.DeadlineExceededError):
            raise
        except errors.OpError as error:  # raised where this element is requested
            self.open[self.place], self.made_of[self.place] = _Failed(error), ()
            self.used += 1
        walk = self.open[self.place]
        if isinstance(walk, Prefetching):
            walk.begin()


@parallel_interleave_dataset_v2_op.kernel
def parallel_interleave_dataset_v2_kernel(node: Node) -> Kernel:
    function = function_of(node, "f")
    types, shapes = list(node.output_types), component_dims(node)

    def run(value: Any, *rest: Any) -> Dataset:
        source, call = as_dataset(value), bound(function, rest[:-3])
        cycle, block = _lengths(*rest[-3:-1])
        calls = scalar(rest[-1])
        if calls != -1 and calls < 1:
            raise invalid("num_parallel_calls must be greater than zero.")
        if calls > cycle:
            raise invalid("num_parallel_calls must less than or equal to cycle_length.")

        def make(context: Context, prefix: str) -> Elements:
            start, name = opener(call, context, prefix), context.stats_name(node.op)
            return _Ahead(
                context, source.iterate(context, prefix), start, cycle, block, 2 * block, name
            )

        return Dataset("ParallelInterleaveV2", types, shapes, make)

    return run


@parallel_interleave_dataset_op.kernel
def parallel_interleave_dataset_kernel(node: Node) -> Kernel:
    function = function_of(node, "f")
    types, shapes = list(node.output_types), component_dims(node)

    def run(value: Any, *rest: Any) -> Dataset:
        source, call = as_dataset(value), bound(function, rest[:-5])
        cycle, block, _, buffered, ahead = map(scalar, rest[-5:])
        for name, number, least in (
            ("cycle_length", cycle, 1), ("block_length", block, 1),
            ("buffer_output_elements", buffered, 1), ("prefetch_input_elements", ahead, 0),
        ):  # fmt: skip
            if number < least:
                raise invalid(f"`{name}` must be > 0" if least else f"`{name}` must be >= 0")

        def make(context: Context, prefix: str) -> Elements:
            start = opener(call, context, prefix)
            return _Ahead(context, source.iterate(context, prefix), start, cycle, block, buffered)

        return Dataset("ParallelInterleave", types, shapes, make)

    return run


class _Directed(Walk):
    """Elements of the datasets that another one chooses."""

    inputs = ("selector",)

    def __init__(self, selector: Elements, sources: list[Elements | None]) -> None:
        self.selector = selector
        self.sources = sources

    def __next__(self) -> Element:
        while any(source is not None for source in self.sources):
            index = scalar(next(self.selector)[0])
            if not 0 <= index < len(self.sources):
                raise invalid(f"Selector index out of range: {index} >= {len(self.sources)}")
            source = self.sources[index]
            if source is None:
                continue
            try:
                return next(source)
            except StopIteration:
                self.sources[index] = None
        raise StopIteration

    def save(self, state: State) -> None:
        super().save(state)
        for index, source in enumerate(self.sources):
            if source is None:
                self.put(state, f"data_input_impl_empty[{index}]", b"")
            else:
                source.save(state)

    def restore(self, state: State) -> None:
        if self.has(state, "selector_input_impl_empty"):
            self.selector = Ended()
        else:
            super().restore(state)
        for index, source in enumerate(self.sources):
            if self.has(state, f"data_input_impl_empty[{index}]"):
                self.sources[index] = None
            elif source is not None:
                source.restore(state)


@directed_interleave_dataset_op.kernel
def directed_interleave_dataset_kernel(node: Node) -> Kernel:
    shapes = component_dims(node)

    def run(chooser: Any, *values: Any) -> Dataset:
        selector, sources = as_dataset(chooser), [as_dataset(value) for value in values]
        for index, source in enumerate(sources):
            if source.types != sources[0].types:
                raise errors.invalid_argument(
                    f"All data inputs must have the same types; component {index} has others."
                )

        def make(context: Context, prefix: str) -> Elements:
            started: list[Elements | None] = [
                s.iterate(context, f"{prefix}[{i}]") for i, s in enumerate(sources)
            ]
            return _Directed(selector.iterate(context, f"{prefix}.selector"), started)

        return Dataset("DirectedInterleave", sources[0].types, shapes, make)

    return run
