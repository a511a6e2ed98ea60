"""Operations without samples as modules of PyTorch, on their inputs in golden programs."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest
from tests.golden.capture import Built
from tests.golden.registry import PROGRAMS, split_name

import stillflow as tf
from stillflow import errors
from stillflow.export import ExportError, to_torch

# Operations, each with a program that has it.
LISTED = Path(__file__).with_name("exported_in_goldens.tsv")
ROWS = [line.split("\t") for line in LISTED.read_text(encoding="utf-8").splitlines()]
_OBJECTS = ("resource", "variant")

pytestmark = pytest.mark.filterwarnings("ignore")


def export(session: Any, op: Any, feed: Any) -> None:
    """Export an operation alone; ExportError if it differs from the session."""

    def numbers(tensors: Any) -> list[Any]:
        return [t for t in dict.fromkeys(tensors)
                if t.dtype.name not in _OBJECTS and not t.dtype._is_ref_dtype]  # fmt: skip

    inputs = list(filter(session.graph.is_feedable, numbers(op._inputs)))
    outputs = [t for t in op._outputs if t.dtype.name not in _OBJECTS]
    values = session.run(inputs, feed) if inputs else []
    samples = {tensor.name: value for tensor, value in zip(inputs, values, strict=True)}
    to_torch(session, inputs, outputs, samples=samples)


@pytest.mark.parametrize(("kind", "name"), ROWS, ids=[kind for kind, _ in ROWS])
def test_an_operation_goes_out(kind: str, name: str) -> None:
    importlib.import_module(f"tests.golden.programs.{split_name(name)[0].replace('/', '.')}")
    built = Built(tf, PROGRAMS[name])
    feed = next((run.feed(0) for run in built.runs if run.feed(0)), None)
    problems = []
    config = tf.ConfigProto(allow_soft_placement=True)  # of operations for GPUs
    with tf.Session(graph=built.graph, config=config) as session:
        built.record_runs(session)
        for op in [each for each in built.graph.get_operations() if each.type == kind]:
            try:
                return export(session, op, feed)
            except (ExportError, errors.OpError, ValueError) as error:
                problems.append(str(error))
    raise AssertionError(problems)
