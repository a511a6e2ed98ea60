"""Collective operations, which work together within a run."""

from __future__ import annotations

import pytest

import stillflow as tf
from stillflow.functional.polymorphic import defun
from stillflow.ops import collective


def reduced(devices, values, size=None):
    made = []
    for name, value in zip(devices, values, strict=True):
        with tf.device(name):
            x = tf.constant(value) * 2.0
            made.append(collective.all_reduce(x, size or len(devices), 1, 1, "Add", "Id"))
    return made


@pytest.mark.usefixtures("graph")
def test_a_group_that_is_not_whole_is_refused():
    first, _ = reduced(["/cpu:0", "/cpu:1"], [1.0, 2.0])
    three = reduced(["/cpu:0", "/cpu:1"], [1.0, 2.0], size=3)
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        with pytest.raises(tf.errors.UnimplementedError, match="1 of the 2 operations of its"):
            session.run(first)
        with pytest.raises(tf.errors.UnimplementedError, match="of the 3 operations of its"):
            session.run(three)


@pytest.mark.usefixtures("graph")
def test_groups_work_in_functions_and_are_fed():
    @defun
    def body(x):
        with tf.device("/cpu:0"):
            one = collective.all_reduce(tf.identity(x), 2, 1, 1, "Mul", "Id")
        with tf.device("/cpu:1"):
            other = collective.all_reduce(x + 1.0, 2, 1, 1, "Mul", "Id")
        return one + other

    result = body(tf.constant(3.0))
    first, second = reduced(["/cpu:0", "/cpu:1"], [1.0, 2.0])
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        assert session.run(result) == 24.0
        assert session.run([second, first]) == [6.0, 6.0]
        assert session.run([first, second], {second.op.inputs[0]: 5.0}) == [7.0, 7.0]
        assert session.run(second * 1.0, {first: 0.0, second: 4.0}) == 4.0


def test_members_may_be_of_several_tasks():
    workers, _ = tf.test.create_local_cluster(num_workers=2, num_ps=1)
    with tf.Graph().as_default():
        made = reduced(["/job:worker/task:0", "/job:worker/task:1"], [[1.0, 2.0], [3.0, 4.0]])
        with tf.Session(workers[0].target) as session:
            assert [value.tolist() for value in session.run(made)] == [[8.0, 12.0]] * 2


@pytest.mark.usefixtures("graph")
def test_rows_of_a_group_have_one_shape():
    made = []
    for number, rows in enumerate(([1.0, 2.0], [3.0])):
        with tf.device(f"/cpu:{number}"):
            made.append(collective.all_gather(tf.constant(rows), 2, 1, 7))
    with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match=r"Shape mismatch in the collective instance 7. Op at device \S+CPU:1 expected "
            r"shape \[2\] but another member in the group expected shape \[4\]",
        ):
            session.run(made)
