"""TPUs of Google's cloud are found by their names, through an API that a test plays."""

from __future__ import annotations

from types import SimpleNamespace
from unittest import mock

import pytest

import stillflow as tf
from stillflow_contrib.distribute import tpu_cluster_resolver as module
from stillflow_contrib.distribute.tpu_cluster_resolver import TPUClusterResolver

NODE = "projects/p/locations/z/nodes/mine"


@pytest.fixture(autouse=True)
def plain_environment(monkeypatch):
    for name in ("TPU_NAME", "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS", "TPU_API_DISCOVERY_URL"):
        monkeypatch.delenv(name, raising=False)


def cloud(**nodes):
    service = mock.MagicMock()

    def get(name):
        return SimpleNamespace(execute=lambda: nodes[name.rpartition("/")[2]])

    service.projects().locations().nodes().get = mock.Mock(side_effect=get)
    return service


def named(service, **options):
    return TPUClusterResolver("mine", zone="z", project="p", service=service, **options)


def test_a_name_is_looked_up_each_time():
    points = [{"ipAddress": f"10.0.0.{last}", "port": 8470} for last in (1, 2)]
    service = cloud(mine={"state": "READY", "networkEndpoints": points})
    resolver = named(service, coordinator_name="me", coordinator_address="h:1")
    assert resolver.cluster_spec().as_dict() == {
        "worker": ["10.0.0.1:8470", "10.0.0.2:8470"], "me": ["h:1"],
    }  # fmt: skip
    assert resolver.master() == "grpc://10.0.0.1:8470"
    assert resolver.master("worker", 1, "other") == "other://10.0.0.2:8470"
    service.projects().locations().nodes().get.assert_called_with(name=NODE)
    assert resolver.get_job_name() == "worker"


def test_what_the_cloud_does_not_have_is_an_error():
    with pytest.raises(ValueError, match="Could not lookup TPU metadata"):
        named(cloud()).cluster_spec()
    with pytest.raises(RuntimeError, match='TPU "mine" is not yet ready; state: "CREATING"'):
        named(cloud(mine={"state": "CREATING", "ipAddress": "a", "port": "1"})).cluster_spec()


def test_this_machine_tells_where_it_is_and_serves(monkeypatch):
    known = {
        "project/project-id": b"p", "instance/zone": "projects/p/locations/z",
        "instance/network-interfaces/0/ip": b"10.9.9.9",
    }  # fmt: skip
    monkeypatch.setattr(
        TPUClusterResolver, "_request_compute_metadata", lambda self, path: known[path]
    )
    service = cloud(mine={"ipAddress": "10.0.0.1", "port": "8470"})
    resolver = TPUClusterResolver(["mine"], coordinator_name="me", service=service)
    jobs = resolver.cluster_spec().as_dict()
    assert jobs["me"] == [f"10.9.9.9:{resolver._coordinator_port}"]
    service.projects().locations().nodes().get.assert_called_with(name=NODE)


def test_no_name_is_refused_in_googles_cloud_alone(monkeypatch):
    monkeypatch.setattr(module, "is_running_in_gce", lambda: False)
    assert TPUClusterResolver("").master() == ""
    assert TPUClusterResolver("").environment == "google"
    monkeypatch.setattr(module, "is_running_in_gce", lambda: True)
    with pytest.raises(RuntimeError, match="need to specify a TPU Name"):
        TPUClusterResolver("")


def test_cores_of_all_hosts_are_counted(monkeypatch):
    monkeypatch.setattr(module, "is_running_in_gce", lambda: False)
    names = [f"/job:w/task:{host}/device:TPU:{core}" for host in range(2) for core in range(3)]
    devices = [SimpleNamespace(name=name) for name in [*names, "/job:w/task:0/device:CPU:0"]]
    with mock.patch.object(tf.Session, "list_devices", lambda self: devices):
        assert TPUClusterResolver("").num_accelerators() == {"TPU": 3}
    with mock.patch.object(tf.Session, "list_devices", lambda self: devices[:-2]):
        with pytest.raises(RuntimeError, match="is not the same"):
            TPUClusterResolver("").num_accelerators()


def test_a_tpu_that_does_not_answer_is_named(monkeypatch):
    monkeypatch.setattr(module, "is_running_in_gce", lambda: False)
    monkeypatch.setattr(module, "_MOST_RETRIES", 2)
    late = mock.Mock(side_effect=tf.errors.DeadlineExceededError(None, None, "late"))
    with mock.patch.object(tf.Session, "list_devices", late):
        with pytest.raises(RuntimeError, match="Failed to connect to master"):
            TPUClusterResolver("").num_accelerators()
    assert late.call_count == 3
