"""Work that another thread takes while the plan goes on."""

from __future__ import annotations

import threading
from queue import SimpleQueue

import numpy as np
import pytest
import torch
from tests.runtime.hand_written import call, outputs

import stillflow as tf
from stillflow import native
from stillflow.ops import worker_calls
from stillflow.ops.summary import buckets
from stillflow.ops.summary.histograms import TaggedHistograms
from stillflow.runtime.devices.devices import gpu_count
from stillflow.runtime.ir.step_graph import StepGraph
from stillflow.runtime.schedule import overlap

MANY = 1 << 7
pytestmark = pytest.mark.usefixtures("either_way")


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture(autouse=True)
def two_processors(monkeypatch):
    monkeypatch.setattr(overlap, "processors", lambda: 2)


@pytest.fixture
def slow(monkeypatch):
    """Histograms that are worth another thread: none is where the loop in C counts."""
    monkeypatch.setattr(native, "library", lambda: None)


@pytest.fixture
def threads(monkeypatch):
    """Return the threads in which histograms were counted."""
    found = []

    def noting(count):
        def noted(*args):
            found.append(threading.current_thread().name)
            return count(*args)

        return noted

    for place, name in ((buckets, "histogram"), (TaggedHistograms, "__call__")):
        monkeypatch.setattr(place, name, noting(getattr(place, name)))
    return found


def large(**keywords):
    values = np.random.RandomState(0).randn(3 * MANY).astype("f")
    return tf.get_variable("w", initializer=values, **keywords)


def counted(summary):
    (value,) = tf.Summary.FromString(summary).value
    return value.histo


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_histogram_shows_a_variable_as_it_was_before_its_update(threads, use_resource):
    w = large(use_resource=use_resource)
    summary = tf.summary.histogram("w", w)
    with tf.control_dependencies([summary]):
        update = w.assign(w + 100.0)
    merged = tf.summary.merge_all()
    with tf.Session() as session:
        session.run(w.initializer)
        for turn in range(3):
            content, _ = session.run([merged, update.op])
            assert counted(content).min < 100 * turn + 50
            assert counted(content).num == 3 * MANY
    assert gpu_count() or len(threads) == 3


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_histogram_shows_a_variable_as_the_optimizer_found_it(threads, use_resource):
    w = large(use_resource=use_resource)
    train = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(w))
    summary = tf.summary.histogram("w", w)
    with tf.Session() as session:
        session.run(w.initializer)
        for _ in range(3):
            before = session.run(w)
            content, _ = session.run([summary, train])
            assert counted(content).max == before.max()
            np.testing.assert_allclose(session.run(w), before - 1, rtol=1e-5)
    assert len(threads) == 3


@pytest.mark.parametrize("use_resource", [False, True])
def test_a_histogram_shows_what_the_program_assigned(use_resource):
    w = large(use_resource=use_resource)
    assign = w.assign(tf.fill(w.shape, 7.0))
    summary = tf.summary.histogram("w", w)
    with tf.Session() as session:
        content, _, _ = session.run([summary, assign.op, w.initializer])
    assert (counted(content).min, counted(content).max) == (7, 7)


def test_what_no_thread_has_begun_the_plan_does(slow, threads, monkeypatch):
    calls = SimpleQueue()  # nobody takes from it
    monkeypatch.setattr(worker_calls, "_helpers", lambda: calls)
    w = large()
    twice = 2 * w
    train = tf.train.GradientDescentOptimizer(1.0).minimize(tf.reduce_sum(w))
    tf.summary.histogram("w", w)
    tf.summary.histogram("twice", twice)
    merged = tf.summary.merge_all()
    with tf.Session() as session:
        session.run(w.initializer)
        before = session.run(w)
        content, _ = session.run([merged, train])
    maxima = [value.histo.max for value in tf.Summary.FromString(content).value]
    assert maxima == [before.max(), 2 * before.max()]  # copied before the training changed it
    assert threads == 2 * [threading.current_thread().name] and calls.qsize() == 2


def test_no_result_is_written_over_what_is_counted():
    x = tf.placeholder(tf.float32, [1 << 16])
    doubled = x * 2
    summary = tf.summary.histogram("doubled", doubled)
    result = tf.exp(tf.negative(tf.square(doubled)))  # which would take the memory of `doubled`
    values = np.random.RandomState(0).randn(1 << 16).astype("f")
    with tf.Session() as session:
        content, _ = session.run([summary, result.op], {x: values})
    assert counted(content).sum == (2 * values).astype("d").cumsum()[-1]


def test_what_goes_wrong_there_names_the_operation():
    x = tf.placeholder(tf.float32)
    summary = tf.summary.histogram("weights", x)
    feed = np.full(2 * MANY, np.nan)
    with tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match="Nan in summary") as e:
            session.run([summary, x], {x: feed})
        assert "histogram for: weights" in e.value.message and e.value.op is summary.op
        with pytest.raises(tf.errors.InvalidArgumentError, match="Nan in summary"):
            session.run(summary.op, {x: feed})


def test_what_takes_a_summary_waits_for_it():
    x = tf.placeholder(tf.float32)
    summary = tf.summary.histogram("w", x)
    length = tf.strings.length(summary)
    doubled = length * 2
    feed = {x: np.arange(2.0 * MANY)}
    with tf.Session() as session:
        content, twice = session.run([summary, doubled], feed)
    assert twice == 2 * len(content)


def test_a_processor_is_left_to_the_other_thread(slow):
    x = tf.placeholder(tf.float32)
    summary = tf.summary.histogram("w", x)
    seen = []

    def look(_):
        seen.append(torch.get_num_threads())
        return 0

    threads = tf.py_func(look, [x], tf.int64)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with tf.Session() as session:
            session.run([summary, threads], {x: np.ones(2 * MANY)})
            session.run(threads, {x: np.ones(2 * MANY)})
        assert (seen, torch.get_num_threads()) == ([2, 3], 3)
    finally:
        torch.set_num_threads(before)


def test_a_summary_under_a_condition_runs_where_it_stands():
    x = tf.placeholder(tf.float32)
    wanted = tf.placeholder(tf.bool, [])
    summary = tf.cond(wanted, lambda: tf.summary.histogram("w", x), lambda: tf.constant(b""))
    with tf.Session() as session:
        values = np.ones(2 * MANY)
        assert session.run(summary, {x: values, wanted: False}) == b""
        assert counted(session.run(summary, {x: values, wanted: True})).num == values.size


def test_each_operation_is_traced_once():
    x = tf.placeholder(tf.float32)
    summary = tf.summary.histogram("w", x)
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    metadata = tf.RunMetadata()
    with tf.Session() as session:
        session.run(summary, {x: np.zeros(2 * MANY)}, options, metadata)
    names = [node.node_name for stats in metadata.step_stats.dev_stats for node in stats.node_stats]
    assert names.count("w") == 1


def test_what_is_counted_fast_stays_in_the_thread_of_the_plan(either_way, threads):
    w = large()
    summary = tf.summary.histogram("w", w)
    with tf.Session() as session:
        session.run(w.initializer)
        session.run([summary, w.op])
    here = threading.current_thread().name
    assert either_way == "plain" or threads == [here]


class Begins:
    """Kernel that begins its work itself, as collective operations do."""

    is_ordered = False

    def begin(self, value):
        raise NotImplementedError

    def __call__(self, value):
        raise NotImplementedError


@pytest.mark.parametrize("processors", [1, 2])
def test_kernels_that_begin_their_work_do_so_when_their_input_is_there(monkeypatch, processors):
    monkeypatch.setattr(overlap, "processors", lambda: processors)
    steps = [
        call("Mul", "grad_2", "x_2", "dy"), call("Mul", "dx", "dy", "w_2"),
        call("Mul", "grad_1", "x_1", "dx"), call("Neg", "sent_1", "grad_1"),
        call("Neg", "sent_2", "grad_2"), call("Exp", "sum_1", "sent_1", function=Begins()),
        call("Exp", "sum_2", "sent_2", function=Begins()), call("Add", "total", "sum_1", "sum_2"),
    ]  # fmt: skip
    graph = StepGraph(steps, results=["total"], feeds=["x_1", "x_2", "dy", "w_2"])
    overlap.overlap(graph)
    assert outputs(graph) == [
        "grad_2", "sent_2", "sum_2_begun", "dx", "grad_1", "sent_1", "sum_1_begun", "sum_1",
        "sum_2", "total",
    ]  # fmt: skip
