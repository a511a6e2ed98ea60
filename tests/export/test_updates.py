"""Updates of variables as modules of PyTorch: results and variables are those of the session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow.export import ExportError, to_onnx, to_pt2, to_torch
from stillflow.export.naming import keys_of
from stillflow.export.verification import Comparison, _compare_one
from stillflow.graph.card import load_all

LISTED = Path(__file__).with_name("exported_updates.txt")
NAMES = LISTED.read_text(encoding="utf-8").split()
_SHAPE = (4, 3)
_ROWS = [2, 0, 2]
# Inputs that are the same for all operations that have them; others are rates.
_INPUTS: dict[str, Any] = {
    "indices": _ROWS, "begin": [1, 0], "end": [3, 2], "strides": [1, 1], "global_step": 3,
    "lr_power": -0.5, "resource_id": 0,
}  # fmt: skip
_ATTRIBUTES: dict[str, dict[str, Any]] = {
    "CountUpTo": {"limit": 9}, "ResourceCountUpTo": {"limit": 9, "T": tf.int32},
    "SdcaShrinkL1": {"l1": 0.1, "l2": 0.2},
}  # fmt: skip


def _is_handle(argument: Any) -> bool:
    return argument.is_ref or (argument.dtype is not None and argument.dtype.name == "resource")


def _variables(name: str, count: int, rng: Any) -> list[Any]:
    is_resource = name.startswith("Resource") or "VariableOp" in name
    values = [rng.uniform(0.5, 1.5, _SHAPE).astype("f") for _ in range(count)]
    if "CountUpTo" in name:
        values = [np.int32(3)]
    return [tf.Variable(value, use_resource=is_resource) for value in values]


def _given(name: str, argument: str, rng: Any) -> Any:
    """Return the value of an argument that is no variable."""
    by_row = "Sparse" in name or ("Scatter" in name and "Nd" not in name)
    if argument == "indices" and "Nd" in name:
        return [[2, 1], [0, 2]] if name == "ScatterAddNdim" else [[2], [0]]
    if argument == "deltas":
        return [0.5, 0.25]
    if argument in _INPUTS:
        return _INPUTS[argument]
    if argument in ("grad", "delta", "updates", "value"):
        parts = {"Nd": (2, 3), "Slice": (2, 2)}
        shape = next((size for part, size in parts.items() if part in name), _SHAPE)
        return rng.uniform(0.1, 1, (3, 3) if by_row else shape).astype("f")
    return np.float32(rng.uniform(0.1, 0.9))


def _built(name: str, rng: Any) -> tuple[Any, list[Any]]:
    """Return the operation on new variables, and the variables."""
    card = load_all()[name]
    arguments = card.signature.inputs
    handles = [each for each in arguments if _is_handle(each)]
    variables = _variables(name, len(handles), rng)
    left = iter([v._ref() if each.is_ref else v.handle for v, each in zip(variables, handles)])
    given = [next(left) if _is_handle(each) else _given(name, each.name, rng) for each in arguments]
    if name == "SdcaShrinkL1":
        given = [given]
    return card(*given, **_ATTRIBUTES.get(name, {})), variables


@pytest.mark.parametrize("name", NAMES)
def test_an_update_goes_out(name: str) -> None:
    rng = np.random.default_rng(0)
    with tf.Graph().as_default(), tf.Session() as session:
        made, variables = _built(name, rng)
        session.run(tf.global_variables_initializer())
        before = session.run(variables)
        model = to_torch(session, [], [made])
        assert model.comparison.largest < 1e-6
        compared = {each.op.name for each in variables} & model.comparison.differences.keys()
        session.run(made if isinstance(made, tf.Operation) else made.op)
        changed = [
            not np.array_equal(a, b)
            for a, b in zip(before, session.run(variables), strict=True)
        ]  # fmt: skip
    assert compared and any(changed)


def training() -> tuple[Any, Any, Any, Any]:
    """Return the inputs, the loss and the training step of a model with moving averages."""
    x, y = tf.placeholder(tf.float32, [None, 3], "x"), tf.placeholder(tf.float32, [None], "y")
    hidden = tf.layers.dense(x, 4, use_bias=False)
    hidden = tf.layers.batch_normalization(hidden, training=True)
    loss = tf.reduce_mean(tf.square(tf.layers.dense(hidden, 1)[:, 0] - y))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        step = tf.train.AdamOptimizer(0.05).minimize(loss, tf.train.get_or_create_global_step())
    return x, y, loss, step


@pytest.mark.parametrize("resources", [False, True])
def test_a_training_step_is_the_same_step_by_step(resources: bool) -> None:
    rng = np.random.default_rng(1)
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.variable_scope("", use_resource=resources):
            x, y, loss, step = training()
        session.run(tf.global_variables_initializer())
        batches = [[rng.normal(size=s).astype("f") for s in ((6, 3), 6)] for _ in range(5)]
        samples = dict(zip((x.name, y.name), batches[0], strict=True))
        model = to_torch(session, [x, y], [loss, step], samples=samples)
        for batch in batches:
            wanted, _ = session.run([loss, step], dict(zip((x, y), batch, strict=True)))
            assert model(*map(torch.from_numpy, batch)).item() == pytest.approx(wanted, rel=1e-5)
        state, variables = model.state_dict(), {v.op.name: v for v in tf.global_variables()}
        for name, key in keys_of(variables).items():
            wanted = session.run(variables[name])
            np.testing.assert_allclose(state[key], wanted, rtol=1e-4, atol=1e-6)


def test_summaries_of_a_training_step_are_compared_by_their_numbers() -> None:
    rng = np.random.default_rng(1)
    with tf.Graph().as_default(), tf.Session() as session:
        x, y, loss, step = training()
        tf.summary.scalar("loss", loss)
        tf.summary.histogram("x", x * loss)
        merged = tf.summary.merge_all()
        session.run(tf.global_variables_initializer())
        batch = [rng.normal(size=size).astype("f") for size in ((6, 3), 6)]
        samples = dict(zip((x.name, y.name), batch, strict=True))
        model = to_torch(session, [x, y], [merged, step], samples=samples)
    assert model.comparison.differences[merged.name] < 1e-5
    written = model.comparison.outputs[merged.name]
    for change, least in (("loss", 0.1), ("tag", float("inf"))):
        other = tf.Summary.FromString(written.item())
        if change == "loss":
            other.value[0].simple_value += 1
        else:
            other.value[0].tag = "another"
        comparison = Comparison({}, {})
        _compare_one(comparison, "s", written, np.array(other.SerializeToString(), object))
        assert comparison.largest >= least


def test_a_training_step_of_a_loop_is_the_same_step_by_step() -> None:
    rng = np.random.default_rng(2)
    with tf.Graph().as_default(), tf.Session() as session:
        x, lengths = tf.placeholder(tf.float32, [None, 5, 3], "x"), tf.placeholder(tf.int32, [None])
        cell = tf.nn.rnn_cell.LSTMCell(4, initializer=tf.glorot_uniform_initializer(seed=1))
        outputs, state = tf.nn.dynamic_rnn(cell, x, lengths, dtype=tf.float32)
        loss = tf.reduce_mean(tf.square(outputs - 0.5)) + tf.reduce_mean(tf.square(state.h))
        step = tf.train.AdamOptimizer(0.05).minimize(loss)
        session.run(tf.global_variables_initializer())
        batches = [(rng.normal(size=(3, 5, 3)).astype("f"), np.int32([5, 2, 4])) for _ in range(4)]
        samples = dict(zip((x.name, lengths.name), batches[0], strict=True))
        model = to_torch(session, [x, lengths], [loss, step], samples=samples)
        for batch in batches:
            wanted, _ = session.run([loss, step], dict(zip((x, lengths), batch, strict=True)))
            assert model(*map(torch.from_numpy, batch)).item() == pytest.approx(wanted, rel=1e-4)


def test_a_value_read_before_an_update_stays() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=[1.0, 2.0], use_resource=True)
        before = v.read_value()
        with tf.control_dependencies([before]):
            added = v.assign_add([1.0, 1.0], read_value=False)
        with tf.control_dependencies([added]):
            after = v.read_value()
        session.run(v.initializer)
        model = to_torch(session, [], [before * 2.0, after, added])
        assert [each.tolist() for each in model()] == [[2.0, 4.0], [2.0, 3.0]]
        assert [each.tolist() for each in model()] == [[4.0, 6.0], [3.0, 4.0]]
        assert session.run(v).tolist() == [1.0, 2.0]


def test_files_of_other_formats_do_not_change_variables(tmp_path: Path) -> None:
    pytest.importorskip("onnxscript")
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=[1.0, 2.0])
        added = tf.assign_add(v, [1.0, 1.0])
        session.run(v.initializer)
        with pytest.raises(ExportError, match=r"\(AssignAdd\) changes a variable"):
            to_onnx(session, [], [added], str(tmp_path / "model.onnx"), verify=False)
        with pytest.raises(ExportError, match="cannot change variables"):
            to_pt2(session, [], [added], str(tmp_path / "model.pt2"))
