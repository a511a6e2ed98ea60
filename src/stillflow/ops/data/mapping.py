"""Datasets that call a function for each element: map, filter, scan, take_while, reduce."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any, ClassVar

from stillflow import errors
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.data.background import Parallel, cancelled
from stillflow.ops.data.batching import MapBatching, assigned, batches
from stillflow.ops.data.functions import Function, function_of
from stillflow.ops.data.pipeline import (
    TYPED,
    UNKNOWN,
    Context,
    Dataset,
    Elements,
    as_dataset,
    component_dims,
    invalid,
    scalar,
    unary,
)
from stillflow.ops.data.run_length import RunLength
from stillflow.ops.data.walk import Element, State, Walk
from stillflow.ops.queues.elements import joined

CAPTURED = "other_arguments: [Targuments]"
FUNCTION = "\nf: func\nTarguments: list(type) >= 0" + TYPED
PREDICATE = "\npredicate: func\nTarguments: list(type) >= 0" + TYPED
_INTER_OP = "\nuse_inter_op_parallelism: bool = true"
_KEEPS_SIZE = "\npreserve_cardinality: bool = false"

map_dataset_op = unary("MapDataset", CAPTURED, f"{FUNCTION}{_INTER_OP}{_KEEPS_SIZE}")
parallel_map_dataset_op = unary(
    "ParallelMapDataset", f"{CAPTURED}, num_parallel_calls: int32",
    f"{FUNCTION}{_INTER_OP}\nsloppy: bool = false{_KEEPS_SIZE}",
)  # fmt: skip
map_and_batch_dataset_op = unary(
    "MapAndBatchDataset",
    f"{CAPTURED}, batch_size: int64, num_parallel_calls: int64, drop_remainder: bool",
    f"{FUNCTION}{_KEEPS_SIZE}",
)
filter_dataset_op = unary("FilterDataset", CAPTURED, PREDICATE)
take_while_dataset_op = unary("TakeWhileDataset", CAPTURED, PREDICATE)
filter_by_last_component_dataset_op = unary(
    "FilterByLastComponentDataset", "", TYPED, output="output"
)
scan_dataset_op = unary(
    "ScanDataset", f"initial_state: [Tstate], {CAPTURED}",
    f"\nf: func\nTstate: list(type) >= 1\nTarguments: list(type) >= 0{TYPED}{_KEEPS_SIZE}",
)  # fmt: skip
reduce_dataset_op = op(
    f"ReduceDataset(input_dataset: variant, initial_state: [Tstate], {CAPTURED}) -> "
    "components: [output_types]\nf: func\nTstate: list(type) >= 1\n"
    f"Targuments: list(type) >= 0{TYPED}{_INTER_OP}\nflags: stateful",
    differentiable=False,
)


def bound(function: Function, captured: Sequence[Any]) -> Callable[[Element], Element]:
    """Return a function of elements."""
    if not captured:
        return lambda element: tuple(function(*element))
    return lambda element: tuple(function(*element, *captured))


def bound_rows(
    function: Function, captured: Sequence[Any], source: Dataset
) -> Callable[[Sequence[Element]], Sequence[Element] | None] | None:
    """Return the function of several elements at once.

    None where asking for them early may be seen.
    """
    if source.stateful or not function.pure:
        return None
    return lambda elements: function.on_rows(elements, captured)


def ending(call: Callable[[Element], Element], keeps_size: bool) -> Callable[[Element], Element]:
    """Return a function whose OutOfRangeError is the end of the dataset, or else a mistake."""

    def run(element: Element) -> Element:
        try:
            return call(element)
        except errors.OutOfRangeError as error:
            if keeps_size:
                raise errors.InvalidArgumentError(
                    error.node_def, error.op, error.message
                ) from error
            raise StopIteration from error

    return run


def while_open(
    call: Callable[[Element], Element], context: Context, pure: bool
) -> Callable[..., Any]:
    """Return a function.

    If its calls may be seen, there are none once nobody will ask for elements.
    """
    if pure:
        return call

    def run(element: Element) -> Element:
        if context.closed:
            raise cancelled()
        return call(element)

    return run


def timed(
    call: Callable[[Element], Element], stats: Any, prefix: str, function: Any
) -> Callable[..., Any]:
    """Return `call`, with the time of each call reported unless `stats` is None."""
    if stats is None:
        return call
    name = f"{prefix.rpartition('::')[2]}::{function.name}::execution_time"

    def run(element: Element) -> Element:
        before = time.perf_counter_ns()
        result = call(element)
        stats.add_to_histogram(name, time.perf_counter_ns() - before)
        return result

    return run


_MOST_TOGETHER = 1024  # elements of a batch whose results are made at once


class Mapping(Walk):
    """Walk over the results of a function for each element.

    Args:
      together: gives the results for several elements at once, or None where it cannot.
    """

    def __init__(
        self, call: Callable[[Element], Element], source: Elements,
        together: Callable[[Sequence[Element]], Sequence[Element] | None] | None = None,
    ) -> None:  # fmt: skip
        self.call = call
        self.source = source
        self.together = together
        self.run = RunLength(8, _MOST_TOGETHER)
        # Elements, or errors in their places, that were taken for results which could not be made
        # together, and whose turns did not come.
        self.waiting: deque[Element | Exception] = deque()

    def __next__(self) -> Element:
        if not self.waiting:
            return self.call(next(self.source))
        element = self.waiting.popleft()
        if isinstance(element, Exception):
            raise element
        return self.call(element)

    def take(self, count: int) -> tuple[Sequence[Element], Exception | None]:
        parts: list[Sequence[Element]] = []
        while count and self.together is not None and not self.waiting:
            wanted, before = min(count, self.run.size), time.perf_counter_ns()
            elements, error = self.source.take(wanted)
            results = self.together(elements) if len(elements) > 1 else None
            if results is None:
                self.waiting.extend(elements)
                if error is not None:
                    self.waiting.append(error)
                results, error = super().take(len(elements))
                if error is None and self.waiting and len(results) == len(elements):
                    error = self.waiting.popleft()  # type: ignore[assignment]
            parts.append(results)
            count -= len(results)
            if error is not None or len(results) < wanted:
                return joined(parts), error
            self.run.took(time.perf_counter_ns() - before, wanted)
        if count:
            results, error = super().take(count)
            return joined([*parts, results]), error
        return joined(parts), None

    def save(self, state: State) -> None:
        super().save(state)
        for index, found in enumerate(self.waiting):
            error, element = (found, None) if isinstance(found, Exception) else (None, found)
            self.put_result(state, f"waiting[{index}]", error, element)

    def restore(self, state: State) -> None:
        super().restore(state)
        while self.has(state, f"waiting[{len(self.waiting)}].code"):
            error, element = self.get_result(state, f"waiting[{len(self.waiting)}]")
            restored = error or element
            assert restored is not None
            self.waiting.append(restored)


@map_dataset_op.kernel
def map_dataset_kernel(node: Node) -> Kernel:
    function, keeps = function_of(node, "f"), node.preserve_cardinality
    types, shapes, pure = list(node.output_types), component_dims(node), function.pure

    def run(value: Any, *captured: Any) -> Dataset:
        source, call = as_dataset(value), ending(bound(function, captured), keeps)
        together = bound_rows(function, captured, source)

        def make(context: Context, prefix: str) -> Elements:
            rows = together if context.stats is None else None
            elements = source.iterate(context, prefix)
            function = while_open(call, context, pure)
            return Mapping(function, elements, rows)

        return Dataset("Map", types, shapes, make, source.size)

    return run


def parallelism(number: int) -> int:
    """Return the number of threads; -1 means the number of cores."""
    if number != -1 and number < 1:
        raise invalid("num_parallel_calls must be greater than zero.")
    return (os.cpu_count() or 1) if number == -1 else number


@parallel_map_dataset_op.kernel
def parallel_map_dataset_kernel(node: Node) -> Kernel:
    function, keeps = function_of(node, "f"), node.preserve_cardinality
    types, shapes, ordered = list(node.output_types), component_dims(node), not node.sloppy
    pure = function.pure

    def run(value: Any, *rest: Any) -> Dataset:
        source, threads = as_dataset(value), parallelism(scalar(rest[-1]))
        call = ending(bound(function, rest[:-1]), keeps)
        together = bound_rows(function, rest[:-1], source)

        def make(context: Context, prefix: str) -> Elements:
            elements = source.iterate(context, prefix)
            function = while_open(timed(call, context.stats, prefix, node.f), context, pure)
            in_order, name = ordered and not context.sloppy, context.stats_name(node.op)
            return Parallel(context, elements, function, threads, in_order, name, pure, together)

        return Dataset("ParallelMap", types, shapes, make, source.size)

    return run


@map_and_batch_dataset_op.kernel
def map_and_batch_dataset_kernel(node: Node) -> Kernel:
    function, keeps = function_of(node, "f"), node.preserve_cardinality
    types, shapes, pure = list(node.output_types), component_dims(node), function.pure

    def run(value: Any, *rest: Any) -> Dataset:
        source, (size, calls, drop) = as_dataset(value), map(scalar, rest[-3:])
        if size <= 0:
            raise invalid("batch_size must be greater than zero.")
        threads = parallelism(calls)
        call = ending(bound(function, rest[:-3]), keeps)
        together = bound_rows(function, rest[:-3], source)

        def make(context: Context, prefix: str) -> Elements:
            function = while_open(timed(call, context.stats, prefix, node.f), context, pure)
            name = context.stats_name(node.op)
            elements = Parallel(
                context, source.iterate(context, prefix), function, threads, True, name, pure,
                together,
            )  # fmt: skip
            elements.prefix = prefix
            return MapBatching(elements, size, drop, assigned)

        return Dataset("MapAndBatch", types, shapes, make, batches(source, size, drop))

    return run


def truth(results: Sequence[Any]) -> bool:
    """Return the result of a predicate; InvalidArgumentError unless that is one boolean."""
    if len(results) != 1 or len(results[0].shape):
        raise invalid("Filter predicate `predicate` must return a scalar bool.")
    return bool(results[0])


class _Filtering(Walk):
    """Elements for which a predicate holds."""

    numbers: ClassVar[dict[str, str]] = {
        "kept": "filtered_elements", "dropped": "dropped_elements"
    }  # fmt: skip

    def __init__(
        self, holds: Callable[[Element], bool], source: Elements, stats: Any = None, name: str = ""
    ) -> None:
        self.holds = holds
        self.source = source
        self.stats = stats
        self.name = name
        self.kept = self.dropped = 0  # counted where somebody wants to know

    def __next__(self) -> Element:
        while True:
            element = next(self.source)
            held = self.holds(element)
            if self.stats is not None:
                self._report(held)
            if held:
                return element

    def _report(self, held: bool) -> None:
        if held:
            self.kept += 1
            self.stats.add_scalar(f"{self.name}::filtered_elements", self.kept, self.kept - 1)
        else:
            self.dropped += 1
            self.stats.add_scalar(f"{self.name}::dropped_elements", self.dropped, self.kept)


@filter_dataset_op.kernel
def filter_dataset_kernel(node: Node) -> Kernel:
    function = function_of(node, "predicate")

    def run(value: Any, *captured: Any) -> Dataset:
        source, call = as_dataset(value), ending(bound(function, captured), False)

        def make(context: Context, prefix: str) -> Elements:
            elements, name = source.iterate(context, prefix), context.stats_name(node.op)
            return _Filtering(lambda e: truth(call(e)), elements, context.stats, name)

        return source.like("Filter", make)

    return run


@filter_by_last_component_dataset_op.kernel
def filter_by_last_component_dataset_kernel(node: Node) -> Kernel:
    def run(value: Any) -> Dataset:
        source = as_dataset(value)

        def make(context: Context, prefix: str) -> Elements:
            kept = _Filtering(lambda e: truth(e[-1:]), source.iterate(context, prefix))
            kept.prefix = prefix
            return Mapping(itemgetter(slice(None, -1)), kept)

        return Dataset("FilterByLastComponent", source.types[:-1], source.shapes[:-1], make)

    return run


class _Leading(Walk):
    """Elements up to the first that a predicate rejects."""

    flags: ClassVar[dict[str, str]] = {"ended": "input_impls_empty"}

    def __init__(self, source: Elements, holds: Callable[[Element], bool]) -> None:
        self.source = source
        self.holds = holds
        self.ended = False

    def __next__(self) -> Element:
        if not self.ended:
            element = next(self.source)
            if self.holds(element):
                return element
            self.ended = True
        raise StopIteration


@take_while_dataset_op.kernel
def take_while_dataset_kernel(node: Node) -> Kernel:
    function = function_of(node, "predicate")

    def run(value: Any, *captured: Any) -> Dataset:
        source, call = as_dataset(value), ending(bound(function, captured), False)

        def make(context: Context, prefix: str) -> Elements:
            return _Leading(source.iterate(context, prefix), lambda e: truth(call(e)))

        return source.like("TakeWhile", make)

    return run


class _Scanning(Walk):
    """Walk over the results of a function of elements and a state."""

    def __init__(self, source: Elements, state: Element, call: Any) -> None:
        self.source = source
        self.state = state
        self.call = call

    def __next__(self) -> Element:
        element = next(self.source)
        results = self.call((*self.state, *element))
        count = len(self.state)
        self.state = results[:count]
        return results[count:]

    def save(self, state: State) -> None:
        super().save(state)
        self.put_values(state, "state_size", "state[{}]", self.state)

    def restore(self, state: State) -> None:
        super().restore(state)
        self.state = self.get_values(state, "state_size", "state[{}]")


@scan_dataset_op.kernel
def scan_dataset_kernel(node: Node) -> Kernel:
    function, keeps, count = function_of(node, "f"), node.preserve_cardinality, len(node.Tstate)
    types, shapes = list(node.output_types), component_dims(node)

    def run(value: Any, *rest: Any) -> Dataset:
        source, state = as_dataset(value), rest[:count]
        call = ending(bound(function, rest[count:]), keeps)

        def make(context: Context, prefix: str) -> Elements:
            return _Scanning(source.iterate(context, prefix), state, call)

        return Dataset("Scan", types, shapes, make, source.size if keeps else UNKNOWN)

    return run


@reduce_dataset_op.shape
def reduce_dataset_shape(node: Node) -> OutputDims:
    return component_dims(node)


@reduce_dataset_op.kernel
def reduce_dataset_kernel(node: Any) -> Kernel:
    function, count, waits = function_of(node, "f"), len(node.Tstate), node.waits()
    bare = len(node.outputs) == 1

    def run(value: Any, *rest: Any) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
        state: Element = rest[:count]
        call = bound(function, rest[count:])
        context = Context(waits)
        try:
            for element in as_dataset(value).iterate(context, "ReduceIterator"):
                waits.check()
                state = call((*state, *element))
        finally:
            context.close()
        return state[0] if bare else state

    return run
