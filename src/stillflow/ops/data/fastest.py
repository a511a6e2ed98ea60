"""Datasets that find out which of several ways to the same elements is the fastest."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from stillflow.graph.constant_value import Dims
from stillflow.graph.dims import is_compatible, merge, shape_text
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.counting import Taking
from stillflow.ops.data.interleaving import Open, opener
from stillflow.ops.data.mapping import bound
from stillflow.ops.data.pipeline import (
    TYPED,
    UNKNOWN,
    Context,
    Dataset,
    Elements,
    as_dataset,
    component_dims,
    dataset_op,
    invalid,
    scalar,
    type_name,
    unary,
)
from stillflow.ops.data.walk import Element, Ended, State, Walk

choose_fastest_dataset_op = dataset_op(
    "ChooseFastestDataset(input_datasets: N*variant) -> handle: variant\nN: int >= 2"
    f"\nnum_experiments: int{TYPED}"
)
choose_fastest_branch_dataset_op = unary(
    "ChooseFastestBranchDataset",
    "ratio_numerator: int64, ratio_denominator: int64, other_arguments: [Targuments]",
    "\nTarguments: list(type) >= 0\nnum_elements_per_branch: int >= 1\nbranches: list(func) >= 1"
    f"\nother_arguments_lengths: list(int) >= 1{TYPED}",
)


def _fastest(times: Sequence[Sequence[int]]) -> int:
    """Return the number of the row whose 90th percentile is the least; of equal ones the last."""
    slow = [sorted(row)[len(row) * 9 // 10] if row else 0 for row in times]
    return max(range(len(slow)), key=lambda number: (-slow[number], number))


def _timed(walk: Elements, times: list[int]) -> tuple[Element, Exception | None]:
    """Return the next element of a walk, and the error in its place; notes how long that took."""
    before = time.perf_counter_ns()
    elements, error = walk.take(1)
    times.append(time.perf_counter_ns() - before)
    return (elements[0] if elements else ()), error


class _Fastest(Walk):
    """The elements of the first of several walks; after `experiments`, those of the fastest."""

    def __init__(self, starts: Sequence[Callable[[], Elements]], experiments: int) -> None:
        self.starts = starts
        self.experiments = experiments
        self.tried = 0
        self.fastest = -1
        self.walks: list[Elements] = [start() for start in starts]
        self.times: list[list[int]] = [[] for _ in starts]

    def __next__(self) -> Element:
        if self.tried >= self.experiments:
            if self.fastest < 0:
                self._choose()
            return next(self.walks[0])
        self.tried += 1
        found = [_timed(walk, row) for walk, row in zip(self.walks, self.times, strict=True)]
        if self.tried == self.experiments:
            self._choose()
        element, error = found[0]
        if error is not None:
            raise error
        if not element:
            raise StopIteration
        return element

    def _choose(self) -> None:
        self.fastest = _fastest(self.times)
        self.walks = [self.walks[self.fastest]]

    def save(self, state: State) -> None:
        self.put(state, "experiment_counter", self.tried)
        self.put(state, "fastest_index", self.fastest)
        for walk in self.walks:
            self.save_input(state, walk)

    def restore(self, state: State) -> None:
        self.tried = self.integer(state, "experiment_counter")
        self.fastest = self.integer(state, "fastest_index")
        if self.fastest >= 0:
            self.walks = [self.starts[self.fastest]()]
        for walk in self.walks:
            walk.restore(state)


_ALL = "All inputs to ChooseFastestDataset must have"


def _merged_shapes(shapes: Sequence[Dims], sources: Sequence[Dataset]) -> list[Dims]:
    """Return the common static shapes of datasets' components, or raise InvalidArgumentError."""
    merged = list(shapes)
    for number, source in enumerate(sources[1:], 1):
        for place, dims in enumerate(source.shapes):
            if not is_compatible(merged[place], dims):
                raise invalid(
                    f"{_ALL} compatible output shapes. Component {place} of input {number} has "
                    f"shape: {shape_text(dims)}. Expected to be compatible with shape: "
                    f"{shape_text(merged[place])}."
                )
            merged[place] = merge(merged[place], dims)
    return merged


def _check_types(types: Sequence[Any], sources: Sequence[Dataset]) -> None:
    expected = ", ".join(map(type_name, types))
    for number, source in enumerate(sources[1:], 1):
        found = ", ".join(map(type_name, source.types))
        if found != expected:
            raise invalid(
                f"{_ALL} the same output types. Input {number} has output types: {found}. "
                f"Expected: {expected}."
            )


def _common_size(sources: Sequence[Dataset]) -> int:
    size = sources[0].size
    for number, source in enumerate(sources[1:], 1):
        if size == UNKNOWN:
            size = source.size
        elif source.size not in (size, UNKNOWN):
            raise invalid(
                f"{_ALL} compatible cardinalities. Input {number} has cardinality: {source.size}, "
                f"while all prior inputs have cardinality: {size}."
            )
    return size


@choose_fastest_dataset_op.kernel
def choose_fastest_dataset_kernel(node: Node) -> Kernel:
    types, shapes, experiments = list(node.output_types), component_dims(node), node.num_experiments

    def run(*values: Any) -> Dataset:
        sources = [as_dataset(value) for value in values]
        _check_types(types, sources)
        merged, size = _merged_shapes(shapes, sources), _common_size(sources)

        def make(context: Context, prefix: str) -> Elements:
            starts = [
                partial(source.iterate, context, f"{prefix}_{number}")
                for number, source in enumerate(sources)
            ]
            return _Fastest(starts, experiments)

        return Dataset("ChooseFastest", types, merged, make, size)

    return run


# ---- one dataset, and functions of it


class _Borrowed(Walk):
    """The next elements of a walk that goes on, and whose place is written down, elsewhere."""

    inputs = ()

    def __init__(self, source: Elements) -> None:
        self.source = source

    def __next__(self) -> Element:
        return next(self.source)


def _borrowed(source: Elements, like: Dataset, most: int | None) -> Dataset:
    """Return a dataset of the rest of a walk, or of the next of it, which may be begun once."""
    begun: list[bool] = []

    def make(context: Context, prefix: str) -> Elements:
        if begun:
            raise invalid(
                "Cannot create more than one WrapperIterator per WrapperDataset. Make sure the "
                "branches to ChooseFastestDataset do not expect the input to repeat."
            )
        begun.append(True)
        return _Borrowed(source)

    rest = like.like("Wrapper", make)
    if most is None:
        return rest
    return like.like("FiniteTake", lambda *where: Taking(rest.iterate(*where), most))


class _Branching(Walk):
    """The elements that functions of a walk give, each some of them; then those of the fastest.

    Each of `opens` gives `count` elements before the fastest is chosen, and may take `taken` of the
    source's for them.
    """

    def __init__(
        self, source: Elements, dataset: Dataset, opens: Sequence[Open], count: int, taken: int
    ) -> None:
        self.source = source
        self.dataset = dataset
        self.opens = opens
        self.count = count
        self.taken = taken
        self.branch = 0
        self.tried = 0
        self.fastest = -1
        self.current: Elements | None = None
        self.times: list[list[int]] = [[] for _ in opens]

    def _open(self) -> Elements:
        tries = self.branch < len(self.opens)
        number = self.branch if tries else self.fastest
        borrowed = _borrowed(self.source, self.dataset, self.taken if tries else None)
        return self.opens[number]((borrowed,), number)

    def __next__(self) -> Element:
        if self.branch >= len(self.opens):
            if self.current is None:
                self.fastest = _fastest([row[1:] for row in self.times])  # the first is an outlier
                self.current = self._open()
            return next(self.current)
        if self.current is None:
            self.current = self._open()
        element, error = _timed(self.current, self.times[self.branch])
        self.tried += 1
        if self.tried >= self.count:
            self.tried, self.branch, self.current = 0, self.branch + 1, None
        if error is not None:
            raise error
        if not element:
            raise StopIteration
        return element

    def save(self, state: State) -> None:
        super().save(state)
        self.put(state, "experiment_counter", self.tried)
        self.put(state, "branch_index", self.branch)
        self.put(state, "fastest_index", self.fastest)
        self.save_input(state, self.current or Ended())

    def restore(self, state: State) -> None:
        self.source.restore(state)
        self.tried = self.integer(state, "experiment_counter")
        self.branch = self.integer(state, "branch_index")
        self.fastest = self.integer(state, "fastest_index")
        if not self.has(state, "input_impl_empty"):
            self.current = self._open()
            self.current.restore(state)


def _check_ratio(numerator: int, denominator: int, count: int) -> None:
    for name, number in (("numerator", numerator), ("denominator", denominator)):
        if number <= 0:
            raise invalid(f"`ratio_{name}` must be greater than zero.")
    if count % denominator:
        raise invalid("`num_elements_per_branch` must be divisible by `ratio_denominator`.")


@choose_fastest_branch_dataset_op.kernel
def choose_fastest_branch_dataset_kernel(node: Any) -> Kernel:
    functions = [node.function(named, on_host=True) for named in node.op.attrs["branches"]]
    lengths, count = list(node.other_arguments_lengths), node.num_elements_per_branch
    types, shapes = list(node.output_types), component_dims(node)
    if len(lengths) != len(functions):
        raise invalid("branches and other_arguments_lengths must have the same length.")
    ends = [sum(lengths[: number + 1]) for number in range(len(lengths))]

    def run(value: Any, numerator: Any, denominator: Any, *captured: Any) -> Dataset:
        source, up, down = as_dataset(value), scalar(numerator), scalar(denominator)
        _check_ratio(up, down, count)
        calls = [
            bound(function, captured[end - length : end])
            for function, length, end in zip(functions, lengths, ends, strict=True)
        ]

        def make(context: Context, prefix: str) -> Elements:
            walk = source.iterate(context, prefix)
            opens = [opener(call, context, prefix) for call in calls]
            return _Branching(walk, source, opens, count, count * up // down)

        size = source.size if source.size < 0 else int(source.size * up / down)
        return Dataset("ChooseFastestBranch", types, shapes, make, size)

    return run
