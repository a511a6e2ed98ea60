"""Steps on a CUDA device, real or simulated, that are replayed as graphs."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest
import torch

import stillflow as tf

# What a device has for a graph when it has no room.
NO_ROOM = (0, 1 << 30)


@pytest.fixture
def replays(cuda, monkeypatch):
    """Yield the graphs that ran, one entry for each replay."""
    found = []
    replay = torch.cuda.CUDAGraph.replay

    def noted(self):
        found.append(self)
        replay(self)

    monkeypatch.setattr(torch.cuda.CUDAGraph, "replay", noted)
    monkeypatch.delenv("STILLFLOW_CUDA_GRAPHS", raising=False)
    with tf.Graph().as_default():
        yield found


def chain(x, times=8):
    """Return a few operations, enough to be captured."""
    for _ in range(times):
        x = tf.tanh(x * 0.5 + 0.1)
    return x


def by_numpy(x, times=8):
    for _ in range(times):
        x = np.tanh(x * 0.5 + 0.1)
    return x


def test_the_third_run_is_a_graph(replays):
    x = tf.placeholder(tf.float32, [4])
    y = chain(x)
    with tf.Session() as session:
        found = [session.run(y, {x: np.full(4, n)}) for n in range(6)]
    np.testing.assert_allclose(found, [by_numpy(np.full(4, n)) for n in range(6)], rtol=1e-4)
    assert len(replays) == 4 and len(set(replays)) == 1


def test_an_environment_can_do_without(replays, monkeypatch):
    monkeypatch.setenv("STILLFLOW_CUDA_GRAPHS", "0")
    y = chain(tf.fill([4], tf.placeholder_with_default(1.0, [])))
    with tf.Session() as session:
        for _ in range(5):
            session.run(y)
    assert not replays


def test_a_device_without_room_keeps_no_graphs(replays, monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device=None: NO_ROOM)
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device=None: -1)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device=None: 0)
    x = tf.placeholder(tf.float32, [4])
    y = chain(x)
    with tf.Session() as session:
        for n in range(5):
            found = session.run(y, {x: np.full(4, n)})
            np.testing.assert_allclose(found, by_numpy(np.full(4, n)), rtol=1e-4)
    assert not replays


def test_each_size_has_a_graph_of_its_own(replays):
    x = tf.placeholder(tf.float32, [None])
    y = chain(x)
    with tf.Session() as session:
        for n in (3, 5, 3, 5, 3, 5, 3, 5):
            x_now = np.arange(n)
            np.testing.assert_allclose(session.run(y, {x: x_now}), by_numpy(x_now), rtol=1e-4)
    assert len(set(replays)) == 2


def test_of_many_sizes_some_have_graphs(replays):
    x = tf.placeholder(tf.float32, [None])
    y = chain(x)
    with tf.Session() as session:
        for turn in range(4):
            for n in range(1, 25):
                found = session.run(y, {x: np.arange(n) * turn})
                np.testing.assert_allclose(found, by_numpy(np.arange(n) * turn), rtol=1e-4)
    assert 10 < len(set(replays)) <= 24 and len(replays) > 20


def test_variables_change_where_they_are(replays):
    x = tf.placeholder(tf.float32, [4])
    v = tf.Variable(tf.ones([4]))
    step = tf.train.GradientDescentOptimizer(0.1).minimize(tf.reduce_sum(chain(v * x)))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run(step, {x: np.ones(4)})
        assert replays
        before = session.run(v)
        v.load(np.full(4, 7.0), session)
        session.run(step, {x: np.zeros(4)})
        np.testing.assert_array_equal(session.run(v), np.full(4, 7.0))
        session.run(tf.global_variables_initializer())
        session.run(step, {x: np.zeros(4)})
        np.testing.assert_array_equal(session.run(v), np.ones(4))
    assert (before < 1).all()


def test_what_was_fetched_stays_what_it_is(replays):
    v = tf.Variable(tf.zeros([3]))
    total = chain(v.assign_add(tf.ones([3])), 6) * 0 + v
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run(total) for _ in range(6)]
    assert [list(each) for each in found] == [[n] * 3 for n in range(1, 7)]
    assert replays


def test_resource_variables_are_read_as_they_were(replays):
    v = tf.get_variable("v", [3], initializer=tf.zeros_initializer(), use_resource=True)
    before = v.read_value()
    with tf.control_dependencies([before]):
        assign = v.assign(chain(before, 6) * 0 + before + 1)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = [session.run([before, assign])[0][0] for _ in range(7)]
        assert found == list(range(7)) and session.run(v)[0] == 7
    assert replays


@pytest.mark.parametrize("optimizer", [
    lambda rate: tf.train.GradientDescentOptimizer(rate),
    lambda rate: tf.train.MomentumOptimizer(rate, 0.9),
    lambda rate: tf.train.AdamOptimizer(rate),
    lambda rate: tf.train.RMSPropOptimizer(rate),
])  # fmt: skip
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_a_rate_may_change_with_every_step(replays, optimizer, dtype):
    rate = tf.placeholder(dtype, [])
    v = tf.Variable(tf.ones([4], dtype))
    step = optimizer(rate).minimize(tf.reduce_sum(chain(v)))

    def learned(config):
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            for n in range(6):
                session.run(step, {rate: 0.1 * (n + 1)})
            return session.run(v)

    on_cpu = learned(tf.ConfigProto(device_count={"GPU": 0}))
    np.testing.assert_allclose(learned(None), on_cpu, rtol=1e-4)
    assert replays


def test_seeded_numbers_go_on_in_their_stream(replays):
    y = chain(tf.random_uniform([5], seed=3) + tf.random_normal([5], seed=4))

    def drawn(config):
        with tf.Session(config=config) as session:
            return [session.run(y) for _ in range(6)]

    on_cpu = drawn(tf.ConfigProto(device_count={"GPU": 0}))
    np.testing.assert_allclose(drawn(None), on_cpu, rtol=1e-4, atol=1e-5)
    assert replays


def test_numbers_without_a_seed_are_new_each_time(replays):
    y = chain(tf.random_uniform([50]), 6)
    with tf.Session() as session:
        found = {session.run(y).tobytes() for _ in range(6)}
    assert len(found) == 6 and replays


def test_what_waits_for_the_device_parts_a_graph(replays):
    x = tf.placeholder(tf.float32, [6])
    first = chain(x)
    y = tf.reduce_sum(chain(first)) + tf.cast(tf.shape(tf.where(first > 0.3))[0], tf.float32)
    with tf.Session() as session:
        for n in range(6):
            x_now = np.linspace(-n, n, 6)
            once = by_numpy(x_now)
            expected = by_numpy(once).sum() + (once > 0.3).sum()
            np.testing.assert_allclose(session.run(y, {x: x_now}), expected, rtol=1e-4)
    assert replays


def summaries_of_training(numbers):
    """Return steps of a training, with histograms of variables and halves, and scalars."""
    w = tf.Variable(numbers.reshape(4, -1), name="w")
    b, none = tf.Variable(tf.zeros([0, 3])), tf.Variable(numbers[8:16])
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.ones([3, 4]), w))) + tf.reduce_sum(none)
    train = tf.train.GradientDescentOptimizer(1.0).minimize(loss)
    for name, shown in {"w": w, "b": b, "none": none, "half": tf.cast(w[1], tf.half)}.items():
        tf.summary.histogram(name, shown)
    tf.summary.scalar("loss", loss)
    tf.summary.scalar("double", tf.cast(loss, tf.float64))
    return [train, loss, tf.summary.merge_all()]


def test_summaries_do_not_part_a_graph(replays):
    numbers = np.random.RandomState(0).randn(4096).astype(np.float32)
    numbers[:8] = [0, -0.0, 1e-30, -1e-13, 1e-12, 1.1, -1, 3e4]
    fetches = summaries_of_training(numbers)
    init = tf.global_variables_initializer()
    found = {}
    for count in (1, 0):
        with tf.Session(config=tf.ConfigProto(device_count={"GPU": count})) as session:
            session.run(init)
            found[count] = [session.run(fetches) for _ in range(4)]
    assert len(replays) == 2
    for mine, plain in zip(found[1], found[0], strict=True):
        np.testing.assert_allclose(mine[1], plain[1], rtol=1e-5)
        same(tf.Summary.FromString(mine[2]), tf.Summary.FromString(plain[2]))


def same(mine, plain):
    """Return True if summaries are the same but for the rounding of sums."""
    assert [value.tag for value in mine.value] == [value.tag for value in plain.value]
    for a, b in zip(mine.value, plain.value, strict=True):
        assert a.histo.bucket == b.histo.bucket
        assert a.histo.bucket_limit == b.histo.bucket_limit
        for field in ("min", "max", "num", "sum", "sum_squares"):
            wanted = pytest.approx(getattr(b.histo, field), rel=1e-5, abs=1e-5)
            assert getattr(a.histo, field) == wanted
        assert a.simple_value == pytest.approx(b.simple_value, rel=1e-5)


def test_a_traced_run_is_a_graph_that_tells_when_it_was_where(replays):
    x = tf.placeholder(tf.float32, [4])
    w = tf.Variable(tf.ones([4]))
    y = chain(x * w)
    train = tf.train.AdamOptimizer().minimize(tf.reduce_sum(y))
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        traces = []
        for n in range(4):
            traces.append(tf.RunMetadata())
            before = time.time_ns()
            session.run([y, train], {x: np.full(4, n)}, options, traces[-1])
            after = time.time_ns()
    assert len(replays) == 2 and len(set(replays)) == 1
    first, *_, last = [nodes_of(trace) for trace in traces]
    assert {"Tanh_7", "Adam/update_Variable/ApplyAdam"} < {node.node_name for node in last}
    assert [node.node_name for node in last] == [node.node_name for node in first]
    assert [node.output for node in last] == [node.output for node in first]
    starts = [node.all_start_nanos for node in last]
    ends = [node.all_start_nanos + node.all_end_rel_nanos for node in last]
    assert before < starts[0] and ends[-1] < after
    assert starts == sorted(starts) and ends == sorted(ends)


def nodes_of(trace):
    """Return the kernels that ran on the GPU."""
    (device,) = [each for each in trace.step_stats.dev_stats if each.device.endswith("GPU:0")]
    return device.node_stats


def test_ends_of_a_graph_are_moved_with_it(replays):
    x, large = tf.placeholder(tf.float32, [4]), tf.placeholder(tf.float32, [5, 1 << 20])
    y = chain(x)
    # What is last is too large for memory of its own.
    fetches = [y, tf.reduce_sum(y), y > 0, chain(large)]
    with tf.Session() as session:
        feeds = {x: np.arange(4.0), large: np.full([5, 1 << 20], 0.5)}
        found = [session.run(fetches, feeds) for _ in range(4)]
        feeds[x][:] = 0
        session.run(fetches, feeds)
    assert len(replays) == 3
    for each in found:
        np.testing.assert_allclose(each[0], by_numpy(np.arange(4.0)), rtol=1e-5)
        np.testing.assert_allclose(each[1], by_numpy(np.arange(4.0)).sum(), rtol=1e-5)
        assert each[2].tolist() == [True] * 4
        np.testing.assert_allclose(each[3][::4, ::999], by_numpy(0.5), rtol=1e-5)


@pytest.mark.parametrize(("number", "what"), [(np.nan, "Nan"), (-np.inf, "Infinity")])
def test_a_summary_of_a_number_that_is_not_finite_is_an_error(replays, number, what):
    x = tf.placeholder(tf.float32, [3])
    shown = {"fine": chain(x[:1]), "bad": chain(x) * x}
    merged = tf.summary.merge([tf.summary.histogram(*each) for each in shown.items()])
    with tf.Session() as session:
        for _ in range(3):
            session.run(merged, {x: [1, 2, 3]})
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"{what} in .*for: bad"):
            session.run(merged, {x: [1, number, 3]})


def test_fed_truth_values_and_batches_of_data_sets_do_not_part_a_graph(replays):
    numbers = np.random.RandomState(0).randn(8, 6, 6, 3).astype(np.float32)
    dataset = tf.data.Dataset.from_tensor_slices(numbers).repeat().batch(4)
    x, training = dataset.make_one_shot_iterator().get_next(), tf.placeholder(tf.bool, [])
    start = tf.random_uniform_initializer(seed=5)
    y = tf.layers.conv2d(x, 4, 3, kernel_initializer=start)
    y = tf.layers.batch_normalization(y, training=training)
    loss = tf.reduce_mean(tf.square(tf.layers.dropout(y, 0.5, seed=1, training=training)))
    with tf.control_dependencies(tf.get_collection(tf.GraphKeys.UPDATE_OPS)):
        train = tf.train.AdamOptimizer().minimize(loss)
    init = tf.global_variables_initializer()
    found = []
    for count in (1, 0):
        with tf.Session(config=tf.ConfigProto(device_count={"GPU": count})) as session:
            session.run(init)
            steps = [session.run([loss, train], {training: True})[0] for _ in range(6)]
            found.append([*steps, *(session.run(loss, {training: False}) for _ in range(4))])
        assert len(replays) == 4  # to compute a loss is too little for a graph
        assert len(set(map(id, replays))) == 1
    np.testing.assert_allclose(found[0], found[1], rtol=1e-4)


def test_a_loop_of_constant_length_is_one_graph(replays):
    x = tf.placeholder(tf.float32, [3, 4, 2])
    cell = tf.nn.rnn_cell.GRUCell(5, kernel_initializer=tf.ones_initializer())
    outputs, _ = tf.nn.dynamic_rnn(cell, x, dtype=tf.float32)
    gradient = tf.gradients(tf.reduce_sum(outputs**2), cell.trainable_variables)
    values = np.linspace(-1, 1, 24).reshape(3, 4, 2)

    def results(config):
        with tf.Session(config=config) as session:
            session.run(tf.global_variables_initializer())
            return [session.run(gradient, {x: values * n}) for n in range(5)]

    for expected, found in zip(results(tf.ConfigProto(device_count={"GPU": 0})), results(None)):
        for one, other in zip(expected, found):
            np.testing.assert_allclose(other, one, rtol=1e-3, atol=1e-5)
    assert len(replays) == 3 and len(set(replays)) == 1


def test_of_other_loops_each_turn_is_a_graph(replays):
    x, turns = tf.placeholder(tf.float32, [4]), tf.placeholder(tf.int32, [])
    _, y = tf.while_loop(lambda i, x: i < turns, lambda i, x: (i + 1, chain(x)), [0, x])
    with tf.Session() as session:
        for n in range(1, 5):
            np.testing.assert_allclose(
                session.run(y, {x: np.arange(4), turns: n}),
                by_numpy(np.arange(4), 8 * n),
                rtol=1e-4,
            )
    assert len(replays) > 4


def test_a_branch_is_a_graph_where_it_is_taken(replays):
    x, which = tf.placeholder(tf.float32, [4]), tf.placeholder(tf.bool, [])
    y = tf.cond(which, lambda: chain(x), lambda: -chain(x, 10))
    with tf.Session() as session:
        for n in range(10):
            x_now, truth = np.arange(4) * n, n % 3 > 0
            expected = by_numpy(x_now) if truth else -by_numpy(x_now, 10)
            np.testing.assert_allclose(
                session.run(y, {x: x_now, which: truth}), expected, rtol=1e-4
            )
    assert len(set(replays)) == 2


def test_an_error_names_the_operation(replays):
    x, y = (tf.placeholder(tf.float32, [None]) for _ in range(2))
    total = chain(tf.add(chain(x), y, name="together"))
    with tf.Session() as session:
        for _ in range(4):
            session.run(total, {x: np.ones(3), y: np.ones(3)})
        with pytest.raises(tf.errors.InvalidArgumentError, match="together"):
            session.run(total, {x: np.ones(3), y: np.ones(2)})
        assert np.isfinite(session.run(total, {x: np.ones(3), y: np.ones(3)})).all()
    assert replays


def test_sessions_that_are_gone_leave_room_for_others(replays):
    x = tf.placeholder(tf.float32, [4])
    y = chain(x)
    for number in range(3):
        with tf.Session() as session:
            for _ in range(4):
                found = session.run(y, {x: np.ones(4)})
                np.testing.assert_allclose(found, by_numpy(np.ones(4)), rtol=1e-4)
        assert len(set(replays)) == number + 1


def test_threads_take_turns(replays):
    v = tf.Variable(tf.zeros([4]))
    x = tf.placeholder(tf.float32, [4])
    add = v.assign_add(tf.ones([4]) + 0 * chain(x))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())

        def work():
            for _ in range(20):
                session.run(add.op, {x: np.ones(4)})

        for _ in range(3):
            session.run(add.op, {x: np.ones(4)})
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert list(session.run(v)) == [63.0] * 4
    assert replays
