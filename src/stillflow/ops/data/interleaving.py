"""Datasets of the elements of several others: flat_map, interleave, sampling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow import errors
from stillflow.graph.node import Node
from stillflow.ops.data.background import Prefetching
from stillflow.ops.data.functions import function_of
from stillflow.ops.data.mapping import CAPTURED, FUNCTION, bound, parallelism
from stillflow.ops.data.pipeline import (
    TYPED,
    Context,
    Dataset,
    Element,
    Elements,
    as_dataset,
    component_dims,
    dataset_op,
    invalid,
    scalar,
    unary,
)

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
    """Starts the dataset that a function gives for element number so and so."""

    inner = context.fusing(False)  # functions are not rewritten

    def start(element: Element, number: int) -> Elements:
        results = call(element)
        if len(results) != 1:
            raise invalid("Function must return a single scalar of dtype DT_VARIANT.")
        return as_dataset(results[0]).iterate(inner, f"{prefix}[{number}]")

    return start


class FlatMapping:
    """The elements of one dataset after the other."""

    def __init__(self, source: Elements, start: Open) -> None:
        self.source = source
        self.start = start
        self.current: Elements | None = None
        self.number = 0

    def __iter__(self) -> FlatMapping:
        return self

    def __next__(self) -> Element:
        while True:
            if self.current is not None:
                try:
                    return next(self.current)
                except StopIteration:
                    self.current = None
            element = next(self.source)
            number, self.number = self.number, self.number + 1
            self.current = self.start(element, number)


@flat_map_dataset_op.kernel
def flat_map_dataset_kernel(node: Node) -> Any:
    function = function_of(node, "f")
    types, shapes = list(node.output_types), component_dims(node)

    def run(value: Any, *captured: Any) -> Dataset:
        source, call = as_dataset(value), bound(function, captured)

        def make(context: Context, prefix: str) -> Elements:
            return FlatMapping(source.iterate(context, prefix), opener(call, context, prefix))

        return Dataset("FlatMap", types, shapes, make)

    return run


class Interleaving:
    """So many elements of each of several datasets in turn.

    Args:
      cycle: how many datasets are open at a time.
      block: how many elements of each come in a row.
    """

    def __init__(self, source: Elements, start: Open, cycle: int, block: int) -> None:
        self.source = source
        self.start = start
        self.open: list[Elements | None] = [None] * cycle
        self.block = block
        self.place = 0
        self.given = 0
        self.number = 0
        self.used = 0
        self.ended = False

    def __iter__(self) -> Interleaving:
        return self

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

    def _open(self) -> None:
        try:
            element = next(self.source)
        except StopIteration:
            self.ended = True
            return
        number, self.number = self.number, self.number + 1
        self.open[self.place] = self.start(element, number)
        self.used += 1


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
def interleave_dataset_kernel(node: Node) -> Any:
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


class _Ahead(Interleaving):
    """An interleaving whose datasets are read ahead, each by a thread of its own.

    Args:
      more: how many datasets are opened before it is their turn.
    """

    def __init__(
        self, context: Context, source: Elements, start: Open, cycle: int, block: int, ahead: int,
    ) -> None:  # fmt: skip
        super().__init__(source, self._prefetched, cycle, block)
        self.context = context
        self.begin = start
        self.ahead = ahead
        self.ready: list[tuple[Elements | None, BaseException | None]] = []

    def _prefetched(self, element: Element, number: int) -> Elements:
        fetched = Prefetching(self.context, lambda: self.begin(element, number), self.ahead)
        fetched.channel = fetched._begin()
        return fetched

    def __next__(self) -> Element:
        if not self.number and not self.ended:
            self._fill()
        return super().__next__()

    def _fill(self) -> None:
        """Starts all at once, before any is asked for an element."""
        for place in range(len(self.open)):
            self.place = place
            self._open()
            if self.ended:
                break
        self.place = 0


@parallel_interleave_dataset_v2_op.kernel
def parallel_interleave_dataset_v2_kernel(node: Node) -> Any:
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
            start = opener(call, context, prefix)
            return _Ahead(context, source.iterate(context, prefix), start, cycle, block, 2 * block)

        return Dataset("ParallelInterleave", types, shapes, make)

    return run


@parallel_interleave_dataset_op.kernel
def parallel_interleave_dataset_kernel(node: Node) -> Any:
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


class _Directed:
    """Elements of the datasets that another one chooses."""

    def __init__(self, selector: Elements, sources: list[Elements | None]) -> None:
        self.selector = selector
        self.sources = sources

    def __iter__(self) -> _Directed:
        return self

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


@directed_interleave_dataset_op.kernel
def directed_interleave_dataset_kernel(node: Node) -> Any:
    shapes = component_dims(node)

    def run(chooser: Any, *values: Any) -> Dataset:
        selector, sources = as_dataset(chooser), [as_dataset(value) for value in values]
        for index, source in enumerate(sources):
            if source.types != sources[0].types:
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"All data inputs must have the same types; component {index} has others.",
                )

        def make(context: Context, prefix: str) -> Elements:
            started: list[Elements | None] = [
                s.iterate(context, f"{prefix}[{i + 1}]") for i, s in enumerate(sources)
            ]
            return _Directed(selector.iterate(context, f"{prefix}[0]"), started)

        return Dataset("DirectedInterleave", sources[0].types, shapes, make)

    return run
