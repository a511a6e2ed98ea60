"""Clusters, and variables spread over parameter servers."""

import pytest

import stillflow as tf


def test_a_cluster_is_described_by_lists_or_indices():
    spec = tf.train.ClusterSpec({"ps": ["a:1", "b:1"], "worker": {3: "c:1"}})
    assert spec.jobs == ["ps", "worker"]
    assert spec.as_dict() == {"ps": ["a:1", "b:1"], "worker": {3: "c:1"}}
    assert (spec.num_tasks("worker"), spec.task_indices("worker")) == (1, [3])
    assert spec.job_tasks("worker") == [None, None, None, "c:1"]
    assert spec.task_address("ps", 1) == "b:1"
    assert tf.train.ClusterSpec(spec) == tf.train.ClusterSpec(spec.as_cluster_def()) == spec
    assert str(spec) == "ClusterSpec({'ps': ['a:1', 'b:1'], 'worker': {3: 'c:1'}})"


def test_what_is_not_in_a_cluster_is_refused():
    spec = tf.train.ClusterSpec({"ps": ["a:1"]})
    with pytest.raises(ValueError, match="No such job in cluster: 'worker'"):
        spec.num_tasks("worker")
    with pytest.raises(ValueError, match="No task with index 5 in job 'ps'"):
        spec.task_address("ps", 5)
    with pytest.raises(TypeError, match="must be a dictionary"):
        tf.train.ClusterSpec(["a:1"])
    with pytest.raises(TypeError, match="must be bytes or unicode"):
        tf.train.ClusterSpec({"ps": [1]})


def test_state_goes_round_the_parameter_servers():
    with tf.device(tf.train.replica_device_setter(cluster={"ps": ["a:1", "b:1"]})):
        variables = [tf.Variable(1.0, use_resource=kind) for kind in (False, True, False)]
        total = tf.add_n(variables)
    assert [v.device for v in variables] == ["/job:ps/task:0", "/job:ps/task:1", "/job:ps/task:0"]
    assert total.device == "/job:worker"


def test_devices_merge_with_those_inside():
    setter = tf.train.replica_device_setter(1, worker_device="/job:worker/task:7")
    with tf.device(setter), tf.device("/gpu:0"):
        assert tf.constant(1).device == "/job:worker/task:7/device:GPU:0"
        assert tf.Variable(1).device == "/job:ps/task:0/device:GPU:0"


def test_without_parameter_servers_there_is_no_setter():
    assert tf.train.replica_device_setter() is None
    assert tf.train.replica_device_setter(cluster={"worker": ["a:1"]}) is None
    with pytest.raises(TypeError, match="ps_strategy must be callable"):
        tf.train.replica_device_setter(1, ps_strategy=0)
