"""Programs on a CUDA device, real or simulated: the same losses as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import stillflow as tf

pytestmark = pytest.mark.usefixtures("cuda")


def random() -> np.random.RandomState:
    return np.random.RandomState(0)


def perceptron():
    x, y = tf.placeholder(tf.float32, [None, 20]), tf.placeholder(tf.int32, [None])
    hidden = tf.layers.batch_normalization(tf.layers.dense(x, 16, tf.nn.relu), training=True)
    loss = tf.losses.sparse_softmax_cross_entropy(y, tf.layers.dense(hidden, 5))
    feeds = {x: random().rand(32, 20), y: random().randint(0, 5, 32)}
    return loss, tf.train.AdamOptimizer(0.01).minimize(loss), feeds


def convolutional():
    x, y = tf.placeholder(tf.float32, [None, 12, 12, 2]), tf.placeholder(tf.int64, [None])
    hidden = tf.layers.max_pooling2d(tf.layers.conv2d(x, 8, 3, activation=tf.nn.relu), 2, 2)
    loss = tf.losses.sparse_softmax_cross_entropy(y, tf.layers.dense(tf.layers.flatten(hidden), 4))
    feeds = {x: random().rand(16, 12, 12, 2), y: random().randint(0, 4, 16)}
    return loss, tf.train.MomentumOptimizer(0.05, 0.9).minimize(loss), feeds


def recurrent():
    x = tf.placeholder(tf.float32, [None, 7, 6])
    lengths = tf.placeholder(tf.int32, [None])
    outputs, _ = tf.nn.dynamic_rnn(
        tf.nn.rnn_cell.LSTMCell(8), x, sequence_length=lengths, dtype=tf.float32
    )
    loss = tf.reduce_mean((outputs[:, -1] - 0.5) ** 2)
    feeds = {x: random().rand(5, 7, 6), lengths: [7, 3, 0, 5, 7]}
    return loss, tf.train.GradientDescentOptimizer(0.5).minimize(loss), feeds


def embedding():
    ids = tf.placeholder(tf.int32, [None])
    table = tf.get_variable("table", [50, 8])
    loss = tf.reduce_mean(tf.nn.embedding_lookup(table, ids) ** 2)
    return loss, tf.train.AdagradOptimizer(0.5).minimize(loss), {ids: [3, 3, 49, 0]}


def losses(build, **config):
    with tf.Graph().as_default():
        tf.set_random_seed(1)
        loss, step, feeds = build()
        with tf.Session(config=tf.ConfigProto(**config)) as session:
            session.run(tf.global_variables_initializer())
            return [session.run([loss, step], feeds)[0] for _ in range(10)]


@pytest.mark.parametrize("build", [perceptron, convolutional, recurrent, embedding])
def test_learns_as_on_the_cpu(build):
    expected = losses(build, device_count={"GPU": 0})
    np.testing.assert_allclose(losses(build), expected, rtol=1e-3)
    assert expected[-1] < expected[0]


@pytest.mark.parametrize("build", [perceptron, convolutional, recurrent])
def test_learns_the_same_by_graphs(build, monkeypatch):
    found = []
    replay = torch.cuda.CUDAGraph.replay
    monkeypatch.setattr(torch.cuda.CUDAGraph, "replay", lambda self: found.append(replay(self)))
    monkeypatch.setenv("STILLFLOW_CUDA_GRAPHS", "0")
    expected = losses(build)
    assert not found
    monkeypatch.delenv("STILLFLOW_CUDA_GRAPHS")
    np.testing.assert_allclose(losses(build), expected, rtol=1e-4)
    assert found


def test_variables_live_where_they_are_placed():
    with tf.Graph().as_default():
        with tf.device("/gpu:0"):
            there = tf.Variable(tf.ones([3]), name="there")
        with tf.device("/cpu:0"):
            here = tf.Variable(tf.ones([3]), name="here")
        total = there + here
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            assert list(session.run(total)) == [2.0, 2.0, 2.0]
            objects = session._resources._objects
            kinds = {
                key[2]: thing.value.device.type
                for key, thing in objects.items() if hasattr(thing, "value")
            }  # fmt: skip
    assert kinds == {"there": "cuda", "here": "cpu"}


def test_checkpoints_go_from_one_device_to_the_other(tmp_path):
    path = str(tmp_path / "model")
    with tf.Graph().as_default():
        tf.Variable(tf.range(4.0), name="v")
        saver = tf.train.Saver()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            saver.save(session, path)
        with tf.Session(config=tf.ConfigProto(device_count={"GPU": 0})) as session:
            saver.restore(session, path)
            assert list(session.run("v:0")) == [0.0, 1.0, 2.0, 3.0]


def test_what_a_gpu_has_no_kernels_for_runs_on_the_host():
    with tf.Graph().as_default(), tf.Session() as session:
        numbers = tf.placeholder(tf.int32, [4])
        largest = tf.segment_max(numbers, [0, 0, 1, 1])
        band = tf.matrix_band_part(tf.cast(tf.reshape(numbers, [2, 2]), tf.uint16), 0, 0)
        found = session.run([largest, band], {numbers: [1, 5, 3, 2]})
    np.testing.assert_array_equal(found[0], [5, 3])
    np.testing.assert_array_equal(found[1], [[1, 0], [0, 2]])


def test_ragged_tensors_are_elements_of_datasets():
    with tf.Graph().as_default(), tf.Session() as session:
        rows = tf.ragged.constant([[1.0, 2.0], [], [3.0]])
        data = tf.data.Dataset.from_tensors(rows).repeat(2)
        element = tf.data.make_one_shot_iterator(data).get_next()
        total = tf.reduce_sum(element.flat_values)
        assert [session.run(total) for _ in range(2)] == [6.0, 6.0]
