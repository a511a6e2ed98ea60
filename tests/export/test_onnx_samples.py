"""Samples of cards as ONNX models: the values are those of the session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.export.test_samples import knowledge
from tests.ops.sampling import arrays_of, build
from tests.ops.test_samples import ALL, good

import stillflow as tf
from stillflow.export.capture import capture
from stillflow.export.onnx_export import _runner, model_of
from stillflow.export.problems import ExportError
from stillflow.export.verification import compare

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's, of samples without elements

# Operations that go out.
LISTED = Path(__file__).with_name("exported_to_onnx.txt")
NAMES = LISTED.read_text(encoding="utf-8").split()


def exported(built: Any) -> Any:
    """Compare an op's model with the session."""
    with tf.Session(graph=built.graph) as session, built.graph.as_default():
        program = capture(session._get_resources(), list(built.feeds), built.outputs, for_onnx=True)
        message = model_of.value(program, {}, None)
        run = _runner(message.SerializeToString(), list(built.feeds))
        return compare(session, program, built.feeds, run)


def differs(name: str) -> str:
    """Return how the models of an operation's samples differ; "" if one does not.

    The graph knows the ranks alone; the sizes; or all values but the first, as in most graphs.
    """
    card, problem = ALL[name], ""
    for sample in good(card):
        problem = differs_of(card, sample)
        if not problem:
            return ""
    return problem


def differs_of(card: Any, sample: Any) -> str:
    """Return the same for one sample."""
    name, arrays = card.name, arrays_of(card, sample)
    ways = {(known, sample.fixed) for known in knowledge(name)}
    ways.add(("sizes", tuple(range(1, len(arrays)))))
    problem = ""
    for known, fixed in sorted(ways, key=repr):
        try:
            built = build(card, arrays, sample.attrs, known, fixed)
        except ValueError as error:  # the shape rule asks for a value
            problem = str(error)
            continue
        try:
            comparison = exported(built)
        except Exception as error:  # of the exporter, or of onnxruntime
            if not isinstance(error, ExportError) and "onnxruntime" not in repr(type(error)):
                raise
            problem = str(error)
            continue
        draws = card.signature.is_stateful and not comparison.problems
        if draws or comparison.equal:
            return ""
        problem = comparison.message
    return problem


@pytest.mark.parametrize("name", NAMES)
def test_an_operation_goes_out(name: str) -> None:
    assert not differs(name)
