"""Arguments that need care end in an error or a plain result: known, shaped and unknown alike."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from tests.ops.bad_inputs import arrays, hostile, indices, nn, numbers, ragged, sparse, strings
from tests.ops.bad_inputs.case import Case
from tests.ops.sampling import KNOWN, arrays_of, build

import stillflow as tf
from stillflow.graph import card as cards
from stillflow.ops.samples import Bad

CASES: list[Case] = [
    *nn.CONVOLUTIONS, *nn.POOLING, *arrays.SHAPES, *indices.INDICES, *sparse.SPARSE,
    *numbers.NUMBERS, *strings.STRINGS, *strings.ASSERTIONS, *ragged.RAGGED, *hostile.WRONG,
    *hostile.MUCH,
]  # fmt: skip
BUILT_OR_RUN = (
    ValueError, tf.errors.InvalidArgumentError, tf.errors.OutOfRangeError,
    tf.errors.ResourceExhaustedError,
)  # fmt: skip
# Where TensorFlow says "Values and indices must be equal", and what it says of zeros as divisors.
INTERNAL = {"RaggedTensorToTensor", "TruncateDiv", "TruncateMod"}
MOST_MEMORY = 64 << 20
_STATUS = "/proc/self/status"


def name_of(case: Case) -> str:
    shapes = [
        "x".join(map(str, np.shape(arg))) if not isinstance(arg, list) else "list"
        for arg in case.args
    ]
    return f"{case.op}-{','.join(shapes)}"


def _peak() -> int:
    with open(_STATUS) as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM"))


@contextmanager
def little_memory() -> Iterator[None]:
    """Assert that the block takes no more memory than an error needs, where that is measurable."""
    if not sys.platform.startswith("linux"):
        yield
        return
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # forget the peak
    before = _peak()
    yield
    assert _peak() - before < MOST_MEMORY


def outcome(case: Case, known: str) -> tuple[str, Any]:
    """Return the error of a case, at construction or at run time; or its values."""
    card = cards.find(case.op)
    assert card is not None
    given = arrays_of(card, Bad(*case.args, match="", **case.attrs))
    try:
        built = build(card, given, case.attrs, known)
    except BUILT_OR_RUN as error:
        return "built", error
    with built.graph.as_default():
        two = tf.constant(1) + 1
    node = [op for op in built.graph.get_operations() if op.type == case.op]
    with tf.Session(graph=built.graph) as session:
        try:
            values = session.run(built.outputs or node, built.feeds)
        except (*BUILT_OR_RUN, tf.errors.InternalError) as error:
            assert not isinstance(error, tf.errors.InternalError) or case.op in INTERNAL
            assert session.run(two) == 2  # the session goes on
            assert node[0].name in str(error)
            return "run", error
    return "gave", values


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_nothing_crashes_or_grows(case: Case) -> None:
    for known in (*KNOWN[:2], KNOWN[-1]):
        with little_memory():
            when, result = outcome(case, known)
        if case.shape is None:
            assert when != "gave", (known, result)
            assert str(result)
            continue
        assert when == "gave", (known, result)
        assert np.shape(result[0]) == case.shape
        assert not np.any(result[0]) or case.op in ("ReverseV2",)


def recorded() -> list[tuple[str, str]]:
    with open(os.path.join(os.path.dirname(__file__), "bad_inputs", "rows.tsv")) as file:
        rows = [line.split("\t") for line in file if not line.startswith("#")]
    return [(number, ops) for number, ops, _ in rows]


@pytest.mark.parametrize(("number", "ops"), recorded())
def test_every_recorded_kind_has_cases(number: str, ops: str) -> None:
    assert set(ops.split()) <= {case.op for case in CASES}, number
