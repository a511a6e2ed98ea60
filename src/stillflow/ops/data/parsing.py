"""ParseExampleDataset: the features of batches of serialized examples."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.background import Parallel
from stillflow.ops.data.mapping import parallelism
from stillflow.ops.data.pipeline import (
    TYPED,
    Context,
    Dataset,
    as_dataset,
    component_dims,
    invalid,
    scalar,
    unary,
)
from stillflow.ops.data.walk import Element, Walk
from stillflow.ops.io.parsing.example_parser import ExampleParser
from stillflow.ops.io.parsing.examples import check_dense, dense_shapes, features_of

parse_example_dataset_op = unary(
    "ParseExampleDataset", "num_parallel_calls: int64, dense_defaults: [Tdense]",
    "\nsparse_keys: list(string) >= 0\ndense_keys: list(string) >= 0\n"
    "sparse_types: list({float, int64, string}) >= 0\n"
    "Tdense: list({float, int64, string}) >= 0\ndense_shapes: list(shape) >= 0"
    f"{TYPED}\nsloppy: bool = false",
)  # fmt: skip


@parse_example_dataset_op.check
def parse_example_dataset_check(node: Node) -> None:
    check_dense(dense_shapes(node))


class _Batches:
    """Parses the one component of an element; a sparse feature becomes one tensor of variants."""

    def __init__(self, parser: ExampleParser, defaults: Any) -> None:
        self.parser = parser
        self.defaults = defaults
        keys = [f.key for f in parser.sparse] + [f.key for f in parser.dense]
        self.keys = frozenset(keys)
        self.order = sorted(range(len(keys)), key=keys.__getitem__)

    def __call__(self, element: Element) -> Element:
        (serialized,) = element
        outputs = self.parser.batch(serialized.tolist(), (), self.defaults)
        count = len(self.parser.sparse)
        values = []
        for index in range(count):
            parts = np.empty(3, object)
            for place in range(3):
                parts[place] = outputs[place * count + index]
            values.append(parts)
        values += outputs[3 * count :]
        return tuple([values[index] for index in self.order])


def _counting(call: _Batches, stats: Any, name: str) -> Any:
    """Report each Example's number of features, and the values of the requested ones."""
    if stats is None:
        return call
    from stillflow.protos import Example

    def run(element: Element) -> Element:
        result = call(element)
        for serialized in element[0].tolist():
            features = Example.FromString(serialized).features.feature
            values = sum(_count(found) for key, found in features.items() if key in call.keys)
            stats.add_to_histogram(f"{name}::features_count", len(features))
            stats.add_to_histogram(f"{name}::feature_values_count", values)
        return result

    return run


def _count(feature: Any) -> int:
    kind = feature.WhichOneof("kind")
    return 0 if kind is None else len(getattr(feature, kind).value)


@parse_example_dataset_op.kernel
def parse_example_dataset_kernel(node: Node) -> Kernel:
    attrs = node.op.attrs
    keys, shapes = (attrs["sparse_keys"], attrs["dense_keys"]), dense_shapes(node)
    features = features_of(keys[0], attrs["sparse_types"], keys[1], attrs["Tdense"], shapes)
    names = [f.key for f in features[0]] + [f.key for f in features[1]]
    for name in names:
        if names.count(name) > 1:
            raise invalid(f"Duplicate key not allowed: {name}")
    types, dims, ordered = attrs["output_types"], component_dims(node), not attrs["sloppy"]
    parser = ExampleParser(*features)

    def run(value: Any, number: Any, *defaults: Any) -> Dataset:
        source, threads = as_dataset(value), parallelism(scalar(number))
        if len(defaults) != len(keys[1]):
            raise invalid(
                "Expected len(dense_defaults) == len(dense_keys) but got: "
                f"{len(defaults)} vs. {len(keys[1])}"
            )
        if source.types != [dtypes.string]:
            raise invalid("Input dataset should be a dataset of vectors of strings")
        call = _Batches(parser, defaults)

        def make(context: Context, prefix: str) -> Walk:
            elements, label = source.iterate(context, prefix), context.stats_name(node.op)
            counted = _counting(call, context.stats, label)
            return Parallel(context, elements, counted, threads, ordered, label)

        return Dataset("ParseExample", types, dims, make, source.size)

    return run
