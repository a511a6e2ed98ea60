"""Random operations draw what TensorFlow 1.15.5 drew from the same seeds, run after run."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest
from tests.ops.random.cases import CASES, RUNS, STATE, STEPS

import stillflow as tf
from stillflow.graph.card import find
from stillflow.graph.removed_ops import REMOVED
from stillflow.ops.random import binomial, bounded_normal, categorical
from stillflow.runtime.devices.devices import gpu_count

RECORDED = np.load(os.path.join(os.path.dirname(__file__), "recorded.npz"))

# How far values may be from the recorded ones; all others must be equal to the last bit.
TOLERANCES = {
    # Logarithm, sine and cosine in double precision differ in their last bit between libraries.
    "RandomStandardNormal/float64": 1e-14,
    "TruncatedNormal/float64": 1e-14,
    "StatelessRandomNormal/int64": 1e-14,
    "StatelessTruncatedNormal/int64": 1e-14,
    "RandomGamma/float64": 1e-14,
    "bounded/normal float64": 1e-14,
    "bounded/float64": 1e-14,
    "RandomGammaGrad/float64": 1e-11,
    # TF differentiates its series in single precision here.
    "RandomGammaGrad/float32": 3e-5,
}
EXPECTED_COUNTS = 1e-6  # after single-precision functions of their own
NORMALS_OF_GPUS = 3e-7  # by the device's logarithm, sine and cosine


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use one shard: work is divided as by the recording's single thread."""
    for module in (binomial, bounded_normal, categorical):
        monkeypatch.setattr(module, "host_threads", lambda: 1)


def call(op_type: str, *inputs: Any, **attrs: Any) -> Any:
    card = find(op_type)
    assert card is not None
    return card(*inputs, **attrs)


def build(op_type: str, inputs: list, attrs: dict[str, Any]) -> list:
    given = {k: tf.as_dtype(v) if k in ("dtype", "output_dtype") else v for k, v in attrs.items()}
    outputs = call(op_type, *[tf.constant(value) for value in inputs], **given)
    return list(outputs) if isinstance(outputs, tuple) else [outputs]


@pytest.mark.parametrize("name", CASES)
def test_draws_what_was_recorded(name: str) -> None:
    op_type, inputs, attrs = CASES[name]
    graph = tf.Graph()
    graph._producer = REMOVED.get(op_type, (graph._producer + 1,))[0] - 1
    with graph.as_default(), tf.Session() as session:
        outputs = build(op_type, inputs, attrs)
        for run in range(RUNS):
            for number, value in enumerate(session.run(outputs)):
                check(name, outputs[number], value, RECORDED[f"{name}|{run}|{number}"])


def check(name: str, tensor: Any, value: Any, recorded: np.ndarray) -> None:
    got = np.asarray(value)
    if got.dtype.name == "bfloat16":
        got = got.astype(np.float32)
    assert got.dtype == recorded.dtype
    assert got.shape == recorded.shape
    assert tensor.shape.is_compatible_with(recorded.shape)
    tolerance = TOLERANCES.get(name, EXPECTED_COUNTS if "expected" in tensor.name else 0)
    if "Sampler" in tensor.op.type and got.dtype == np.float32:
        tolerance = EXPECTED_COUNTS
    if gpu_count() and tensor.op.type.endswith("Normal") and got.dtype == np.float32:
        tolerance = NORMALS_OF_GPUS
    if tolerance:
        np.testing.assert_allclose(got, recorded, rtol=tolerance)
    else:
        np.testing.assert_array_equal(got, recorded)


def test_every_case_is_recorded() -> None:
    assert {key.split("|")[0] for key in RECORDED.files} == {*CASES, "step", "state"}


def test_generator_variables_move_as_recorded() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        handle = call("VarHandleOp", dtype=tf.int64, shape=tf.TensorShape([3]))
        session.run(call("AssignVariableOp", handle, np.array(STATE)))
        read = call("ReadVariableOp", handle, dtype=tf.int64)
        for number, (op_type, inputs, attrs) in enumerate(STEPS):
            kinds = {key: tf.as_dtype(value) for key, value in attrs.items()}
            tensors = [tf.constant(value) for value in inputs]
            value = session.run(call(op_type, handle, *tensors, **kinds))
            if value is not None:
                recorded = RECORDED[f"step|{number}"]
                value = value.astype(np.float32) if value.dtype.name == "bfloat16" else value
                assert value.dtype == recorded.dtype
                tolerance = NORMALS_OF_GPUS if gpu_count() and value.dtype == np.float32 else 1e-14
                np.testing.assert_allclose(value, recorded, rtol=tolerance)
            np.testing.assert_array_equal(session.run(read), RECORDED[f"state|{number}"])


def test_draws_of_the_default_graph_seed() -> None:
    attrs = {"dtype": "float32", "seed": 87654321, "seed2": 42}
    expected = {
        "RandomUniform": [0.95227146, 0.67740774, 0.79531825, 0.75578177],
        "TruncatedNormal": [-0.28077507, -0.13775212, -0.6763296, 0.02458041],
    }
    with tf.Graph().as_default(), tf.Session() as session:
        for op_type, values in expected.items():
            drawn = build(op_type, [np.array([4], np.int32)], attrs)[0]
            np.testing.assert_allclose(session.run(drawn), values, rtol=2e-7)
