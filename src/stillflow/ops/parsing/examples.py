"""ParseExample."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.constant_value import Dims
from stillflow.graph.dtypes import cpp_name
from stillflow.graph.node import Node
from stillflow.ops.parsing import columns, spans, wire
from stillflow.ops.parsing.columns import Dense, Sparse, refuse
from stillflow.ops.parsing.feature_maps import FeatureMaps

TYPES = """
    sparse_types: list({float, int64, string}) >= 0
    Tdense: list({float, int64, string}) >= 0
    dense_shapes: list(shape) >= 0
"""
parse_example_op = op(
    "ParseExample(serialized: string, names: string, sparse_keys: Nsparse*string, "
    "dense_keys: Ndense*string, dense_defaults: [Tdense]) -> (sparse_indices: Nsparse*int64, "
    "sparse_values: [sparse_types], sparse_shapes: Nsparse*int64, dense_values: [Tdense])\n"
    f"Nsparse: int >= 0\nNdense: int >= 0{TYPES}",
    differentiable=False,
)


def dense_shapes(node: Node, attr: str = "dense_shapes") -> list[Dims]:
    """Shapes of dense features, as the attribute has them."""
    return [None if s.ndims is None else tuple(s.as_list()) for s in node.op.attrs[attr]]


def check_dense(shapes: Sequence[Dims]) -> None:
    """Refuses shapes that are not known but for the number of rows.

    Raises:
      ValueError: if there is one.
    """
    for i, shape in enumerate(shapes):
        if shape is None or None in shape[1:]:
            raise ValueError(f"dense_shapes[{i}] has unknown rank or unknown inner dimensions")


@parse_example_op.check
def parse_example_check(node: Node) -> None:
    shapes = dense_shapes(node)
    if len(shapes) != node.Ndense or len(node.Tdense) != node.Ndense:
        raise ValueError("len(dense_keys) != len(dense_shapes)")
    if len(node.sparse_types) != node.Nsparse:
        raise ValueError("len(sparse_keys) != len(sparse_types)")
    check_dense(shapes)
    dims_lib.with_rank(node.dims(0), 1)
    dims_lib.with_rank(node.dims(1), 1)


@parse_example_op.shape
def parse_example_shape(node: Node) -> Any:
    batch = dims_lib.with_rank(node.dims(0), 1)
    sparse: list[Dims] = [(None, 2)] * node.Nsparse
    sparse += [(None,)] * node.Nsparse + [(2,)] * node.Nsparse
    return [*sparse, *[dims_lib.concat(batch, shape) for shape in dense_shapes(node)]]


# ---- Kernels

# From so many features and examples in a batch on it pays to decode them together, where they have
# no more bytes than this on average: long ones are copied faster one by one.
MANY = 512
MANY_EXAMPLES = 64
SHORT = 64


def picker(keys: Sequence[str]) -> Callable[[Any], tuple[bytes, ...]]:
    """What takes the bytes of these features out of a map; none for those that are not there."""
    if not keys:
        return lambda features: ()
    if len(keys) == 1:
        key = keys[0]
        return lambda features: (features[key],)
    return itemgetter(*keys)


def check_default(feature: Dense, default: Any) -> None:
    """Refuses a default that does not have the feature's shape.

    Raises:
      InvalidArgumentError: if so.
    """
    shape = tuple(default.shape)
    if shape == feature.shape:
        return
    size = math.prod(shape)
    if feature.is_variable:
        if size != 1:
            raise refuse(
                "dense_shape is a variable length shape, therefore default_value must contain a "
                f"single element ('padding element').  But its shape is: "
                f"{columns.shape_text(shape)}"
            )
    elif size > 0:
        raise refuse(
            f"def_value.shape() == {columns.shape_text(shape)} is not compatible with "
            f"dense_shape == {columns.shape_text(feature.shape)}"
        )


class ExampleParser:
    """Parses batches for one set of features."""

    def __init__(self, sparse: list[Sparse], dense: list[Dense]) -> None:
        self.sparse = sparse
        self.dense = dense
        keys = [f.key for f in sparse] + [f.key for f in dense]
        self.pick = picker(keys)
        self.maps = FeatureMaps(keys)
        self.message = wire.messages()[0]
        kinds = [cpp_name(f.dtype) for f in sparse] + [cpp_name(f.dtype) for f in dense]
        self.numeric = {
            kind: [i for i, other in enumerate(kinds) if other == kind]
            for kind in sorted({*kinds} - {"string"})
        }

    def raws(self, serialized: Sequence[bytes]) -> list[Sequence[bytes]]:
        """By feature, the bytes of each example's."""
        parse, pick = self.message.FromString, self.pick
        rows = []
        for text in serialized:
            try:
                rows.append(pick(parse(text).features.feature))
            except Exception:
                shown = text.decode("utf-8", "backslashreplace")
                raise refuse(f"Could not parse example input, value: '{shown}'") from None
        if not rows:
            return [()] * (len(self.sparse) + len(self.dense))
        return list(zip(*rows, strict=True))

    def read(
        self, serialized: Sequence[bytes]
    ) -> tuple[Sequence[Sequence[bytes]], list[wire.Decoded | None]]:
        """By feature, the bytes of each example's, and the values if they are read already."""
        count = len(self.sparse) + len(self.dense)
        found: list[wire.Decoded | None] = [None] * count
        total = count * len(serialized)
        many = total >= MANY and sum(map(len, serialized)) <= SHORT * total
        joined = self.maps.find(serialized) if many and len(serialized) >= MANY_EXAMPLES else None
        raws = self.raws(serialized) if joined is None else joined.columns()
        if many:
            for kind, places in self.numeric.items():
                if joined is None:
                    chosen = spans.join([raws[place] for place in places])
                else:
                    chosen = joined.select(places)
                for place, ready in zip(places, spans.decode(chosen, kind), strict=True):
                    found[place] = ready
        return raws, found

    def batch(
        self, serialized: Sequence[bytes], names: Sequence[bytes], defaults: Sequence[Any]
    ) -> list[Any]:
        """The op's outputs."""
        raws, found = self.read(serialized)

        def where(key: str) -> columns.Where:
            return lambda index: f"Name: {_name(names, index)}, Key: {key}, Index: {index}.  "

        matrices = columns.sparse_columns([
            ready or columns.decoded(column, feature, where(feature.key))
            for feature, column, ready in zip(self.sparse, raws, found, strict=False)
        ])  # fmt: skip
        count = len(self.sparse)
        values = [
            self._dense(feature, column, ready, default, where(feature.key), names)
            for feature, column, ready, default in zip(
                self.dense, raws[count:], found[count:], defaults, strict=True
            )
        ]
        return [*(item for part in matrices for item in part), *values]

    @staticmethod
    def _dense(
        feature: Dense, raws: Any, ready: wire.Decoded | None, default: Any,
        where: columns.Where, names: Sequence[bytes],
    ) -> Any:  # fmt: skip
        check_default(feature, default)
        found = ready or columns.decoded(raws, feature, where)
        if feature.is_variable:
            return columns.padded_column(feature, found, default, where)

        def missing(index: int) -> str:
            return (
                f"Name: {_name(names, index)}, Feature: {feature.key} (data type: "
                f"{cpp_name(feature.dtype)}) is required but could not be found."
            )

        return columns.dense_column(raws, feature, found, default, where, missing)


def _name(names: Sequence[bytes], index: int) -> str:
    return names[index].decode(errors="replace") if len(names) else "<unknown>"


def _texts(keys: Sequence[Any]) -> list[str]:
    return [key.decode() if isinstance(key, bytes) else str(key) for key in keys]


def features_of(
    sparse_keys: Sequence[Any], sparse_types: Sequence[Any], dense_keys: Sequence[Any],
    dense_types: Sequence[Any], shapes: Sequence[Dims],
) -> tuple[list[Sparse], list[Dense]]:  # fmt: skip
    """Keys, types and shapes put together."""
    sparse = map(Sparse, _texts(sparse_keys), sparse_types)
    dense = map(Dense, _texts(dense_keys), dense_types, shapes)
    return list(sparse), list(dense)


@parse_example_op.kernel
def parse_example_kernel(node: Node) -> Any:
    sparse_count, dense_count = node.Nsparse, node.Ndense
    first = 2 + sparse_count + dense_count  # of the defaults
    types, shapes = (node.sparse_types, node.Tdense), dense_shapes(node)
    bare = len(node.outputs) == 1

    def parser(keys: Sequence[Any]) -> ExampleParser:
        return ExampleParser(*features_of(
            keys[:sparse_count], types[0], keys[sparse_count:], types[1], shapes
        ))  # fmt: skip

    known = [node.value(2 + i) for i in range(sparse_count + dense_count)]
    ready = None
    if all(key is not None for key in known):
        ready = parser([key.item() for key in known])  # type: ignore[union-attr]

    def parse_example(serialized: Any, names: Any, *rest: Any) -> Any:
        made = ready or parser([key.item() for key in rest[: first - 2]])
        if names.size and names.shape != serialized.shape:
            raise refuse(
                "Expected len(names) == len(serialized), but got: "
                f"{names.size} vs. {serialized.size}"
            )
        outputs = made.batch(serialized.tolist(), names.tolist(), rest[first - 2 :])
        return outputs[0] if bare else outputs

    return parse_example
