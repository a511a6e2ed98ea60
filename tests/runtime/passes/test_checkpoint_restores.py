"""Reading a checkpoint straight into variables."""

from __future__ import annotations

import os

import numpy as np
import pytest

import stillflow as tf
from stillflow.ops.io import restoring
from stillflow.runtime.devices.devices import gpu_count

pytestmark = pytest.mark.usefixtures("graph", "either_way")  # each test builds one of its own

TYPES = [
    "float32", "float64", "float16", "bfloat16", "int8", "int16", "int32", "int64", "uint8",
    "uint16", "bool", "complex64", "complex128",
]  # fmt: skip
SHAPES = [(), (0,), (3,), (3,), (2, 5), (70, 300), (1200, 1000)]


@pytest.fixture
def joined(monkeypatch):
    """Return the calls of `restoring.restore`, and what they gave back."""
    results = []
    function = restoring.restore

    def counted(*args):
        results.append(function(*args))
        return results[-1]

    monkeypatch.setattr(restoring, "restore", counted)
    return results


def variables():
    numbers = np.random.RandomState(0)
    made = {}
    for dtype in TYPES:
        for place, shape in enumerate(SHAPES if dtype == "float32" else SHAPES[:6]):
            value = numbers.randint(0, 2 if dtype == "bool" else 100, shape)
            made[f"{dtype}_{place}"] = tf.cast(tf.constant(value), dtype)
    return {name: tf.Variable(value, name=name) for name, value in made.items()}


@pytest.mark.parametrize("initialised", [True, False])
def test_every_type_and_shape_comes_back(joined, tmp_path, initialised):
    made = variables()
    saver = tf.train.Saver(made)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(made)
        path = saver.save(session, str(tmp_path / "model"))
    changed = [
        tf.assign(v, tf.zeros_like(v)) for v in made.values() if v.dtype.base_dtype != tf.bool
    ]
    with tf.Session() as session:
        if initialised:
            session.run(tf.global_variables_initializer())
            session.run(changed)
        saver.restore(session, path)
        after = session.run(made)
    assert joined == [True] or gpu_count()
    for name in made:
        np.testing.assert_array_equal(after[name], before[name], err_msg=name)


@pytest.mark.parametrize("count", [1, 5])
def test_memory_stays_that_of_the_variable(tmp_path, count):
    made = [tf.Variable(tf.ones([4]), name=f"v{number}") for number in range(count)]
    bump = [tf.assign_add(v, tf.ones([4])) for v in made]
    saver = tf.train.Saver(made)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
        session.run(bump)
        saver.restore(session, path)
        session.run(bump)
        assert [value.tolist() for value in session.run(made)] == [[2.0] * 4] * count


@pytest.mark.parametrize("initialised", [True, False])
@pytest.mark.parametrize("side", [4, 300])
def test_a_damaged_checkpoint_changes_nothing(tmp_path, initialised, side):
    made = [tf.Variable(tf.fill([side, side], 1.0 * n), name=f"v{n}") for n in range(8)]
    saver = tf.train.Saver(made)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
    data = f"{path}.data-00000-of-00001"
    with open(data, "r+b") as file:
        file.seek(os.path.getsize(data) - 2)
        file.write(b"?")
    with tf.Session() as session:
        if initialised:
            session.run([tf.assign(v, v.initial_value + 10.0) for v in made])
        with pytest.raises(tf.errors.DataLossError, match="of v7"):
            saver.restore(session, path)
        missing = session.run(tf.report_uninitialized_variables())
        assert len(missing) == (0 if initialised else 8)
        if initialised:
            assert [value[0, 0] for value in session.run(made)] == [10.0 + n for n in range(8)]


def test_another_shape_is_refused_by_its_assignment(joined, tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        made = [tf.Variable(tf.zeros([4]), name="a"), tf.Variable(tf.zeros([5]), name="b")]
        session.run(tf.global_variables_initializer())
        path = tf.train.Saver(made).save(session, str(tmp_path / "model"))
    made = [tf.Variable(tf.zeros([4]), name="a"), tf.Variable(tf.zeros([6]), name="b")]
    saver = tf.train.Saver(made)
    with (
        tf.Session() as session,
        pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"lhs shape= \[6\] rhs shape= \[5\](?s:.*)Assign_1",
        ),
    ):
        saver.restore(session, path)
    assert joined == [False] or gpu_count()


def test_values_that_somebody_else_takes_are_read_for_themselves(joined, tmp_path):
    v = tf.Variable([1.0, 2.0], name="v")
    saver = tf.train.Saver([v])
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
        read = tf.raw_ops.RestoreV2(
            prefix=path, tensor_names=["v"], shape_and_slices=[""], dtypes=[tf.float32]
        )[0]
        twice = read * 2.0
        assign = tf.assign(v, read)
        assert [x.tolist() for x in session.run([twice, assign])] == [[2.0, 4.0], [1.0, 2.0]]
    assert joined == []


def test_strings_and_parts_come_with_the_rest(joined, tmp_path):
    made = [
        tf.Variable([b"one", b"two"], name="text"),
        tf.Variable(tf.ones([3]), name="plain"),
        *tf.get_variable(
            "parts", [10, 2], initializer=tf.ones_initializer(),
            partitioner=tf.fixed_size_partitioner(3),
        ),
    ]  # fmt: skip
    saver = tf.train.Saver(made)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
    with tf.Session() as session:
        saver.restore(session, path)
        text, plain, *parts = session.run(made)
    assert text.tolist() == [b"one", b"two"] and plain.tolist() == [1.0] * 3
    assert sum(part.sum() for part in parts) == 20.0
    assert joined == []


def test_a_traced_run_tells_of_every_assignment(tmp_path):
    made = [tf.Variable(tf.ones([3]), name=f"v{n}") for n in range(3)]
    saver = tf.train.Saver(made)
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        path = saver.save(session, str(tmp_path / "model"))
        session.run(
            saver.saver_def.restore_op_name,
            {saver.saver_def.filename_tensor_name: path},
            tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE),
            metadata,
        )
    names = {node.node_name for dev in metadata.step_stats.dev_stats for node in dev.node_stats}
    assert {"save/RestoreV2", "save/Assign", "save/Assign_1", "save/Assign_2"} <= names


def test_tensors_of_a_checkpoint_are_fetched(tmp_path):
    prefix, names = (
        str(tmp_path / "model"),
        {"tensor_names": ["x", "y"], "shape_and_slices": ["", ""]},
    )
    restored = tf.raw_ops.RestoreV2(prefix=prefix, dtypes=[tf.float32] * 2, **names)
    with tf.Session() as session:
        session.run(tf.raw_ops.SaveV2(prefix=prefix, tensors=[[1.0], [2.0]], **names))
        assert session.run(restored) == [[1.0], [2.0]]
        assert session.run(restored[1]) == [2.0]
        variable = tf.Variable([0.0])
        session.run(variable.initializer)
        assert session.run([variable.assign(restored[0]), restored[1]]) == [[1.0], [2.0]]
