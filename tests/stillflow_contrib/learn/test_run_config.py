"""The settings of `tf.contrib.learn`, and what TF_CONFIG adds to them."""

from __future__ import annotations

import json

import pytest

import stillflow as tf
from stillflow_contrib.learn.cluster_config import Environment
from stillflow_contrib.learn.run_config import RunConfig

_CLUSTER = {
    "environment": Environment.CLOUD,
    "cluster": {"master": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]},
    "task": {"type": "worker", "index": 1},
}


def test_a_process_on_its_own_is_the_chief() -> None:
    config = RunConfig()
    assert isinstance(config, tf.estimator.RunConfig)
    assert (config.task_type, config.task_id, config.master) == (None, 0, "")
    assert (config.is_chief, config.num_ps_replicas, config.num_worker_replicas) == (True, 0, 0)


def test_a_task_of_a_cluster_finds_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", json.dumps(_CLUSTER))
    config = RunConfig()
    assert (config.master, config.task_type, config.task_id) == ("grpc://c:1", "worker", 1)
    assert (config.is_chief, config.num_ps_replicas, config.num_worker_replicas) == (False, 1, 3)


def test_a_task_that_the_cluster_lacks_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    task = {"type": "worker", "index": 2}
    monkeypatch.setenv("TF_CONFIG", json.dumps({**_CLUSTER, "task": task}))
    with pytest.raises(ValueError, match="2 is not a valid task_id for task_type worker"):
        RunConfig()


@pytest.mark.parametrize(
    ("given", "secs", "steps"),
    [
        ({}, 600, None),
        ({"save_checkpoints_steps": 5}, None, 5),
        ({"save_checkpoints_secs": 7}, 7, None),
    ],
)
def test_one_interval_between_checkpoints(
    given: dict[str, int], secs: int | None, steps: int | None
) -> None:
    config = RunConfig(**given)
    assert (config.save_checkpoints_secs, config.save_checkpoints_steps) == (secs, steps)


def test_threads_and_memory_go_into_the_session_config() -> None:
    options = RunConfig(num_cores=3, gpu_memory_fraction=0.5).tf_config
    assert options.inter_op_parallelism_threads == options.intra_op_parallelism_threads == 3
    assert options.gpu_options.per_process_gpu_memory_fraction == 0.5


def test_the_identity_leaves_out_how_often_to_save() -> None:
    assert RunConfig().uid() == RunConfig(save_checkpoints_steps=3).uid()
    assert RunConfig(model_dir="a").uid() != RunConfig(model_dir="b").uid()
    assert RunConfig(model_dir="a").replace(model_dir="b").uid() == RunConfig(model_dir="b").uid()


def test_two_folders_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TF_CONFIG", json.dumps({"model_dir": "here"}))
    assert RunConfig().model_dir == "here"
    with pytest.raises(ValueError, match="must have the same value"):
        RunConfig(model_dir="there")
