"""Placement of operations, and its errors."""

from __future__ import annotations

import re
import threading

import pytest

import stillflow as tf
from stillflow.runtime.devices.devices import DeviceAttributes, pretend_gpus
from stillflow.runtime.devices.placement import Placement

CPU, GPU = (f"/job:localhost/replica:0/task:0/device:{kind}:0" for kind in ("CPU", "GPU"))


def placed(device, config=None, names=(CPU,)):
    """Return the device of an operation, in a session that has devices of these names."""
    there = [DeviceAttributes(name, "?", 0, 1) for name in names]
    graph = tf.Graph()
    with graph.as_default(), tf.device(device):
        op = tf.constant(1.0, name="a").op
    return Placement(graph, config, lambda: there).device_of(op)


@pytest.mark.parametrize(
    "device", ["", "/cpu:0", "/job:localhost", "/replica:0/task:0/cpu:*", "/device:XLA_CPU:0"]
)
def test_devices_that_are_there_are_taken(device):
    assert placed(device) == CPU


@pytest.mark.parametrize("device", ["/gpu:3", "/job:worker", "/task:1/cpu:0", "/cpu:1"])
def test_devices_that_are_not_there_are_refused(device):
    with pytest.raises(tf.errors.InvalidArgumentError) as raised:
        placed(device)
    text = raised.value.message
    assert text.startswith(
        f"Cannot assign a device for operation a: node a (defined at {__file__}:"
    )
    assert ")  was explicitly assigned to" in text
    assert f"available devices are [ {CPU} ]" in text
    assert ("CUDA is not enabled" in text) == (device == "/gpu:3")
    assert text.endswith("\n\t [[a]]")
    assert raised.value.op is None  # as in TensorFlow, which does not find it by that


def test_soft_placement_gives_way_in_the_device_but_not_in_the_job():
    soft = tf.ConfigProto(allow_soft_placement=True)
    assert placed("/gpu:3", soft) == placed("/cpu:7", soft) == CPU
    with pytest.raises(tf.errors.InvalidArgumentError, match="assigned to /job:worker/device:GPU"):
        placed("/job:worker/gpu:0", soft)


def test_several_devices_are_told_apart():
    assert placed("/gpu:0", names=(CPU, GPU)) == GPU
    assert placed("/device:GPU:*", names=(CPU, GPU)) == GPU
    assert placed("/cpu:0", names=(CPU, GPU)) == CPU


def test_where_nothing_is_said_the_first_device_by_name_is_taken():
    tasks = ("/job:worker/replica:0/task:1", "/job:ps/replica:0/task:0")
    names = [f"{task}/device:CPU:0" for task in (*tasks, "/job:worker/replica:0/task:0")]
    assert placed("", names=names) == placed("/cpu:0", names=names) == names[1]
    assert placed("/job:worker", names=names) == names[2]
    assert placed("/task:1", names=names) == names[0]


def test_the_whole_graph_is_placed_unless_only_what_runs_is_asked_for():
    graph = tf.Graph()
    with graph.as_default():
        good = tf.constant(1.0)
        with tf.device("/cpu:9"):
            bad = tf.constant(2.0)
    with tf.Session(graph=graph) as session:
        for _ in range(2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device"):
                session.run(good)
    pruned = tf.ConfigProto()
    pruned.graph_options.place_pruned_graph = True
    with tf.Session(graph=graph, config=pruned) as session:
        assert session.run(good) == 1.0
        with pytest.raises(tf.errors.InvalidArgumentError, match="Cannot assign a device"):
            session.run(bad)


def log_of_two_runs(capfd, session_type):
    """Return a session's output for a graph that grows after its first run: stdout and stderr."""
    config = tf.ConfigProto(log_device_placement=True, device_count={"GPU": 0})
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [], name="x")
        a = tf.constant(1.0, name="a")
        v = tf.get_variable("v", initializer=a, use_resource=True)
        b = tf.add(x, a, name="b")
        session = session_type(config=config)
        assert capfd.readouterr().out == "Device mapping: no known devices.\n"
        session.run(v.initializer)
        for value in (1.0, 2.0):
            session.run(b, {x: value})
        session.run([tf.add(b, v, name="c")], {x: 1.0})
        session.close()
    said = capfd.readouterr()
    return said.out.splitlines(), said.err.splitlines()


OF_V = ["v/IsInitialized/VarIsInitializedOp: (VarIsInitializedOp)", "v/Assign: (AssignVariableOp)",
        "v/Read/ReadVariableOp: (ReadVariableOp)"]  # fmt: skip


def test_the_whole_graph_is_logged_whenever_it_has_grown(capfd):
    said, _ = log_of_two_runs(capfd, tf.Session)
    assert said == [f"{line}: {CPU}" for line in [
        *OF_V, "b: (Add)", "x: (Placeholder)", "a: (Const)", "v: (VarHandleOp)",
        # `v` keeps its place, so that now it comes with those that are not made of nothing.
        "v: (VarHandleOp)", *OF_V, "b: (Add)", "c/ReadVariableOp: (ReadVariableOp)", "c: (Add)",
        "x: (Placeholder)", "a: (Const)",
    ]]  # fmt: skip


def test_interactive_sessions_log_each_kind_of_run_once(capfd):
    said, _ = log_of_two_runs(capfd, tf.InteractiveSession)
    assert said == [f"{line}: {CPU}" for line in [
        OF_V[1], "a: (Const)", "v: (VarHandleOp)",
        "b: (Add)", "_arg_x_0_0: (_Arg)", "_retval_b_0_0: (_Retval)", "a: (Const)",
        "v: (VarHandleOp)", "b: (Add)", "c/ReadVariableOp: (ReadVariableOp)", "c: (Add)",
        "_arg_x_0_0: (_Arg)", "_retval_c_0_0: (_Retval)", "a: (Const)",
    ]]  # fmt: skip


def test_the_log_on_stderr_has_the_same_lines_after_the_time(capfd, monkeypatch):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    said, logged = log_of_two_runs(capfd, tf.Session)
    stamp = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}: I "
    stamp += r"tensorflow/core/common_runtime/placer\.cc:54\] "
    assert [re.sub(stamp, "", line) for line in logged] == said
    assert all(re.match(stamp, line) for line in logged)
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "2")
    assert log_of_two_runs(capfd, tf.Session) == (said, [])


def test_the_log_says_what_each_device_is(capfd):
    with pretend_gpus(1), tf.Graph().as_default():
        tf.Session(config=tf.ConfigProto(log_device_placement=True))
    assert capfd.readouterr().out == f"Device mapping:\n{GPU} -> device: 0, name: pretended\n"


def test_threads_of_a_session_place_their_operations_at_the_same_time() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        queue = tf.FIFOQueue(1000, tf.int32, shapes=[[]])
        puts = [queue.enqueue(i) for i in range(60)]
        failed: list[BaseException] = []

        def put(op: tf.Operation) -> None:
            try:
                session.run(op)
            except BaseException as error:
                failed.append(error)

        threads = [threading.Thread(target=put, args=(op,)) for op in puts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failed
        assert session.run(queue.size()) == 60


@pytest.mark.parametrize("count", [0, -4])
def test_a_session_without_processors_is_refused(count):
    """Expect an error, as from TensorFlow 1.15.5 at the session's creation."""
    config = tf.ConfigProto(device_count={"CPU": count})
    with tf.Session(config=config) as sess, pytest.raises(tf.errors.NotFoundError) as raised:
        sess.list_devices()
    assert raised.value.message == "No CPU devices are available in this process"


@pytest.mark.parametrize("saver", [None, "/cpu:0", "/gpu:0"])
@pytest.mark.parametrize("second", [None, "/cpu:0", "/gpu:0"])
@pytest.mark.parametrize("first", [None, "/cpu:0", "/gpu:0"])
def test_variables_anywhere_are_saved_and_restored_from_anywhere(
    first, second, saver, graph, tmp_path, cuda
):
    variables = []
    for name, device in (("a", first), ("b", second)):
        with tf.device(device):
            variables.append(tf.get_variable(name, initializer=[1.0, 2.0]))
    with tf.device(saver):
        saving = tf.train.Saver()
    summed = tf.add(*variables)
    changes = [tf.assign_add(variable, [1.0, 1.0]) for variable in variables]
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as session:
        session.run(tf.global_variables_initializer())
        path = saving.save(session, str(tmp_path / "model"))
        session.run(changes)
        assert session.run(summed).tolist() == [4, 6]
        saving.restore(session, path)
        assert session.run([*variables, summed])[2].tolist() == [2, 4]
