"""Datasets with the elements of their inputs: tuning, rewriting, numbers of threads.

Of TensorFlow's rewrites only one kind changes a dataset's elements: a shuffle that is repeated
draws its numbers in another order. Datasets that change nothing are left out of the paths by which
saved iterators go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stillflow import errors
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.as_graph import check_slack, has_graph, names_of
from stillflow.ops.data.pipeline import (
    TYPED,
    Context,
    Dataset,
    Elements,
    as_dataset,
    component_dims,
    invalid,
    scalar,
    unary,
)
from stillflow.ops.data.walk import Element, Walk

model_dataset_op = unary("ModelDataset", "", f"\nalgorithm: int = 0\ncpu_budget: int = 0{TYPED}")
optimize_dataset_op = unary(
    "OptimizeDataset", "optimizations: string",
    f"{TYPED}\noptimization_configs: list(string) = []",
)  # fmt: skip
max_intra_op_parallelism_dataset_op = unary(
    "MaxIntraOpParallelismDataset", "max_intra_op_parallelism: int64", TYPED
)
non_serializable_dataset_op = unary("NonSerializableDataset", "", TYPED)
assert_next_dataset_op = unary("AssertNextDataset", "transformations: string", TYPED)
ignore_errors_dataset_op = unary("IgnoreErrorsDataset", "", TYPED)


def _same(node: Node) -> Callable[..., Any]:
    return lambda value, *_: as_dataset(value)


non_serializable_dataset_op.kernel(_same)


@model_dataset_op.kernel
def model_dataset_kernel(node: Node) -> Kernel:
    def run(value: Any) -> Dataset:
        source = as_dataset(value)

        def make(context: Context, prefix: str) -> Elements:
            if context.stats is not None:
                context = context.reporting(context.stats.counting())
            return source.iterate(context, prefix)

        return source.like("Model", make, source.size)

    return run


@optimize_dataset_op.kernel
def optimize_dataset_kernel(node: Node) -> Kernel:
    def run(value: Any, optimizations: Any) -> Dataset:
        source = as_dataset(value)
        wanted = optimizations.tolist()
        if b"slack" in wanted and has_graph(source):
            check_slack(source)
        fuses, sloppy, elides = [
            kind in wanted
            for kind in (b"shuffle_and_repeat_fusion", b"make_sloppy", b"noop_elimination")
        ]

        def make(context: Context, prefix: str) -> Elements:
            names = None if context.stats is None or not has_graph(source) else names_of(source)
            return source.iterate(context.rewritten(fuses, sloppy, elides, names), prefix)

        return source.like("", make, source.size)

    return run


@max_intra_op_parallelism_dataset_op.kernel
def max_intra_op_parallelism_dataset_kernel(node: Node) -> Kernel:
    def run(value: Any, number: Any) -> Dataset:
        if scalar(number) < 0:
            raise invalid("`max_intra_op_parallelism` must be >= 0")
        return as_dataset(value)

    return run


@assert_next_dataset_op.kernel
def assert_next_dataset_kernel(node: Node) -> Kernel:
    def run(value: Any, transformations: Any) -> Dataset:
        source, expected = as_dataset(value), [name.decode() for name in transformations.tolist()]

        def make(context: Context, prefix: str) -> Elements:
            _check_next(expected, prefix)
            return source.iterate(context, prefix)

        return source.like("AssertNext", make, source.size)

    return run


def _check_next(expected: Sequence[str], path: str) -> None:
    """Compare the next datasets with the path that led here; InvalidArgumentError if others."""
    passed = [name for name in path.split(":") if name][1:-1]
    if len(passed) < len(expected):
        raise invalid(
            f"Asserted next {len(expected)} transformations but encountered only {len(passed)}."
        )
    for place, (name, found) in enumerate(zip(expected, reversed(passed), strict=False)):
        if name != found:
            raise invalid(
                f"Asserted {name} transformation at offset {place} but encountered {found} "
                "transformation instead."
            )


class _Tolerant(Walk):
    """Elements without those whose making fails."""

    def __init__(self, source: Elements) -> None:
        self.source = source

    def __next__(self) -> Element:
        while True:
            try:
                return next(self.source)
            except (errors.CancelledError, errors.DeadlineExceededError):
                raise
            except errors.OpError:
                continue


@ignore_errors_dataset_op.kernel
def ignore_errors_dataset_kernel(node: Node) -> Kernel:
    def run(value: Any) -> Dataset:
        source = as_dataset(value)

        def make(context: Context, prefix: str) -> Elements:
            return _Tolerant(source.iterate(context, prefix))

        return source.like("IgnoreErrors", make)

    return run


# ---- ops that take datasets and give something else


dataset_cardinality_op = op(
    "DatasetCardinality(input_dataset: variant) -> cardinality: int64", differentiable=False
)
dataset_cardinality_op.shape(lambda node: ())
dataset_cardinality_op.kernel(lambda node: lambda value: torch.tensor(as_dataset(value).size))

dataset_to_single_element_op = op(
    f"DatasetToSingleElement(dataset: variant) -> components: [output_types]{TYPED}"
    "\nflags: stateful",
    differentiable=False,
)
dataset_to_single_element_op.shape(component_dims)


@dataset_to_single_element_op.kernel
def dataset_to_single_element_kernel(node: Any) -> Kernel:
    waits, bare = node.waits(), len(node.outputs) == 1

    def run(value: Any) -> Any:
        context = Context(waits)
        try:
            elements = as_dataset(value).iterate(context, "SingleElementIterator")
            element = next(elements, None)
            if element is None:
                raise invalid("Dataset was empty.")
            if next(elements, None) is not None:
                raise invalid("Dataset had more than one element.")
        finally:
            context.close()
        return element[0] if bare else element

    return run
