"""Resolvers of clusters."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

import stillflow as tf

resolvers = tf.distribute.cluster_resolver
CLUSTER = tf.train.ClusterSpec({"ps": ["ps0:2222", "ps1:2222"], "worker": ["worker0:2222"]})


def test_a_known_cluster_has_the_targets_of_its_tasks():
    known = resolvers.SimpleClusterResolver(CLUSTER, "here:1", "ps", 1, rpc_layer="grpc")
    assert known.cluster_spec() is CLUSTER
    assert (known.task_type, known.task_id, known.environment) == ("ps", 1, "")
    assert known.master() == "grpc://here:1"
    assert known.master("worker", 0) == "grpc://worker0:2222"
    assert known.master("worker", 0, rpc_layer="other") == "other://worker0:2222"
    assert known.num_accelerators() == {}
    with pytest.raises(TypeError, match="must be a ClusterSpec"):
        resolvers.SimpleClusterResolver({})
    with pytest.raises(TypeError, match="master must be a string"):
        resolvers.SimpleClusterResolver(CLUSTER, 3)


def simple(jobs, **kwargs):
    return resolvers.SimpleClusterResolver(tf.train.ClusterSpec(jobs), **kwargs)


def test_a_union_has_the_tasks_of_all():
    one = simple({"a": ["a0:1"], "b": ["b0:1"]}, task_type="a", task_id=0, rpc_layer="grpc")
    both = resolvers.UnionResolver(one, simple({"b": ["b1:1"]}), task_id=7)
    assert both.cluster_spec().as_dict() == {"a": ["a0:1"], "b": ["b0:1", "b1:1"]}
    assert (both.task_type, both.task_id, both.rpc_layer) == ("a", 7, "grpc")
    assert both.master("b", 1) == "grpc://b1:1"
    by_index = resolvers.UnionResolver(one, simple({"b": {3: "b3:1"}}))
    assert by_index.cluster_spec().as_dict()["b"] == {0: "b0:1", 3: "b3:1"}
    with pytest.raises(KeyError, match="Duplicate keys detected"):
        resolvers.UnionResolver(one, simple({"b": {0: "other:1", 2: "b2:1"}})).cluster_spec()
    for wrong, kind in (((), ValueError), ((3,), TypeError)):
        with pytest.raises(kind):
            resolvers.UnionResolver(*wrong)
    with pytest.raises(ValueError, match="Unexpected kwargs"):
        resolvers.UnionResolver(one, what=1)


def test_tf_config_says_what_the_cluster_is(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    resolver = tf.contrib.cluster_resolver.TFConfigClusterResolver()
    assert (resolver.master(), resolver.task_type, resolver.task_id) == ("", None, None)
    assert not resolver.cluster_spec()
    config = {"cluster": CLUSTER.as_dict(), "task": {"type": "ps", "index": 1}, "rpc_layer": "grpc"}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    assert resolver.cluster_spec() == CLUSTER
    assert (resolver.task_type, resolver.task_id) == ("ps", 1)
    assert resolver.master() == "grpc://ps1:2222"
    assert resolver.master("worker", 0) == "grpc://worker0:2222"
    monkeypatch.setenv("TF_CONFIG", json.dumps({**config, "session_master": "there"}))
    assert resolver.master() == "there"


def test_devices_are_counted_by_their_task():
    workers, _ = tf.test.create_local_cluster(
        2, 1, worker_config=tf.ConfigProto(device_count={"CPU": 2})
    )
    address = workers[0].target.partition("://")[2]

    class Found(resolvers.ClusterResolver):
        def cluster_spec(self):
            return tf.train.ClusterSpec({"worker": [address]})

        def master(self, task_type=None, task_id=None, rpc_layer=None):
            return f"grpc://{address}"

    assert Found().num_accelerators("worker", 1)["CPU"] == 2
    assert Found().num_accelerators()["CPU"] == 5


def test_slurm_says_which_task_this_is(monkeypatch):
    monkeypatch.setenv("SLURM_PROCID", "2")
    monkeypatch.setenv("SLURM_NTASKS", "4")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    kind = resolvers.SlurmClusterResolver
    with pytest.raises(RuntimeError, match="SLURM_NTASKS_PER_NODE"):
        kind({"worker": 4})
    with pytest.raises(RuntimeError, match="more GPUs"):
        kind({"worker": 4}, tasks_per_node=2)
    with pytest.raises(RuntimeError, match="more tasks"):
        kind({"worker": 3}, gpus_per_node=2, tasks_per_node=2)
    resolver = kind({"worker": 3, "ps": 1}, gpus_per_node=2, tasks_per_node=2)
    resolver._resolve_hostnames = lambda: ["m0", "m1"]
    assert (resolver.get_task_info(), resolver.master()) == ((None, None), "")
    assert resolver.cluster_spec().as_dict() == {
        "ps": ["m0:8888"], "worker": ["m0:8889", "m1:8888", "m1:8889"],
    }  # fmt: skip
    assert resolver.get_task_info() == ("worker", 1)
    assert resolver.master() == "grpc://m1:8888"
    assert resolver.num_accelerators() == {"GPU": 2}


def pod(name, phase, address):
    status = SimpleNamespace(phase=phase, host_ip=address)
    return SimpleNamespace(metadata=SimpleNamespace(name=name), status=status)


def test_pods_of_kubernetes_are_tasks():
    pods = [pod("b", "Running", "10.0.0.2"), pod("a", "Running", "10.0.0.1")]
    client = SimpleNamespace(
        list_pod_for_all_namespaces=lambda label_selector: SimpleNamespace(items=pods)
    )
    resolver = resolvers.KubernetesClusterResolver(override_client=client)
    assert resolver.cluster_spec().as_dict() == {"worker": ["10.0.0.1:8470", "10.0.0.2:8470"]}
    assert (resolver.master(), resolver.master("worker", 1)) == ("", "grpc://10.0.0.2:8470")
    pods.append(pod("c", "Pending", ""))
    with pytest.raises(RuntimeError, match='Pod "c" is not running; phase: "Pending"'):
        resolver.cluster_spec()


def test_tpus_go_by_their_addresses(monkeypatch):
    kind = resolvers.TPUClusterResolver
    for name in ("TPU_NAME", "KUBE_GOOGLE_CLOUD_TPU_ENDPOINTS"):
        monkeypatch.delenv(name, raising=False)
    resolver = kind("grpc://10.0.0.1:8470", coordinator_name="me", coordinator_address="h:1")
    assert resolver.get_master() == resolver.master() == "grpc://10.0.0.1:8470"
    assert resolver.cluster_spec().as_dict() == {"worker": ["10.0.0.1:8470"], "me": ["h:1"]}
    assert kind("localhost:1").master() == "localhost:1"
    with pytest.raises(ImportError, match="googleapiclient and oauth2client must be installed"):
        kind(["mine"])
    for wrong, kind_of_error in ((None, ValueError), ([], ValueError), (["a", "b"], Exception)):
        with pytest.raises(kind_of_error):
            kind(wrong)
    monkeypatch.setenv("TPU_NAME", "grpc://10.0.0.2:8470")
    assert kind().master() == "grpc://10.0.0.2:8470"


def test_what_is_not_installed_is_named():
    with pytest.raises(ImportError, match="pip install kubernetes"):
        resolvers.KubernetesClusterResolver()
    with pytest.raises(ImportError, match="googleapiclient"):
        resolvers.GCEClusterResolver("project", "zone", "group", 8470)


def test_the_older_mirrored_strategy_counts_gpus():
    kind = tf.contrib.distribute.MirroredStrategy
    assert kind(num_gpus=0).num_replicas_in_sync == 1
    with pytest.raises(ValueError, match="cannot specify both"):
        kind(num_gpus=1, num_gpus_per_worker=1)
    with pytest.raises(ValueError, match="only specify one of"):
        kind(["/cpu:0"], num_gpus=1)
