"""Replicas that share variables, and the tasks of clusters that a coordinator runs."""

from __future__ import annotations

import json
import threading

import numpy as np
import pytest

import stillflow as tf
from stillflow.distribute import cluster_tasks, worker_context
from stillflow.distribute.coordinator import (
    CoordinatorMode,
    WorkerContext,
    _run_std_server,
    run_distribute_coordinator,
)
from stillflow.testing.local_cluster import free_ports

ROWS = np.linspace(-1.0, 1.0, 24, dtype=np.float32).reshape(12, 2)
LABELS = (ROWS.sum(1, keepdims=True) * 0.5 + 0.25).astype(np.float32)
SPEC = {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"], "evaluator": ["e:1"]}


def input_fn():
    return tf.data.Dataset.from_tensor_slices(({"x": ROWS}, LABELS)).repeat(3).batch(3)


def model_fn(features, labels, mode):
    x = tf.layers.dense(features["x"], 1, kernel_initializer=tf.ones_initializer(), name="out")
    loss = tf.losses.mean_squared_error(labels, x)
    optimizer = tf.train.GradientDescentOptimizer(0.1)
    train = optimizer.minimize(loss, tf.train.get_or_create_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


@pytest.mark.usefixtures("graph")
def test_keras_models_learn_with_shared_variables_as_without():
    def fitted(strategy):
        with (
            tf.Graph().as_default(),
            tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session,
        ):
            tf.keras.backend.set_session(session)
            with strategy.scope():
                dense = tf.keras.layers.Dense(1, kernel_initializer="ones", input_shape=(2,))
                model = tf.keras.Sequential([dense])
                model.compile(tf.train.GradientDescentOptimizer(0.1), "mse")
            history = model.fit(ROWS, LABELS, batch_size=6, epochs=2, shuffle=False, verbose=0)
            return history.history["loss"], model.get_weights()

    central = tf.distribute.experimental.CentralStorageStrategy(["/cpu:0", "/cpu:1"])
    losses, weights = fitted(central)
    expected_losses, expected = fitted(tf.distribute.OneDeviceStrategy("/cpu:0"))
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-5)
    for found, wanted in zip(weights, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-5)


def test_checkpoints_hold_shared_variables_by_their_names(tmp_path):
    strategy = tf.distribute.experimental.CentralStorageStrategy(["/cpu:0", "/cpu:1"])
    with tf.Graph().as_default():
        with strategy.scope():
            v = tf.get_variable("v", [2], initializer=tf.ones_initializer())
        add, saver = v.assign_add([1.0, 2.0]), tf.train.Saver()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(add)
            path = saver.save(session, str(tmp_path / "model"))
            session.run(add)
            saver.restore(session, path)
            assert session.run(v).tolist() == [2.0, 3.0]
    assert tf.train.list_variables(path) == [("v", [2])]


def test_places_in_a_cluster():
    tasks = (("chief", 0), ("worker", 0), ("evaluator", 0), ("ps", 0))
    chiefs = [cluster_tasks.is_chief(SPEC, *task) for task in tasks]
    assert chiefs == [True, False, True, False]
    assert cluster_tasks.is_chief({"worker": ["a:1", "b:1"]}, "worker", 0)
    ids = [cluster_tasks.id_in_cluster(SPEC, *task) for task in (
        ("chief", 0), ("worker", 1), ("evaluator", 0))]  # fmt: skip
    assert ids == [0, 2, 0]
    assert cluster_tasks.worker_count(SPEC, "worker") == 3
    assert cluster_tasks.worker_count(SPEC, "evaluator") == 1
    assert cluster_tasks.collective_leader(SPEC, "worker", 1) == "/job:chief/replica:0/task:0"
    assert cluster_tasks.collective_leader(SPEC, "evaluator", 0) == ""
    assert cluster_tasks.collective_leader({}, None, None) == ""
    for call, text in (
        (lambda: cluster_tasks.is_chief(SPEC, "client", 0), "Unrecognized task_type: 'client'"),
        (lambda: cluster_tasks.is_chief(SPEC, "worker", 2), "exceeds the maximum id of worker"),
        (lambda: cluster_tasks.is_chief(), "should be `None`"),
        (lambda: cluster_tasks.is_chief({"chief": ["a:1", "b:1"]}, "chief", 0), "at most one"),
        (lambda: cluster_tasks.is_chief({"chief": ["a:1"]}, "worker", 0), "not found in"),
        (lambda: cluster_tasks.worker_count(SPEC, "ps"), "Unexpected `task_type` 'ps'"),
        (lambda: cluster_tasks.id_in_cluster(SPEC, "ps", 0), "There is no id for task_type 'ps'"),
        (lambda: cluster_tasks.normalize_cluster_spec([]), "should be dict or a"),
    ):
        with pytest.raises(ValueError, match=text):
            call()


def test_a_context_tells_a_task_its_place():
    spec = tf.train.ClusterSpec(SPEC)
    strategy = tf.distribute.experimental.ParameterServerStrategy()
    strategy.configure(None, SPEC, "worker", 1)
    context = WorkerContext(strategy, spec, "worker", 1)
    told = (context.master_target, context.num_workers, context.is_chief, context.distributed_mode)
    assert told == ("grpc://c:1", 3, False, True)
    assert not (context.experimental_should_init or context.should_checkpoint)
    assert not context.should_save_summary and not context.has_barrier
    assert isinstance(context.session_creator(), tf.train.WorkerSessionCreator)
    assert worker_context.current() is None
    with context:
        assert worker_context.current() is context and not cluster_tasks.is_chief()
        with pytest.raises(ValueError, match="You cannot run distribute coordinator in a"):
            WorkerContext(None, None, None, None).__enter__()
    assert worker_context.current() is None
    alone = WorkerContext(None, spec, None, None, rpc_layer=None)
    assert (alone.master_target, alone.is_chief) == ("a:1", True)
    evaluator = WorkerContext(None, spec, "evaluator", 0)
    assert evaluator.is_chief and not evaluator.distributed_mode


def test_without_a_cluster_functions_run_here():
    seen = []
    strategy = tf.distribute.experimental.CentralStorageStrategy(["/cpu:0"])

    def work(own):
        seen.append((own is strategy, worker_context.current().master_target))

    run_distribute_coordinator(work, strategy, work, strategy)
    assert seen == [(False, ""), (False, "")]


def test_what_a_coordinator_refuses(monkeypatch):
    strategy = tf.distribute.experimental.ParameterServerStrategy()
    with pytest.raises(ValueError, match="Unexpected coordinator mode: 'other'"):
        run_distribute_coordinator(print, strategy, mode="other", cluster_spec=SPEC)
    serve = tf.contrib.distribute.run_standard_tensorflow_server
    for settings, text in (
        ({}, '"cluster" is not found in TF_CONFIG'),
        ({"cluster": SPEC}, '"task" is not found in TF_CONFIG'),
        ({"cluster": SPEC, "task": {"index": 1}}, '"task_type" is not found'),
        ({"cluster": {"ps": ["a:1"]}, "task": {"type": "ps"}}, "must have `chief` or `worker`"),
    ):
        monkeypatch.setenv("TF_CONFIG", json.dumps(settings))
        with pytest.raises(ValueError, match=text):
            serve()


@pytest.fixture
def servers():
    """Return a cluster of a chief, a worker and a parameter server, all of this process."""
    ports = free_ports(3)
    jobs = dict(zip(("chief", "worker", "ps"), ([f"localhost:{p}"] for p in ports), strict=True))
    spec = tf.train.ClusterSpec(jobs)
    kept = []

    def serve(job):
        kept.append(_run_std_server(spec, job, 0, tf.ConfigProto(), "grpc"))
        assert _run_std_server(spec, job, 0, tf.ConfigProto(), "grpc") is kept[-1]

    for job in jobs:
        thread = threading.Thread(target=serve, args=(job,))
        thread.start()
        thread.join()
    assert len(kept) == 3
    return spec


def test_one_client_trains_by_the_servers_of_a_cluster(servers, tmp_path):
    steps = []

    class Hook(tf.train.SessionRunHook):
        def after_run(self, run_context, run_values):
            steps.append(worker_context.current().task_type)

    both = tf.contrib.distribute.DistributeConfig(
        tf.distribute.experimental.ParameterServerStrategy(), remote_cluster=servers
    )
    config = tf.estimator.RunConfig(str(tmp_path), tf_random_seed=1, experimental_distribute=both)
    estimator = tf.estimator.Estimator(model_fn, config=config)
    train = tf.estimator.TrainSpec(input_fn, max_steps=20, hooks=[Hook()])
    result = tf.estimator.train_and_evaluate(estimator, train, tf.estimator.EvalSpec(input_fn))
    assert result is None and set(steps) == {"chief"}
    assert estimator.get_variable_value("global_step") >= 12  # of its own input
    with pytest.raises(ValueError, match=r"`Estimator\.train` API is not supported for Param"):
        estimator.train(input_fn, steps=1)


def test_who_trains_in_a_cluster_is_told_by_a_coordinator(monkeypatch):
    strategy = tf.distribute.experimental.ParameterServerStrategy()
    task = {"cluster": SPEC, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))
    config = tf.estimator.RunConfig(train_distribute=strategy)
    assert config._distribute_coordinator_mode == CoordinatorMode.INDEPENDENT_WORKER
    assert config.cluster_spec.as_dict() == SPEC and config.num_ps_replicas == 0
    without = {key: value for key, value in SPEC.items() if key != "evaluator"}
    for cluster, text in ((SPEC, "'evaluator' job is not supported"),
                          (without, "Only `STANDALONE_CLIENT` mode is supported")):  # fmt: skip
        monkeypatch.setenv("TF_CONFIG", json.dumps({**task, "cluster": cluster}))
        config = tf.estimator.RunConfig(train_distribute=strategy, eval_distribute=strategy)
        estimator = tf.estimator.Estimator(model_fn, config=config)
        for method in (estimator.train, estimator.evaluate):
            with pytest.raises(ValueError, match=text):
                method(input_fn, steps=1)
    both = tf.contrib.distribute.DistributeConfig(strategy, remote_cluster=SPEC)
    with pytest.raises(ValueError, match='Cannot set both "cluster_spec" of TF_CONFIG and'):
        tf.estimator.RunConfig(experimental_distribute=both)


def test_strategies_of_one_graph_need_a_reduction_over_tasks(servers):
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    with pytest.raises(ValueError, match="In-graph multi-worker training"):
        strategy.configure(None, servers)
    with pytest.raises(AssertionError):
        tf.distribute.experimental.MultiWorkerMirroredStrategy("ring")


@pytest.mark.usefixtures("graph")
def test_replicas_of_two_tasks_train_in_one_graph(servers):
    workers = ["/job:chief/task:0", "/job:worker/task:0"]
    strategy = tf.distribute.MirroredStrategy(
        ["/cpu:0"], cross_device_ops=tf.contrib.distribute.MultiWorkerAllReduce(workers, 1)
    )
    strategy.configure(None, servers)
    assert strategy.num_replicas_in_sync == 2
    with strategy.scope():
        w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
        rows = tf.data.Dataset.from_tensor_slices(np.arange(12.0, dtype=np.float32).reshape(6, 2))
        iterator = strategy.make_dataset_iterator(rows.batch(4, drop_remainder=True).repeat())

        def step(x):
            loss = tf.reduce_sum(tf.matmul(x, w))
            with tf.control_dependencies([tf.train.GradientDescentOptimizer(0.1).minimize(loss)]):
                return tf.identity(x)

        fed = strategy.experimental_local_results(strategy.experimental_run(step, iterator))
    target = f"grpc://{servers.job_tasks('chief')[0]}"
    with tf.Session(target, config=strategy.update_config_proto(tf.ConfigProto())) as session:
        session.run([tf.global_variables_initializer(), iterator.initialize()])
        parts = session.run(fed)
        copies = session.run(list(w.values))
    assert [part.shape for part in parts] == [(2, 2), (2, 2)]
    expected = 1.0 - 0.1 * np.concatenate(parts).sum(0, keepdims=True).T
    for copy in copies:
        np.testing.assert_allclose(copy, expected, rtol=1e-6)


def test_a_cluster_of_one_worker_trains_with_its_own_copies(monkeypatch, tmp_path):
    cluster = {"worker": [f"localhost:{free_ports(1)[0]}"]}
    task = {"cluster": cluster, "task": {"type": "worker", "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(task))
    strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()
    config = tf.estimator.RunConfig(str(tmp_path), tf_random_seed=1, train_distribute=strategy)
    estimator = tf.estimator.Estimator(model_fn, config=config)
    specs = tf.estimator.TrainSpec(input_fn, max_steps=5), tf.estimator.EvalSpec(input_fn)

    # A thread of its own, since the server of a task belongs to the thread that asked for it.
    work = threading.Thread(target=tf.estimator.train_and_evaluate, args=(estimator, *specs))
    work.start()
    work.join()
    assert estimator.get_variable_value("global_step") == 5
    (kernel,) = estimator.get_variable_value("out/kernel").T
    w = np.ones(3, np.float64)  # two weights and the bias, by gradient descent in NumPy
    w[2] = 0.0
    rows = np.concatenate([ROWS, np.ones_like(LABELS)], 1)
    for first in (0, 3, 6, 9, 0):
        x, y = rows[first : first + 3], LABELS[first : first + 3, 0]
        w -= 0.1 * 2.0 * x.T @ (x @ w - y) / 3
    np.testing.assert_allclose(kernel, w[:2], rtol=1e-5)
