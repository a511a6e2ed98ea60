"""The shared tests of strategies pass for Stillflow's, and fail for those that err."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import unittest
from unittest import mock

import pytest

import stillflow as tf
from stillflow.graph.eager_mode import eager_mode
from stillflow_contrib.testing import strategy_tests, worker_clusters
from stillflow_contrib.testing.model_examples import (
    simple_functional_model,
    simple_sequential_model,
    simple_subclass_model,
    simple_tfmodule_model,
)

CPU = "/cpu:0"


def mirrored():
    return tf.distribute.MirroredStrategy([CPU])


class Case(strategy_tests.DistributionTestBase, strategy_tests.OneDeviceDistributionTestBase):
    """The tests as methods that a test below calls."""

    __test__ = False

    def runTest(self):
        """Nothing: unittest asks for a method."""


def checked(name, strategy, *args, **kwargs):
    case = Case()
    case.setUp()
    # The test of training opens a session with settings of its own.
    outer = contextlib.nullcontext() if "minimize" in name else case.cached_session()
    with tf.Graph().as_default(), outer:
        getattr(case, name)(strategy, *args, **kwargs)
    case.tearDown()


NAMES = [
    "_test_minimize_loss_graph", "_test_summary_for_replica_zero_only", "_test_replica_id",
    "_test_call_and_merge_exceptions", "_test_global_step_update", "_test_numpy_dataset",
    "_test_trainable_variable", "_test_run", "_test_all_reduce_sum", "_test_all_reduce_mean",
    "_test_all_reduce_sum_gradients", "_test_all_reduce_mean_gradients",
    "_test_all_reduce_sum_gradient_tape", "_test_all_reduce_mean_gradient_tape",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_strategies_of_one_device_pass(name):
    checked(name, mirrored())


def test_a_strategy_passes_where_operations_run_at_once():
    with eager_mode():
        case = Case()
        case.setUp()
        case._test_minimize_loss_eager(tf.distribute.OneDeviceStrategy(CPU))
        case._test_input_fn_iterable(
            tf.distribute.OneDeviceStrategy(CPU), lambda _: tf.data.Dataset.range(2), [[0], [1]]
        )


def test_values_and_contexts_that_differ_fail():
    case, strategy = Case(), mirrored()
    with pytest.raises(AssertionError):
        checked("_test_collective_comms", strategy, lambda x: x, ((1.0, 2.0),), (1.0, 3.0))
    kind = type(strategy.extended)
    with mock.patch.object(kind, "_reduce_to", lambda *args: tf.constant([[-7.0]])):
        with pytest.raises(AssertionError):
            checked("_test_minimize_loss_graph", strategy)
    input_fn = case._input_fn_to_test_input_context(lambda: None, 1, 1, None)
    input_fn(tf.distribute.InputContext())
    with pytest.raises(AssertionError):
        input_fn(tf.distribute.InputContext())


def test_threads_are_workers_with_their_own_tf_config():
    class Threads(worker_clusters.IndependentWorkerTestBase):
        def runTest(self):
            """Nothing: unittest asks for a method."""

    case, seen = Threads(), []
    case.setUp()
    try:
        spec = worker_clusters.create_cluster_spec(num_workers=2, has_eval=True)
        assert sorted(spec) == ["evaluator", "worker"]

        def work():
            task = worker_clusters.get_task_type(), worker_clusters.get_task_index()
            seen.append((*task, worker_clusters.is_chief()))

        threads = case.run_multiple_tasks_in_threads(work, spec)
        case.join_independent_workers([each for own in threads.values() for each in own])
        assert "TF_CONFIG" not in os.environ
    finally:
        case.tearDown()
    assert sorted(seen) == [
        ("evaluator", 0, False), ("worker", 0, True), ("worker", 1, False),
    ]  # fmt: skip


def test_processes_are_workers_and_those_that_fail_are_told(capfd):
    case = worker_clusters.MultiWorkerMultiProcessTest()
    program = "import os, sys; print(os.environ['TF_CONFIG'], file=sys.stderr); sys.exit(%d)"
    for code in (0, 3):
        command = [sys.executable, "-c", program % code]
        started = case.run_multiple_tasks_in_processes(command, {"worker": ["a:1"], "ps": ["b:1"]})
        case.stream_stderr(started)
        if code:
            with pytest.raises(AssertionError):
                case.join_independent_workers(list(started.values()))
        else:
            case.join_independent_workers(list(started.values()))
        for own in started.values():
            for process in own:
                process.wait()
                process.stdout.close()
                process.stderr.close()
    assert json.dumps({"type": "ps", "index": 0})[1:-1] in capfd.readouterr().out


def test_a_cluster_of_this_process_runs_graphs():
    class Cluster(worker_clusters.MultiWorkerTestBase):
        def runTest(self):
            """Nothing: unittest asks for a method."""

    Cluster.setUpClass()
    case, found = Cluster(), []
    case.setUp()

    def client(task_type, task_id, num_gpus):
        with tf.Graph().as_default(), tf.device(f"/job:ps/task:{num_gpus}"):
            total = tf.constant(1) + task_id
            with case.session(target="grpc://" + Cluster._cluster_spec[task_type][task_id]) as s:
                found.append(s.run(total))

    case._run_between_graph_clients(client, Cluster._cluster_spec, 0)
    assert sorted(found) == [1, 2]
    with case.cached_session() as session, case.cached_session() as again:
        assert session is again


def test_no_port_skips_a_test():
    case = unittest.TestCase()
    error = tf.errors.UnknownError(None, None, "Could not start gRPC server: in use")
    with pytest.raises(unittest.SkipTest):
        with worker_clusters.skip_if_grpc_server_cant_be_started(case):
            raise error
    with pytest.raises(tf.errors.UnknownError):
        with worker_clusters.skip_if_grpc_server_cant_be_started(case):
            raise tf.errors.UnknownError(None, None, "other")


@pytest.mark.parametrize(
    "named", [simple_functional_model, simple_sequential_model, simple_subclass_model]
)
def test_models_are_compiled_for_their_data(named):
    with eager_mode():
        model, output = named.get_model(experimental_run_tf_function=False)
        inputs, targets, others = named.get_data()
        history = model.fit(inputs[:20], targets[:20], named.get_batch_size(), verbose=0)
        assert history.history["loss"][0] > 0 and output == "output_layer"
        assert model.predict(others[:4]).shape == (4, 5)


def test_a_module_multiplies():
    with eager_mode():
        module, output = simple_tfmodule_model.get_model(experimental_run_tf_function=True)
        assert (float(module(tf.constant(2.0))), output) == (6.0, "foo")
