"""DecodeLibsvm: lines of labels and of features with their numbers, as labels and sparse rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from stillflow.graph.card import op
from stillflow.graph.dtypes import DType, int64
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.ops.strings.numbers import integer_parser, parse_float, plain_numbers

decode_libsvm_op = op(
    """
    DecodeLibsvm(input: string) -> (label: label_dtype, feature_indices: int64,
                                    feature_values: dtype, feature_shape: int64)
    dtype: {float, double, int32, int64} = float
    label_dtype: {float, double, int32, int64} = int64
    num_features: int >= 1
""",
    differentiable=False,
)

_Parser = Callable[[bytes], Any]


class _Lines(NamedTuple):
    """Content of all lines: a label each, and for each feature its line, number and value."""

    labels: np.ndarray
    lines: np.ndarray
    numbers: np.ndarray
    values: np.ndarray


@decode_libsvm_op.shape
def decode_libsvm_shape(node: Node) -> OutputDims:
    return [node.dims(0), (None, None), (None,), (None,)]


def _parser(kind: DType) -> _Parser:
    return integer_parser(int(kind.min), int(kind.max)) if kind.is_integer else parse_float


def _shown(text: bytes) -> str:
    return text.decode("utf-8", "replace")


def _parsed(parse: _Parser, text: bytes, problem: str, piece: bytes) -> float | int:
    found = parse(text)
    if found is None:
        raise ValueError(f"{problem}: {_shown(piece)}")
    return found


def _one_by_one(texts: list[bytes], kind: DType, label_kind: DType) -> _Lines:
    """Return the content of the lines; the first text that is no number raises an error."""
    as_label, as_value, as_number = _parser(label_kind), _parser(kind), _parser(int64)
    labels, lines, numbers, values = [], [], [], []
    for line, text in enumerate(texts):
        label, *pieces = text.split() or [b""]
        if not label:
            raise ValueError(f'No label found for input[{line}]: "{_shown(text)}"')
        labels.append(_parsed(as_label, label, "Label format incorrect", label))
        for piece in pieces:
            number, colon, value = piece.partition(b":")
            if not colon:
                raise ValueError(f'Invalid feature "{_shown(piece)}"')
            place = _parsed(as_number, number, "Feature format incorrect", piece)
            if place < 0:
                raise ValueError(f"Feature index should be >= 0, got {place}")
            lines.append(line)
            numbers.append(place)
            values.append(_parsed(as_value, value, "Feature format incorrect", piece))
    with np.errstate(over="ignore"):  # too large for a float is infinity
        return _Lines(
            np.array(labels, label_kind.as_numpy_dtype),
            np.array(lines, np.int64),
            np.array(numbers, np.int64),
            np.array(values, kind.as_numpy_dtype),
        )


def _at_once(texts: list[bytes], kind: DType, label_kind: DType) -> _Lines | None:
    """Return the content of lines of plain numbers, several times as fast; None for others."""
    rows = [text.split() for text in texts]
    if not all(rows):
        return None
    features = [piece.split(b":") for row in rows for piece in row[1:]]
    if any(len(feature) != 2 for feature in features):
        return None
    labels = plain_numbers([row[0] for row in rows], label_kind)
    numbers = plain_numbers([number for number, _ in features], int64)
    values = plain_numbers([value for _, value in features], kind)
    if labels is None or numbers is None or values is None or (numbers < 0).any():
        return None
    lines = np.repeat(np.arange(len(rows)), [len(row) - 1 for row in rows])
    return _Lines(labels, lines, numbers, values)


@decode_libsvm_op.kernel
def decode_libsvm_kernel(node: Node) -> Kernel:
    kind, label_kind = node.op.attrs["dtype"], node.label_dtype

    def decode(content: Any) -> tuple[Any, ...]:
        texts = content.reshape(-1).tolist()
        found = _at_once(texts, kind, label_kind) or _one_by_one(texts, kind, label_kind)
        places = np.unravel_index(found.lines, content.shape) if content.ndim else ()
        indices = np.stack([*places, found.numbers], axis=1)
        shape = np.array([*content.shape, node.num_features], np.int64)
        results = (found.labels.reshape(content.shape), indices, found.values, shape)
        return tuple(map(torch.from_numpy, results))

    return decode


_LINES = np.array([[b"1 1:3.5 4:2", b" 0\t"], [b"-2 0:1e2", b"7 2:-1 2:inf 3:.5"]], object)


@decode_libsvm_op.samples
def decode_libsvm_samples() -> Samples:
    yield Sample(np.array([b"3 1:4 2:5", b"4 0:6"], object), num_features=3)
    yield Sample(_LINES, num_features=5)
    yield Bad(_LINES, num_features=0, match="less than minimum 1")
    yield Bad(np.array([b"1 1:2", b" "], object), num_features=5, match="No label found")
    yield Bad(np.array([b"x 1:2"], object), num_features=5, match="Label format incorrect: x")
    yield Bad(np.array([b"1 12"], object), num_features=5, match='Invalid feature "12"')
    yield Bad(np.array([b"1 1:2:3"], object), num_features=5, match="incorrect: 1:2:3")
    yield Bad(np.array([b"1 -1:2"], object), num_features=5, match="should be >= 0, got -1")
