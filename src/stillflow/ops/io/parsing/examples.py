"""ParseExample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.constant_value import Dims
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.io.parsing.columns import Dense, Sparse, refuse
from stillflow.ops.io.parsing.example_parser import ExampleParser

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
    """Raise ValueError for shapes that are unknown except for the number of rows."""
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
def parse_example_shape(node: Node) -> OutputDims:
    batch = dims_lib.with_rank(node.dims(0), 1)
    sparse: list[Dims] = [(None, 2)] * node.Nsparse
    sparse += [(None,)] * node.Nsparse + [(2,)] * node.Nsparse
    return [*sparse, *[dims_lib.concat(batch, shape) for shape in dense_shapes(node)]]


# ---- Kernels


def _texts(keys: Sequence[Any]) -> list[str]:
    return [key.decode() if isinstance(key, bytes) else str(key) for key in keys]


def features_of(
    sparse_keys: Sequence[Any], sparse_types: Sequence[Any], dense_keys: Sequence[Any],
    dense_types: Sequence[Any], shapes: Sequence[Dims],
) -> tuple[list[Sparse], list[Dense]]:  # fmt: skip
    """Return keys, types and shapes as features."""
    sparse = map(Sparse, _texts(sparse_keys), sparse_types)
    ranked = [shape or () for shape in shapes]  # `check_dense` has seen that all are known
    dense = map(Dense, _texts(dense_keys), dense_types, ranked)
    return list(sparse), list(dense)


@parse_example_op.kernel
def parse_example_kernel(node: Node) -> Kernel:
    sparse_count, dense_count = node.Nsparse, node.Ndense
    first = 2 + sparse_count + dense_count  # of the defaults
    types, shapes = (node.sparse_types, node.Tdense), dense_shapes(node)
    bare = len(node.outputs) == 1

    def parser(keys: Sequence[Any]) -> ExampleParser:
        return ExampleParser(*features_of(
            keys[:sparse_count], types[0], keys[sparse_count:], types[1], shapes
        ))  # fmt: skip

    known = node.values(range(2, 2 + sparse_count + dense_count))
    ready = None if known is None else parser([key.item() for key in known])

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
