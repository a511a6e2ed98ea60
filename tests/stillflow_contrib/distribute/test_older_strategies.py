"""Strategies of `tf.contrib.distribute` count GPUs; creators of variables share a store."""

from __future__ import annotations

import json

import pytest

import stillflow as tf
from stillflow_contrib.distribute.shared_variables import make_fn

CLUSTER = {"worker": ["a:1", "b:1"], "ps": ["c:1"]}


@pytest.fixture
def second_worker(monkeypatch):
    task = {"cluster": CLUSTER, "task": {"type": "worker", "index": 1}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))


def test_copies_are_on_all_gpus_of_all_workers(second_worker):
    strategy = tf.contrib.distribute.CollectiveAllReduceStrategy(num_gpus_per_worker=2)
    assert strategy.num_replicas_in_sync == 4
    assert strategy.extended.worker_devices == tuple(
        f"/job:worker/replica:0/task:1/device:GPU:{index}" for index in range(2)
    )
    assert not strategy.extended.should_checkpoint


def test_variables_are_on_the_parameter_server(second_worker):
    strategy = tf.contrib.distribute.ParameterServerStrategy(num_gpus_per_worker=1)
    extended = strategy.extended
    assert extended.parameter_devices == ("/job:ps/task:0",)
    assert extended.worker_devices == ("/job:worker/replica:0/task:1/device:GPU:0",)
    assert not extended._global_batch_size


@pytest.mark.usefixtures("graph")
def test_replicas_find_the_variables_of_the_first_one():
    store = {}
    found = []
    for number in range(3):
        with tf.variable_creator_scope(make_fn(store, number)):
            found.append([tf.Variable(1.0, name="v"), tf.Variable(2.0, name="v")])
    assert found[0][0] is found[1][0] is found[2][0] and found[0][1] is found[2][1]
    with tf.variable_creator_scope(make_fn(store, 1)):
        with pytest.raises(RuntimeError, match="Tried to create variable w with mismatching name"):
            tf.Variable(1.0, name="w")
