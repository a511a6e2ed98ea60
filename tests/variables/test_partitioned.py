"""Variables in parts."""

import numpy as np
import pytest

import stillflow as tf

WHOLE = np.arange(10, dtype=np.float32).reshape(5, 2)


def parts_of(partitioner, **options):
    return tf.get_variable("w", initializer=tf.constant(WHOLE), partitioner=partitioner, **options)


@pytest.mark.parametrize(
    ("partitioner", "sizes"),
    [
        (tf.fixed_size_partitioner(2), [3, 2]),
        (tf.fixed_size_partitioner(9), [1] * 5),
        (tf.variable_axis_size_partitioner(16), [2, 2, 1]),
        (tf.variable_axis_size_partitioner(16, max_shards=2), [3, 2]),
        (tf.min_max_variable_partitioner(3, min_slice_size=8), [2, 2, 1]),
        (tf.min_max_variable_partitioner(3, min_slice_size=100), [5]),
    ],
)
def test_partitioners_cut_rows_evenly(partitioner, sizes):
    parts = parts_of(partitioner)
    assert [part.shape.as_list()[0] for part in parts] == sizes
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        np.testing.assert_array_equal(session.run(tf.convert_to_tensor(parts)), WHOLE)


@pytest.mark.parametrize("use_resource", [False, True], ids=["reference", "resource"])
def test_parts_are_assigned_together(use_resource):
    parts = parts_of(tf.fixed_size_partitioner(2), use_resource=use_resource)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        session.run(parts.assign(tf.constant(WHOLE * 2)))
        session.run(parts.assign_add([tf.ones([3, 2]), tf.zeros([2, 2])]))
        result = session.run(parts.as_tensor())
    np.testing.assert_array_equal(result, WHOLE * 2 + np.array([[1]] * 3 + [[0]] * 2))


def test_initializers_see_their_place():
    seen = []

    def initializer(shape, dtype, partition_info):
        seen.append((shape, partition_info.full_shape, partition_info.single_offset(shape)))
        return tf.zeros(shape, dtype)

    tf.get_variable("v", [5, 2], initializer=initializer, partitioner=tf.fixed_size_partitioner(2))
    assert seen == [([3, 2], [5, 2], 0), ([2, 2], [5, 2], 3)]


def test_reuse_finds_the_same_parts():
    with tf.variable_scope("s", reuse=tf.AUTO_REUSE):
        first = parts_of(tf.fixed_size_partitioner(2))
        assert parts_of(tf.fixed_size_partitioner(2)) is first
        with pytest.raises(ValueError, match="specified partitions"):
            parts_of(tf.fixed_size_partitioner(3))
        with pytest.raises(ValueError, match="a partitioned version of the variable was found"):
            tf.get_variable("w", [5, 2])


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (2, "Partitioner must return a sequence"),
        ([2], "does not match the Variable's rank"),
        ([0, 1], "returned zero partitions"),
        ([2, 2], "Can only slice a variable along one dimension"),
    ],
)
def test_partitioners_that_make_no_sense_are_refused(answer, message):
    with pytest.raises(ValueError, match=message):
        parts_of(lambda shape, dtype: answer)
