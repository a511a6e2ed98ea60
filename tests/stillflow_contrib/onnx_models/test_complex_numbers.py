"""Complex numbers inside of ONNX models: pairs of numbers, which go in and come out apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stillflow as tf
from stillflow.export.onnx_export import _runner, model_of
from stillflow.export.onnx_models.forms import COMPLEX
from stillflow.export.problems import ExportError
from stillflow.export.torch_export import capture_of
from stillflow.export.verification import compare
from stillflow.graph.card import load_all

pytest.importorskip("onnxruntime")
pytest.importorskip("onnxscript")
pytestmark = pytest.mark.filterwarnings("ignore")
assert model_of.value  # whose provider has the forms


def _built(kind: str, rank: int) -> tuple[list[Any], list[Any]]:
    """Return the inputs and outputs of a graph with an operation: real numbers."""
    arguments = load_all()[kind].signature.inputs
    sizes = [2, 3, 4, 8][-rank:]
    parts = [tf.placeholder(tf.float32, sizes, name) for name in ("real", "imaginary")]
    if kind == "Complex":
        made = tf.raw_ops.Complex(real=parts[0], imag=parts[1])
    elif kind.startswith("RFFT"):
        del parts[1]
        lengths = [4, 6][-int(kind[4:-1] or 1) :] if kind != "RFFT3D" else [2, 4, 6]
        made = getattr(tf.raw_ops, kind)(input=parts[0], fft_length=lengths)
    else:
        made = getattr(tf.raw_ops, kind)(**{arguments[0].name: tf.complex(*parts)})
    complex_out = made.dtype.is_complex
    return parts, [tf.math.real(made), tf.math.imag(made)] if complex_out else [made]


@pytest.mark.parametrize("rank", [3, 4])
@pytest.mark.parametrize("kind", sorted(COMPLEX))
def test_an_operation_on_complex_numbers_goes_out(kind: str, rank: int) -> None:
    rng = np.random.default_rng(3)
    with tf.Graph().as_default(), tf.Session() as session:
        inputs, outputs = _built(kind, rank)
        feeds = {each: rng.normal(size=each.shape).astype("f") for each in inputs}
        program = capture_of(session, inputs, outputs, for_onnx=True)
        run = _runner(model_of.value(program, {}, None).SerializeToString(), inputs)
        comparison = compare(session, program, feeds, run)
    assert comparison.equal, comparison.message


def test_other_operations_on_complex_numbers_are_named() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [4], "x")
        y = tf.math.real(tf.complex(x, x) * tf.complex(x, x))
        program = capture_of(session, [x], [y], for_onnx=True)
        with pytest.raises(ExportError, match=r"\(Mul\) has no form in ONNX: of complex numbers"):
            model_of.value(program, {}, None)
