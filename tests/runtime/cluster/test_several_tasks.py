"""Distributed runs: servers of one process, which communicate over their ports."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import stillflow as tf
from stillflow.debug.dump_dir import DebugDumpDir
from stillflow.debug.watching import watch_graph
from stillflow.protos import RunOptions

PS, WORKER, OTHER = "/job:ps/task:0", "/job:worker/task:0", "/job:worker/task:1"


@pytest.fixture(scope="module")
def cluster():
    workers, (ps,) = tf.test.create_local_cluster(2, 1)
    return workers[0].target, workers[1].target, ps.target


@pytest.fixture
def target(cluster):
    """Yield the first worker, as it was when it was started."""
    tf.Session.reset(cluster[0])
    with tf.Graph().as_default():
        yield cluster[0]


def on(task, value, **kwargs):
    with tf.device(task):
        return tf.get_variable(initializer=value, **kwargs)


def test_values_of_all_types_go_from_task_to_task(target):
    values = [
        np.arange(6, dtype=np.float32).reshape(2, 3), np.array([True, False]), np.int64(-3),
        np.zeros((0, 4), np.float64), np.array([1 + 2j], np.complex64),
        np.array([[b"a", b""], [b"\0b", "ü".encode()]], dtype=object),
    ]  # fmt: skip
    there, back = [], []
    for number, value in enumerate(values):
        there.append(on(PS, tf.constant(value), name=f"v{number}"))
        with tf.device(WORKER):
            back.append(tf.identity(there[-1]))
    with tf.device(PS):
        half = tf.cast([1.5, -2.0], tf.bfloat16)
        codes = tf.quantize([0.0, 1.0], 0.0, 1.0, tf.quint8).output
    with tf.device(OTHER):
        back += [tf.cast(half * 2, tf.float32), tf.dequantize(codes, 0.0, 1.0)]
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        *found, doubled, numbers = session.run(back)
    for value, result in zip(values, found, strict=True):
        np.testing.assert_array_equal(result, value)
        assert result.dtype == np.asarray(value).dtype
    np.testing.assert_array_equal(doubled, [3.0, -4.0])
    np.testing.assert_allclose(numbers, [0.0, 1.0])


def test_strings_keep_zeros_at_their_ends_from_task_to_task(target):
    given = tf.placeholder(tf.string, [])
    with tf.device(PS):
        there = tf.strings.join([given, "+\0"])
    with tf.device(WORKER):
        back = tf.strings.join([there, given])
    with tf.Session(target) as session:
        assert session.run([there, back], {given: b"a\0\0"}) == [b"a\0\0+\0", b"a\0\0+\0a\0\0"]


def training(target, device):
    """Return the losses of a few steps on batches of several sizes."""
    with tf.Graph().as_default(), tf.Session(target) as session:
        with tf.device(device):
            x = tf.placeholder(tf.float32, [None, 2])
            w = tf.get_variable("w", initializer=[[1.0], [2.0]])
            loss = tf.reduce_mean(tf.square(tf.matmul(x, w)))
            step = tf.train.get_or_create_global_step()
            train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=step)
        session.run(tf.global_variables_initializer())
        sizes = (3, 3, 1, 4)
        losses = [session.run([loss, train], {x: np.full((n, 2), 0.5)})[0] for n in sizes]
        assert session.run(step) == len(sizes)
        return losses


def test_training_with_a_parameter_server_gives_the_numbers_of_training_alone(target):
    setter = tf.train.replica_device_setter(ps_tasks=1, worker_device=WORKER)
    assert training(target, setter) == training("", None)


@pytest.mark.parametrize("kind", ["reference", "resource"])
def test_branches_reach_over_tasks(target, kind):
    v = on(PS, 1.0, name="v", use_resource=kind == "resource")
    with tf.device(WORKER):
        yes = tf.placeholder(tf.bool, [])
        either = tf.cond(yes, lambda: v * 2, lambda: v.assign_add(10.0) + 0)
        inner = tf.cond(
            yes, lambda: tf.cond(tf.logical_not(yes), lambda: v * 1, lambda: v * 3), lambda: v * 5
        )
    with tf.Session(target) as session:
        session.run(v.initializer)
        assert session.run([either, v], {yes: True}) == [2.0, 1.0]
        assert session.run([either], {yes: False}) == [11.0]
        assert session.run(v) == 11.0
        assert session.run(inner, {yes: True}) == 33.0
        assert session.run(inner, {yes: False}) == 55.0


def test_loops_take_values_of_other_tasks_and_have_gradients(target):
    v = on(PS, 2.0, name="v")
    with tf.device(WORKER):
        _, result = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * v), [0, 1.0])
        (grad,) = tf.gradients(result, [v])
        mapped = tf.map_fn(lambda x: x * v, tf.constant([1.0, 2.0]))
    with tf.Session(target) as session:
        session.run(v.initializer)
        assert session.run([result, grad]) == [8.0, 12.0]
        np.testing.assert_array_equal(session.run(mapped), [2.0, 4.0])


def test_loops_read_variables_of_other_tasks(target):
    v = on(PS, 2.0, name="v", use_resource=True)
    with tf.device(WORKER):
        _, result = tf.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * v), [0, 1.0])
        (grad,) = tf.gradients(result, [v])

        def turn(i, x):
            def by_a_loop():
                return x + tf.map_fn(lambda y: y * v, tf.constant([1.0, 2.0]))[1]

            return i + 1, tf.cond(i < 1, lambda: x + v, by_a_loop)

        _, nested = tf.while_loop(lambda i, x: i < 2, turn, [0, 0.0])
        changing = tf.while_loop(lambda x: x < 3.0, lambda x: v.assign_add(x), [1.0])
    with tf.Session(target) as session:
        session.run(v.initializer)
        assert session.run([result, grad]) == [8.0, 12.0]
        assert session.run(nested) == 6.0
        assert session.run(changing) == 3.0


def test_a_loop_runs_where_its_array_is(target):
    with tf.device(WORKER):
        array = tf.TensorArray(tf.float32, 2)

    def body(i, written):
        with tf.device(OTHER):
            return i + 1, written.write(i, tf.constant(3.0))

    _, written = tf.while_loop(lambda i, _: i < 2, body, [0, array])
    options, metadata = RunOptions(trace_level=RunOptions.FULL_TRACE), tf.RunMetadata()
    with tf.Session(target) as session:
        assert session.run(written.stack(), options=options, run_metadata=metadata).sum() == 6.0
    seen = {s.device: [n.node_name for n in s.node_stats] for s in metadata.step_stats.dev_stats}
    assert [device for device, names in seen.items() if "TensorArray" in names] == [
        "/job:worker/replica:0/task:1/device:CPU:0"
    ]


def test_orders_reach_over_tasks(target):
    v = on(PS, 1.0, name="v")
    with tf.device(PS):
        update = v.assign_add(1.0)
    with tf.device(WORKER), tf.control_dependencies([update]):
        after = tf.constant(5.0) * 1
    with tf.device(PS), tf.control_dependencies([after]):
        seen = v.read_value()
    with tf.Session(target) as session:
        session.run(v.initializer)
        assert session.run([after, seen]) == [5.0, 2.0]


@pytest.mark.parametrize("task", [PS, WORKER])
@pytest.mark.parametrize("use_resource", [False, True])
def test_all_sessions_see_that_a_variable_has_left_its_declared_shape(target, task, use_resource):
    variable = on(task, [1.0, 2.0, 3.0], name="v", use_resource=use_resource)
    with tf.device(task):
        reads = [tf.reduce_sum(variable), variable + 1.0]
    given = np.float32([[1, 2], [3, 4]])
    with tf.Session(target) as session:
        session.run(variable.initializer)
        assert session.run(reads[0]) == 6.0
        session.run(reads)
        with tf.Graph().as_default(), tf.Session(target) as other:
            same = on(task, [1.0, 2.0, 3.0], name="v", use_resource=use_resource)
            value = tf.placeholder(tf.float32)
            other.run(tf.assign(same, value, validate_shape=False).op, {value: given})
        total, more = session.run(reads)
        np.testing.assert_array_equal(session.run(reads[0]), total)
    np.testing.assert_array_equal(total, given.sum(axis=0))  # of the axes of the declared shape
    np.testing.assert_array_equal(more, given + 1)


@pytest.mark.parametrize("use_resource", [False, True])
def test_tasks_take_a_variable_of_another_task_that_has_left_its_shape(target, use_resource):
    variable = on(PS, [1.0, 2.0, 3.0], name="v", use_resource=use_resource)
    with tf.device(WORKER):
        total = tf.reduce_sum(variable + 1.0)
    value = tf.placeholder(tf.float32)
    given = np.float32([[1, 2], [3, 4]])
    with tf.Session(target) as session:
        session.run(variable.initializer)
        assert session.run(total) == 9.0
        with tf.Graph().as_default(), tf.Session(target) as other:
            same = on(PS, [1.0, 2.0, 3.0], name="v", use_resource=use_resource)
            any_shape = tf.placeholder(tf.float32)
            other.run(tf.assign(same, any_shape, validate_shape=False).op, {any_shape: given})
        with pytest.raises(tf.errors.AbortedError, match=r"of shape \[2,2\].* says \[3\]"):
            session.run(total)
        np.testing.assert_array_equal(session.run(total), (given + 1).sum(axis=0))
        change = tf.assign(variable, value, validate_shape=False).op
        session.run(change, {value: given[:1]})
        np.testing.assert_array_equal(session.run(total), given[0] + 1)


def test_random_streams_go_on_whoever_takes_their_values(target):
    with tf.device(WORKER):
        x = tf.random_uniform([], seed=3)
    with tf.device(PS):
        far = x * 1
    with tf.Session(target) as session:
        mixed = [session.run(t) for t in (x, far, x, far)]
    with tf.Session(target) as session:
        assert mixed == [session.run(x) for _ in range(4)]


def test_the_graph_may_grow_between_runs(target):
    v = on(PS, 1.0, name="v")
    with tf.Session(target) as session:
        session.run(v.initializer)
        for number in range(3):
            with tf.device(OTHER):
                assert session.run(v + number) == 1.0 + number


def test_what_is_fed_and_fetched_is_what_was_fed(target):
    v = on(PS, 1.0, name="v")
    with tf.device(OTHER):
        doubled = v * 2
    with tf.Session(target) as session:
        assert session.run([doubled, v], {v: 4.0}) == [8.0, 4.0]
        assert session.make_callable(doubled, [v])(5.0) == 10.0


def test_errors_name_the_task_and_the_operation(target):
    v = on(PS, 1.0, name="v")
    with tf.device(OTHER):
        bad = tf.check_numerics(tf.log(v - 2.0), "oops", name="checked")
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.FailedPreconditionError) as caught:
            session.run(bad)
        assert caught.value.message.startswith(
            "From /job:ps/replica:0/task:0:\nAttempting to use uninitialized value v\n"
        )
        session.run(v.initializer)
        with pytest.raises(
            tf.errors.InvalidArgumentError, match="worker/replica:0/task:1"
        ) as caught:
            session.run(bad)
        assert caught.value.op is bad.op
        assert "oops : Tensor had NaN values" in caught.value.message
        with (
            tf.device("/job:nope"),
            pytest.raises(tf.errors.InvalidArgumentError, match="job:nope"),
        ):
            session.run(tf.constant(1))


def blocking(session, fetch, **kwargs):
    """Run in a thread what waits; give the thread, and where its error will be."""
    errors = []

    def run():
        try:
            session.run(fetch, **kwargs)
        except tf.errors.OpError as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    time.sleep(0.1)
    return thread, errors


@pytest.fixture
def empty(target):
    """Return a value that waits for a queue of the parameter server."""
    with tf.device(PS):
        queue = tf.FIFOQueue(1, tf.float32, shapes=[()], shared_name="barrier")
        taken = queue.dequeue()
    with tf.device(OTHER):
        return target, queue, taken + 1


def test_what_waits_in_another_task_ends_when_the_queue_is_closed(empty):
    target, queue, waits = empty
    with tf.Session(target) as session:
        thread, errors = blocking(session, waits)
        session.run(queue.close())
        thread.join(10)
        assert isinstance(errors[0], tf.errors.OutOfRangeError)
        assert "is closed and has insufficient elements" in errors[0].message


def test_what_waits_in_another_task_ends_with_its_time(empty):
    target, queue, waits = empty
    with tf.Session(target) as session:
        with pytest.raises(tf.errors.DeadlineExceededError, match="Operation timed out"):
            session.run(waits, options=RunOptions(timeout_in_ms=100))
        session.run(queue.enqueue(3.0))  # it has not been taken by who waited
        assert session.run(waits) == 4.0


@pytest.mark.parametrize("milliseconds", range(1, 8))
def test_a_time_limit_says_the_same_while_tasks_are_reached(empty, milliseconds):
    target, _, waits = empty
    with (
        tf.Session(target) as session,
        pytest.raises(tf.errors.DeadlineExceededError, match=r"^Operation timed out\.$"),
    ):
        session.run(waits, options=RunOptions(timeout_in_ms=milliseconds))


def test_what_waits_in_another_task_ends_with_the_session(empty):
    target, _, waits = empty
    session = tf.Session(target)
    thread, errors = blocking(session, waits)
    session.close()
    thread.join(10)
    assert isinstance(errors[0], tf.errors.CancelledError)
    assert "Session::Close()" in errors[0].message


def test_workers_wait_for_each_other_by_a_queue(cluster, empty):
    _, queue, waits = empty
    with tf.Session(cluster[0]) as one, tf.Session(cluster[1]) as other:
        found = []
        thread = threading.Thread(target=lambda: found.append(one.run(waits)), daemon=True)
        thread.start()
        other.run(queue.enqueue(1.0))
        thread.join(10)
        assert found == [2.0]


def test_a_session_may_be_on_a_task_that_it_reaches_by_its_port(cluster, target):
    from stillflow.runtime.cluster import access
    from stillflow.runtime.cluster.master import Master

    v = on(PS, 1.0, name="v")
    remote = access.RemoteTask(cluster[2])
    assert remote.task == ("ps", 0)
    session = tf.Session(cluster[2])
    session._server = remote
    session._master = Master(remote, session.graph, None, lambda: None)
    with session:
        assert session.list_devices()[0].name == "/job:ps/replica:0/task:0/device:CPU:0"
        session.run(v.initializer)
        assert session.run([v, v + 1.0]) == [1.0, 2.0]


def test_queue_runners_fill_queues_of_other_tasks(target, tmp_path):
    path = str(tmp_path / "lines")
    with open(path, "w") as file:
        file.write("\n".join(map(str, range(50))))
    with tf.device(PS):
        queue = tf.FIFOQueue(100, tf.string, shapes=[()], shared_name="lines")
        taken, size = queue.dequeue(), queue.size()
    with tf.device(WORKER):
        names = tf.train.string_input_producer([path], num_epochs=1)
        _, line = tf.TextLineReader().read(names)
        tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(line)]))
    with tf.Session(target) as session:
        session.run(tf.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(session, coordinator)
        found = [int(session.run(taken)) for _ in range(50)]
        coordinator.request_stop()
        coordinator.join(threads)
        assert found == list(range(50))
        assert session.run(size) == 0


def test_runs_of_several_tasks_go_in_steps(target):
    a, b, c = (tf.placeholder(tf.float32, [2], name=name) for name in "abc")
    v = on(PS, [0.0, 0.0], name="v")
    with tf.device(PS):
        noise = tf.random_uniform([2], seed=1)
        added = tf.assign_add(v, a + noise, name="added")
    with tf.device(OTHER):
        first = added * 2.0
    with tf.device(WORKER):
        with tf.control_dependencies([first]):
            second = first + b + noise
        third = second * c
    with tf.Session(target) as session:
        session.run(v.initializer)
        for _ in range(2):
            before = session.run(v)
            handle = session.partial_run_setup([first, second, third], [a, b, c])
            one = session.partial_run(handle, first, {a: [1.0, 2.0]})
            two = session.partial_run(handle, second, {b: [10.0, 20.0]})
            drawn = one / 2.0 - before - [1.0, 2.0]
            np.testing.assert_allclose(two, one + [10.0, 20.0] + drawn, rtol=1e-6)
            with pytest.raises(tf.errors.InvalidArgumentError, match="has already been fed"):
                session.partial_run(handle, third, {b: [0.0, 0.0]})
            assert (
                session.partial_run(handle, third, {c: [2.0, 2.0]}).tolist() == (two * 2).tolist()
            )
            with pytest.raises(tf.errors.InvalidArgumentError, match="Must run 'setup'"):
                session.partial_run(handle, third)
            np.testing.assert_array_equal(session.run(v), one / 2.0)  # it was assigned once
        handle = session.partial_run_setup([first, second], [a, b])
        with pytest.raises(tf.errors.InvalidArgumentError, match="can't be computed"):
            session.partial_run(handle, second, {b: [1.0, 1.0]})
        with tf.device(WORKER):
            handle = session.partial_run_setup([tf.constant(3, name="three")])
        assert session.partial_run(handle, "three:0") == 3


def test_steps_keep_scalars_and_strings(target):
    a, b = (tf.placeholder(tf.float32, [], name=name) for name in "ab")
    with tf.device(PS):
        sum_there = a + 1.0
        text = tf.as_string(sum_there, precision=1)
    with tf.device(OTHER):
        product = sum_there * b
        joined = tf.strings.join([text, tf.as_string(b, precision=1)], "/")
    with tf.Session(target) as session:
        handle = session.partial_run_setup([sum_there, text, product, joined], [a, b])
        assert session.partial_run(handle, [sum_there, text], {a: 1.0}) == [2.0, b"2.0"]
        assert session.partial_run(handle, [product, joined], {b: 3.0}) == [6.0, b"2.0/3.0"]


def test_tensors_of_all_tasks_are_watched(target, tmp_path):
    v = on(PS, 1.0, name="v")
    x = tf.placeholder(tf.float32, [], name="x")
    with tf.device(f"{PS}/device:CPU:0"):
        sum_there = tf.add(v, 2.0, name="sum_there")
    with tf.device(f"{OTHER}/device:CPU:0"):
        taken = tf.cond(x > 0.0, lambda: sum_there * 3.0, lambda: sum_there - 3.0, name="choice")
        product = tf.multiply(taken, x, name="product")
        turns = tf.while_loop(lambda i: i < 3.0, lambda i: tf.add(i, 1.0, name="turn"), [product])
    options = RunOptions(output_partition_graphs=True)
    watch_graph(options, tf.get_default_graph(), debug_urls=f"file://{tmp_path}")
    metadata = tf.RunMetadata()
    with tf.Session(target) as session:
        session.run(v.initializer)
        values = session.run([product, turns], {x: 0.25}, options=options, run_metadata=metadata)
        assert values == [2.25, 3.25]
    dump = DebugDumpDir(str(tmp_path), partition_graphs=metadata.partition_graphs)
    ps, other = (f"{name.replace('/task', '/replica:0/task')}/device:CPU:0" for name in (PS, OTHER))
    assert {ps, other} <= {*dump.devices()}
    assert dump.get_tensors("sum_there", 0, "DebugIdentity", ps) == [3.0]
    assert dump.get_tensors("product", 0, "DebugIdentity", other) == [2.25]
    assert dump.get_tensors("while/turn", 0, "DebugIdentity", other) == [3.25]
    names = {datum.node_name for datum in dump.dumped_tensor_data}
    assert "choice/mul" in names and "choice/sub" not in names
    assert dump.core_metadata.session_run_index == 0
    assert dump.core_metadata.output_names == ["product:0", turns.name]


def test_all_tasks_of_a_run_are_traced(target):
    v = on(PS, 1.0, name="v")
    with tf.device(OTHER):
        doubled = tf.multiply(v, 2.0, name="doubled")
    metadata = tf.RunMetadata()
    options = RunOptions(trace_level=RunOptions.FULL_TRACE, output_partition_graphs=True)
    with tf.Session(target) as session:
        session.run(v.initializer)
        assert session.run(doubled, options=options, run_metadata=metadata) == 2.0
    seen = {s.device: [n.node_name for n in s.node_stats] for s in metadata.step_stats.dev_stats}
    assert "v/read" in seen["/job:ps/replica:0/task:0/device:CPU:0"]
    assert "doubled" in seen["/job:worker/replica:0/task:1/device:CPU:0"]
    assert len(metadata.partition_graphs) == 2


def test_state_is_reset_container_by_container_in_all_tasks(target):
    with tf.container("kept"):
        kept = on(PS, 1.0, name="kept")
    with tf.container("gone"):
        gone = on(OTHER, 1.0, name="gone")
    with tf.Session(target) as session:
        session.run([kept.initializer, gone.initializer])
        tf.Session.reset(target, ["gone"])
        with pytest.raises(tf.errors.AbortedError):
            session.run(kept)
    with tf.Session(target) as session:
        assert session.run(kept) == 1.0
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(gone)


def test_device_filters_leave_tasks_out(target):
    config = tf.ConfigProto(device_filters=["/job:ps"])
    with tf.Session(target, config=config) as session:
        names = {device.name.rpartition("/device")[0] for device in session.list_devices()}
        assert names == {"/job:worker/replica:0/task:0", "/job:ps/replica:0/task:0"}
        with tf.device(OTHER), pytest.raises(tf.errors.InvalidArgumentError, match="available"):
            session.run(tf.constant(1))


def test_writes_that_nothing_orders_keep_no_task_waiting(target):
    rows, numbers = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([4.0, 5.0])
    options = tf.ConfigProto(operation_timeout_in_ms=20000)
    for dtype in (tf.float64, tf.float32) * 3:  # which part comes first is by chance
        with tf.Graph().as_default(), tf.Session(target, config=options) as session:
            with tf.device(PS):
                matrix, vector = tf.Variable(rows, dtype=dtype), tf.Variable(numbers, dtype=dtype)
            with tf.device(WORKER):
                optimizer = tf.contrib.opt.VariableClippingOptimizer(
                    tf.train.GradientDescentOptimizer(3.0), {matrix: [1]}, 2.0
                )
                step = optimizer.apply_gradients([
                    (tf.fill([2, 2], tf.constant(0.1, dtype)), matrix),
                    (tf.constant([0.01, 0.01], dtype), vector),
                ])  # fmt: skip
            session.run(tf.global_variables_initializer())
            session.run(step)
            changed = np.array([1.7, 2.7]) * 2 / np.linalg.norm([1.7, 2.7])
            np.testing.assert_allclose(session.run(matrix), [[-0.3, 0.7], changed], 1e-6)
            np.testing.assert_allclose(session.run(vector), [3.97, 4.97], 1e-6)
