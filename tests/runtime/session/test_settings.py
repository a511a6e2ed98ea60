"""`tf.config` speaks for sessions that were given no ConfigProto."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import stillflow as tf
from stillflow.runtime.session import settings


@pytest.fixture(autouse=True)
def fresh_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(settings.SETTINGS, "__dict__", vars(settings.Settings()))
    yield


def test_nothing_set_leaves_sessions_alone() -> None:
    assert settings.session_config() is None


def test_sessions_go_by_what_was_set() -> None:
    tf.config.threading.set_intra_op_parallelism_threads(3)
    tf.config.set_soft_device_placement(True)
    tf.config.optimizer.set_jit(True)
    tf.config.optimizer.set_experimental_options({"remapping": False, "min_graph_nodes": 5})
    config = tf.Session()._config
    assert config.intra_op_parallelism_threads == 3
    assert config.allow_soft_placement
    assert config.graph_options.optimizer_options.global_jit_level == tf.OptimizerOptions.ON_1
    assert config.graph_options.rewrite_options.remapping == 2
    assert config.graph_options.rewrite_options.min_graph_nodes == 5
    assert tf.config.get_soft_device_placement() and tf.config.optimizer.get_jit()


def test_a_config_of_its_own_comes_first() -> None:
    tf.config.threading.set_inter_op_parallelism_threads(2)
    own = tf.ConfigProto(inter_op_parallelism_threads=7)
    assert tf.Session(config=own)._config.inter_op_parallelism_threads == 7


def test_invisible_gpus_and_divided_cpus_are_counted() -> None:
    cpu = tf.config.experimental.list_physical_devices("CPU")[0]
    halves = [tf.config.experimental.VirtualDeviceConfiguration() for _ in range(2)]
    tf.config.experimental.set_virtual_device_configuration(cpu, halves)
    tf.config.experimental.set_visible_devices([], "GPU")
    assert tf.config.experimental.get_visible_devices() == [cpu]
    assert [device.name for device in tf.config.experimental.list_logical_devices("CPU")] == [
        "/job:localhost/replica:0/task:0/device:CPU:0",
        "/job:localhost/replica:0/task:0/device:CPU:1",
    ]
    assert dict(tf.Session()._config.device_count) == {"CPU": 2, "GPU": 0}


def test_devices_are_checked() -> None:
    cpu = tf.config.experimental.list_physical_devices("CPU")[0]
    with pytest.raises(ValueError, match="non-GPU devices"):
        tf.config.experimental.set_memory_growth(cpu, True)
    with pytest.raises(ValueError, match="Unrecognized device"):
        tf.config.experimental.set_visible_devices(("/physical_device:CPU:9", "CPU"))
    with pytest.raises(ValueError, match="memory limit on CPU"):
        limited = tf.config.experimental.VirtualDeviceConfiguration(memory_limit=10)
        tf.config.experimental.set_virtual_device_configuration(cpu, [limited])
