"""Plans over several devices: what is moved, and where things are."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from tests.simulated_cuda import simulated_cuda

import stillflow as tf
from stillflow.runtime.devices.devices import pretend_gpus, session_devices
from stillflow.runtime.devices.moves import Moves
from stillflow.runtime.ir.steps import Memory, Value
from stillflow.runtime.plan import emit

META = torch.device("meta")


@pytest.fixture
def moved(monkeypatch):
    """Two GPUs; gives the moves of all plans, as (operation, target)."""
    found = []
    plain = emit._WRITERS["move"]

    def move(emitter, step):
        found.append((step.op.type, step.arguments[0].type))
        plain(emitter, step)

    monkeypatch.setitem(emit._WRITERS, "move", move)
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "1")
    monkeypatch.setenv("STILLFLOW_CUDA_GRAPHS", "0")  # which would move by themselves
    with simulated_cuda(2), tf.Graph().as_default():
        yield found


def train(op, feeds, steps=2):
    """Run some steps; give the devices of the variables by name."""
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(steps):
            session.run(op, feeds)
        objects = session._resources._objects
        return {
            name: thing.value.device.type
            for (_, _, name), thing in objects.items() if hasattr(thing, "value")
        }  # fmt: skip


def test_a_perceptron_trains_on_the_gpu(moved):
    x = tf.placeholder(tf.float32, [None, 20])
    y = tf.placeholder(tf.int32, [None])
    hidden = tf.layers.dense(x, 16, tf.nn.relu)
    hidden = tf.nn.dropout(tf.layers.batch_normalization(hidden, training=True), 0.5)
    loss = tf.losses.sparse_softmax_cross_entropy(y, tf.layers.dense(hidden, 5))
    step = tf.train.AdamOptimizer().minimize(loss, tf.train.create_global_step())
    places = train(step, {x: np.ones((8, 20), np.float32), y: np.zeros(8, np.int32)})
    assert places.pop("global_step") == "cpu"  # where a program asks for it
    assert set(places.values()) == {"cuda"}
    assert {target for _, target in moved} == {"cuda"}  # nothing comes back


def test_a_convolutional_net_trains_on_the_gpu(moved):
    x = tf.placeholder(tf.float32, [None, 28, 28, 1])
    y = tf.placeholder(tf.int64, [None])
    hidden = tf.layers.max_pooling2d(tf.layers.conv2d(x, 8, 3, activation=tf.nn.relu), 2, 2)
    hidden = tf.layers.max_pooling2d(tf.layers.conv2d(hidden, 8, 3, padding="same"), 2, 2)
    logits = tf.layers.dense(tf.layers.flatten(hidden), 10)
    loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
    step = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    places = train(step, {x: np.ones((8, 28, 28, 1), np.float32), y: np.zeros(8, np.int64)})
    assert set(places.values()) == {"cuda"}


def test_a_recurrent_net_keeps_its_counters_on_the_host(moved):
    x = tf.placeholder(tf.float32, [None, 7, 12])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(8), x, dtype=tf.float32)
    step = tf.train.AdamOptimizer().minimize(tf.reduce_sum(outputs[:, -1] ** 2))
    places = train(step, {x: np.ones((4, 7, 12), np.float32)})
    assert set(places.values()) == {"cuda"}
    assert {op for op, target in moved if target == "cuda"} == {"Transpose"}  # the feed


def test_towers_share_weights_on_the_host(moved):
    x = tf.placeholder(tf.float32, [8, 4])
    gradients = []
    with tf.device("/cpu:0"):
        w = tf.get_variable("w", [4, 2])
    for number, part in enumerate(tf.split(x, 2)):
        with tf.device(f"/gpu:{number}"):
            loss = tf.reduce_sum(tf.matmul(part, w) ** 2)
            gradients.append(tf.gradients(loss, w)[0])
    with tf.device("/cpu:0"):
        mean = tf.add_n(gradients) / 2.0
    step = tf.train.GradientDescentOptimizer(0.1).apply_gradients([(mean, w)])
    assert train(step, {x: np.ones((8, 4), np.float32)}) == {"w": "cpu"}
    assert ("AddN", "cpu") in moved
    assert ("MatMul", "cuda") in moved


def test_what_only_the_host_can_do_gets_its_values_there(moved):
    x = tf.placeholder(tf.float32, [2])
    doubled = tf.py_func(lambda v: v + 1, [x * 2.0], tf.float32)
    result = tf.as_string(doubled)
    with tf.Session() as session:
        assert list(session.run(result, {x: [1.0, 2.0]})) == [b"3.000000", b"5.000000"]
    assert ("PyFunc", "cpu") in moved


def test_shapes_are_read_without_moving_what_has_them(moved):
    x = tf.placeholder(tf.float32, [None, 3])
    y = tf.square(x)
    flat = tf.reshape(y, [tf.shape(y)[0] * 3])
    with tf.Session() as session:
        assert session.run([tf.shape(y), flat], {x: np.ones((4, 3))})[1].shape == (12,)
    assert moved == [("Square", "cuda"), ("Reshape", "cpu")]  # the fetch comes back


def test_a_value_is_moved_once_for_all_that_take_it(moved):
    x = tf.placeholder(tf.float32, [3])
    with tf.Session() as session:
        session.run([(x + 1.0) * x, tf.square(x)], {x: [1.0, 2.0, 3.0]})
    assert moved == [("AddV2", "cuda"), ("Mul", "cpu"), ("Square", "cpu")]


def test_branches_and_loops_by_tokens_find_their_values(moved):
    x = tf.placeholder(tf.float32, [])
    chosen = tf.cond(tf.constant(True), lambda: x * 2.0, lambda: tf.py_func(np.sin, [x], x.dtype))
    assert tf.Session().run(chosen, {x: 1.0}) == 2.0


def test_where_all_devices_are_the_host_nothing_is_moved(monkeypatch):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "1")
    with pretend_gpus(1), tf.Graph().as_default(), tf.device("/gpu:0"):
        y = tf.square(tf.constant([3.0]))
        with tf.Session() as session:
            assert session.run(y) == [9.0]
            assert not session._resources.several


def test_a_constant_is_moved_when_the_plan_is_made():
    graph = tf.Graph()
    with graph.as_default():
        taken = tf.square(tf.placeholder(tf.float32)).op
    constants = {"c1": torch.ones(3)}
    steps = []
    made = constants, Memory(), steps, lambda prefix: f"{prefix}9"
    moves = Moves(lambda op: META, lambda tensor: None, *made)
    value = moves.bring(Value("c1"), taken.inputs[0], taken)
    assert value.name == "c9" and constants["c9"].device == META and not steps


def test_the_log_names_the_gpus_of_a_session(monkeypatch, capfd):
    monkeypatch.delenv("TF_CPP_MIN_LOG_LEVEL", raising=False)
    with pretend_gpus(1), tf.Graph().as_default():
        tf.Session().run(tf.no_op())
    assert (
        "Created TensorFlow device (/job:localhost/replica:0/task:0/device:GPU:0 with 1024 MB "
        "memory) -> physical GPU (device: 0, name: pretended)" in capfd.readouterr().err
    )


class TestVisibleDevices:
    def names(self, wanted, there=3, **options):
        config = tf.ConfigProto(**options)
        config.gpu_options.visible_device_list = wanted
        with pretend_gpus(there):
            return [d.description[:9] for d in session_devices(config) if d.device_type == "GPU"]

    def test_are_taken_in_their_order(self):
        assert self.names("2,0") == ["device: 2", "device: 0"]
        assert self.names("", device_count={"GPU": 1}) == ["device: 0"]
        assert self.names("", device_count={"GPU": 0}) == []

    @pytest.mark.parametrize(
        ("wanted", "message"),
        [("x", "Could not parse entry"), ("3", "listed an invalid GPU id '3'")],
    )
    def test_must_be_there(self, wanted, message):
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            self.names(wanted)

    def test_need_not_be_there_if_none_is_used(self):
        assert self.names("7", device_count={"GPU": 0}) == []
        assert self.names("0", there=0) == self.names("x", there=0) == []

    def test_have_a_part_of_their_memory(self):
        config = tf.ConfigProto()
        config.gpu_options.per_process_gpu_memory_fraction = 0.25
        with pretend_gpus(1):
            assert session_devices(config)[1].memory_limit_bytes == 1 << 28
