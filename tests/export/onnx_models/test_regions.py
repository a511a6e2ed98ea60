"""Rules by which steps of a plan become ONNX operators; another file compares their values."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from tests.ops.sampling import arrays_of, build
from tests.ops.test_samples import ALL, good

import stillflow as tf
from stillflow.export.onnx_models.regions.builder import RULES
from stillflow.runtime.engines import assign, choice, onnx_runtime, open_vino, use


class Recorder:
    """Engine that asks the rules about each step, and takes none."""

    name, extra, packages, any_sizes = "onnxruntime", "onnx", (), True

    def __init__(self) -> None:
        self.problems: list[str] = []

    def problem(self, graph: Any, step: Any) -> str:
        self.problems.append(onnx_runtime.ENGINE.problem(graph, step))
        assert open_vino.ENGINE.problem(graph, step) == self.problems[-1]
        return self.problems[-1] or "taken"


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Return the engine of every session."""
    made = Recorder()
    monkeypatch.setattr(choice, "_engine", lambda name: made)
    monkeypatch.setattr(assign, "_AT_LEAST", 1)
    return made


@pytest.mark.parametrize("name", sorted(RULES))
def test_a_rule_takes_a_sample(name: str, recorder: Recorder) -> None:
    card = ALL[name]
    for sample, known, keeps in itertools.product(good(card), ("sizes", "ranks"), (False, True)):
        arrays = arrays_of(card, sample)
        fixed = tuple(range(1, len(arrays))) if keeps else sample.fixed
        built = build(card, arrays, sample.attrs, known, fixed)
        with tf.Session(graph=built.graph, config=use("onnxruntime")) as session:
            session.explain(built.outputs[0], built.feeds)
    assert "" in recorder.problems


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda x: tf.cast(x * 2.0, tf.int32), "Cast: from float32 to int32"),
        (lambda x: tf.nn.relu(tf.cast(x, tf.float16)), "has type float16"),
        (lambda x: tf.linalg.inv(x + 1.0), "MatrixInverse has no ONNX form here"),
        (lambda x: tf.slice(x, [0, 1], [1, 1]), "the size of the axis is unknown"),
        (lambda x: tf.add_n([x, x * 2.0, x]), "shapes may differ"),
        (lambda x: x[:, 0:0] * 2.0, "is empty"),
    ],
)
def test_steps_without_a_form_say_why(make: Any, reason: str, recorder: Recorder) -> None:
    with tf.Graph().as_default(), tf.Session(config=use("onnxruntime")) as session:
        x = tf.placeholder(tf.float32, [None, None], "x")
        session.explain(make(x), {x: [[1.0, 2.0], [3.0, 4.0]]})
    assert any(reason in problem for problem in recorder.problems), recorder.problems
