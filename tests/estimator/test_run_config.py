"""RunConfig: its defaults, its checks, and the cluster that TF_CONFIG describes."""

from __future__ import annotations

import json

import pytest

import stillflow as tf

CLUSTER = {"chief": ["c:1"], "worker": ["w:1", "w:2"], "ps": ["p:1"]}
MASTER = {"master": ["m:1"], "worker": ["w:1"], "ps": ["p:1", "p:2"]}


@pytest.fixture
def task(monkeypatch):
    def set_task(cluster, kind, index):
        value = {"cluster": cluster, "task": {"type": kind, "index": index}}
        monkeypatch.setenv("TF_CONFIG", json.dumps(value))
        return tf.estimator.RunConfig()

    return set_task


def test_saves_every_ten_minutes_unless_told_otherwise():
    config = tf.estimator.RunConfig
    intervals = {
        (c.save_checkpoints_steps, c.save_checkpoints_secs)
        for c in (config(), config(save_checkpoints_steps=5), config(save_checkpoints_secs=7))
    }
    assert intervals == {(None, 600), (5, None), (None, 7)}
    changed = config(save_checkpoints_secs=7).replace(save_checkpoints_steps=3)
    assert (changed.save_checkpoints_steps, changed.save_checkpoints_secs) == (3, None)


BAD = [
    ({"save_checkpoints_steps": 1, "save_checkpoints_secs": 1}, "cannot be both set"),
    ({"save_summary_steps": -1}, "save_summary_steps should be >= 0"),
    ({"keep_checkpoint_every_n_hours": 0}, "keep_checkpoint_every_n_hours should be > 0"),
    ({"log_step_count_steps": 0}, "log_step_count_steps should be > 0"),
    ({"tf_random_seed": 1.5}, "tf_random_seed must be integer"),
    ({"session_config": {}}, "session_config must be instance of ConfigProto"),
    ({"protocol": "http"}, "protocol should be grpc"),
    ({"device_fn": lambda x: x}, "with exactly one argument"),
    ({"model_dir": ""}, "model_dir should be non-empty"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_refuses(arguments, message):
    with pytest.raises(ValueError, match=message):
        tf.estimator.RunConfig(**arguments)


def test_replaces_only_what_may_be():
    with pytest.raises(ValueError, match="Replacing master is not supported"):
        tf.estimator.RunConfig().replace(master="")


def test_a_master_trains_without_a_coordinator(monkeypatch):
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    cluster = {"cluster": MASTER, "task": {"type": "master", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(cluster))
    config = tf.estimator.RunConfig(model_dir="m", train_distribute=strategy)
    assert config._distribute_coordinator_mode is None
    assert (config.task_type, config.master) == ("master", "grpc://m:1")


def test_a_process_on_its_own_is_the_chief():
    config = tf.estimator.RunConfig()
    assert (config.is_chief, config.task_type, config.task_id) == (True, "worker", 0)
    assert (config.master, config.num_worker_replicas, config.num_ps_replicas) == ("", 1, 0)


@pytest.mark.parametrize(
    ("cluster", "kind", "index", "expected"),
    [
        (CLUSTER, "chief", 0, (True, "grpc://c:1", 0, 3, 1)),
        (CLUSTER, "worker", 1, (False, "grpc://w:2", 2, 3, 1)),
        (CLUSTER, "ps", 0, (False, "grpc://p:1", 3, 3, 1)),
        (CLUSTER, "evaluator", 0, (False, "", None, 0, 0)),
        (MASTER, "master", 0, (True, "grpc://m:1", 0, 2, 2)),
        (MASTER, "ps", 1, (False, "grpc://p:2", 3, 2, 2)),
        ({"chief": ["c:1"]}, "chief", 0, (True, "", 0, 1, 0)),
    ],
)
def test_knows_its_place_in_a_cluster(task, cluster, kind, index, expected):
    config = task(cluster, kind, index)
    assert expected == (
        config.is_chief, config.master, config.global_id_in_cluster, config.num_worker_replicas,
        config.num_ps_replicas,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("cluster", "kind", "index", "message"),
    [
        ({"worker": ["w:1"]}, "worker", 0, 'must have one "chief" node'),
        ({"chief": ["c:1", "c:2"]}, "chief", 0, 'must have only one "chief" node'),
        (CLUSTER, None, 0, "task type must be set"),
        (CLUSTER, "chief", None, "task index must be set"),
        (CLUSTER, "worker", -1, "must be non-negative"),
        (CLUSTER, "worker", 2, "2 is not a valid task_id"),
        (CLUSTER, "other", 0, "other is not a valid task_type"),
        ({**CLUSTER, **MASTER}, "chief", 0, "job `chief` is not supported"),
        (MASTER, "evaluator", 0, "`evaluator` is not supported"),
        ({}, "chief", 0, "task type must be WORKER"),
        ({}, "worker", 1, "task index must be 0"),
    ],
)
def test_refuses_a_task_that_does_not_fit(task, cluster, kind, index, message):
    with pytest.raises(ValueError, match=message):
        task(cluster, kind, index)


def test_workers_see_servers_and_themselves(task):
    filters = task(CLUSTER, "worker", 1).session_config.device_filters
    assert list(filters) == ["/job:ps", "/job:worker/task:1"]


def test_the_folder_may_come_from_the_environment(monkeypatch):
    monkeypatch.setenv("TF_CONFIG", json.dumps({"model_dir": "there"}))
    assert tf.estimator.RunConfig().model_dir == "there"
    with pytest.raises(ValueError, match="must have the same value"):
        tf.estimator.RunConfig("elsewhere")
