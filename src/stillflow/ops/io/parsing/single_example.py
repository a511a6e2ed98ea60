"""ParseSingleExample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.constant_value import Dims
from stillflow.graph.dtypes import cpp_name
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.io.parsing import columns, wire
from stillflow.ops.io.parsing.columns import Dense, Sparse, refuse
from stillflow.ops.io.parsing.example_parser import ExampleParser, check_default, picker
from stillflow.ops.io.parsing.examples import TYPES, check_dense, dense_shapes, features_of
from stillflow.ops.kernels import copied

parse_single_example_op = op(
    "ParseSingleExample(serialized: string, dense_defaults: [Tdense]) -> "
    "(sparse_indices: num_sparse*int64, sparse_values: [sparse_types], "
    "sparse_shapes: num_sparse*int64, dense_values: [Tdense])\n"
    "num_sparse: int >= 0\nsparse_keys: list(string) >= 0\n"
    f"dense_keys: list(string) >= 0{TYPES}",
    differentiable=False,
)


@parse_single_example_op.check
def parse_single_example_check(node: Node) -> None:
    shapes = dense_shapes(node)
    if len(shapes) != len(node.dense_keys) or len(node.Tdense) != len(node.dense_keys):
        raise ValueError("len(dense_keys) != len(dense_shapes)")
    if not node.num_sparse == len(node.sparse_keys) == len(node.sparse_types):
        raise ValueError("len(sparse_keys) != len(sparse_types)")
    check_dense(shapes)
    dims_lib.with_rank(node.dims(0), 0)


@parse_single_example_op.shape
def parse_single_example_shape(node: Node) -> OutputDims:
    count = node.num_sparse
    sparse: list[Dims] = [(None, 1)] * count
    return [*sparse, *[(None,)] * count, *[(1,)] * count, *dense_shapes(node)]


def _features(node: Node) -> tuple[list[Sparse], list[Dense]]:
    keys, types = (node.sparse_keys, node.dense_keys), (node.sparse_types, node.Tdense)
    return features_of(keys[0], types[0], keys[1], types[1], dense_shapes(node))


def parse_single_examples(node: Node) -> Callable[..., list[Sequence[Any]]]:
    """Return the kernel for many examples (bytes [N]), equal to the kernel of one.

    For each output it returns the values of all: a tensor or array of rows, or a list if they need
    not have one shape. Its InvalidArgumentError does not say which example it is for: the kernel
    does, when it parses them one by one.
    """
    parser = ExampleParser(*_features(node))
    return lambda serialized, *defaults: parser.rows(list(serialized), defaults)


def stacked_parser(node: Node) -> Callable[..., Any] | None:
    """Return the kernel for many examples (bytes [N]), whose features are stacked.

    None unless all features are dense and of a known shape.
    """
    shapes = dense_shapes(node)
    if node.num_sparse or any(shape is None or None in shape for shape in shapes):
        return None
    parser = ExampleParser(*_features(node))
    if len(node.outputs) > 1:
        return lambda texts, *defaults: parser.batch(texts.tolist(), (), defaults)
    return lambda texts, *defaults: parser.batch(texts.tolist(), (), defaults)[0]


@parse_single_example_op.kernel
def parse_single_example_kernel(node: Node) -> Kernel:
    sparse, dense = _features(node)
    pick = picker([f.key for f in sparse] + [f.key for f in dense])
    readers = [_reader(feature, node.value(1 + i)) for i, feature in enumerate(dense)]
    bare, count = len(node.outputs) == 1, len(sparse)

    def parse_single_example(serialized: Any, *defaults: Any) -> Any:
        text = serialized.item()
        try:
            raws = pick(wire.example_of(text).features.feature)
        except Exception:
            shown = text.decode("utf-8", "backslashreplace")
            raise refuse(f"Could not parse example input, value: '{shown}'") from None
        outputs = [
            read(raw, default)
            for read, raw, default in zip(readers, raws[count:], defaults, strict=True)
        ]
        if sparse:
            values = [_single_sparse(f, raw) for f, raw in zip(sparse, raws, strict=False)]
            outputs[:0] = [item for part in zip(*values, strict=True) for item in part]
        return outputs[0] if bare else outputs

    return parse_single_example


def _values(feature: Sparse | Dense, raw: bytes) -> np.ndarray:
    try:
        return wire.decode_one(raw, cpp_name(feature.dtype))
    except (wire.Damaged, wire.WrongKind) as error:
        raise columns.refused(error, feature, _where(feature)) from None


def _where(feature: Sparse | Dense) -> str:
    return f"Key: {feature.key}.  "


def _single_sparse(feature: Sparse, raw: bytes) -> tuple[Any, Any, Any]:
    return columns.sparse_vector(_values(feature, raw))


def _one_string(raw: bytes) -> Array | None:
    """Return the value of a feature that is one string; None if it is anything else."""
    header = wire.header(0x0A, len(raw)) if len(raw) > 2 else b"\0"
    if not raw.startswith(header):
        return None
    made = np.empty((), dtype=object)
    made[()] = raw[len(header) :]
    return made


def _one_small_integer(raw: bytes) -> torch.Tensor | None:
    """Return the value of a feature that is one integer from 0 to 127.

    None if it is anything else.
    """
    if len(raw) == 5 and raw.startswith(b"\x1a\x03\x0a\x01") and raw[4] < 128:
        return torch.from_numpy(np.array(raw[4], np.int64))
    return None


# The most frequent features, by type.
_SHORT_CUTS = {"string": _one_string, "int64": _one_small_integer}


def _reader(feature: Dense, default: Any) -> Any:
    """Return the reader of a dense feature, from its bytes and the default."""
    if default is not None:
        check_default(feature, default)
    short_cut = None if feature.shape else _SHORT_CUTS.get(cpp_name(feature.dtype))
    make = _variable if feature.is_variable else _fixed
    size = feature.size

    def read(raw: bytes, given: Any) -> Any:
        if short_cut is not None:
            value = short_cut(raw)
            if value is not None:
                return value
        if default is None:
            check_default(feature, given)
        return make(feature, raw, given, size)

    return read


def _fixed(feature: Dense, raw: bytes, default: Any, size: int) -> torch.Tensor | Array:
    if not raw:
        if not int(np.prod(default.shape)):
            raise refuse(
                f"Feature: {feature.key} (data type: {cpp_name(feature.dtype)}) is required but "
                "could not be found."
            )
        return copied(default)
    values = _values(feature, raw)
    if len(values) != size:
        raise refuse(f"{_where(feature)}Can't parse serialized Example.")
    return columns.as_tensor(values, feature.row_shape)


def _variable(feature: Dense, raw: bytes, default: Any, size: int) -> torch.Tensor | Array:
    values = _values(feature, raw)
    count = len(values)
    if count % size if size else count:
        raise refuse(f"{_where(feature)}Can't parse serialized Example.")
    shape = (count // size if size else 0, *feature.row_shape)
    return columns.as_tensor(values, shape)
