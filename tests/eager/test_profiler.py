"""Profiles: runs of sessions with their operations, and eager operations."""

from __future__ import annotations

import os
import threading

import pytest

import stillflow as tf
from stillflow.eager import profiler
from stillflow.eager.immediate import ImmediateGraph
from stillflow.protos import file
from stillflow.runtime.session.session import BaseSession


def read(result):
    trace = file("tensorflow/core/protobuf/trace_events.proto")["Trace"]()
    trace.ParseFromString(result)
    return trace


def told(event):
    return event.name, event.args.get("long name", "")


def test_tells_what_runs_of_sessions_consist_of():
    with tf.Graph().as_default():
        with tf.device("/cpu:1"):
            a = tf.placeholder(tf.float32, [None, 3], name="a")
            b = tf.tanh(tf.matmul(a, a, name="product"), name="th")
        with tf.Session(config=tf.ConfigProto(device_count={"CPU": 2})) as session:
            feeds = {a: [[1.0, 2.0, 3.0]] * 3}
            expected = session.run(b, feeds)
            profiler.start()
            assert (session.run(b, feeds) == expected).all()
            other = threading.Thread(target=session.run, args=(b.op.inputs[0], feeds))
            other.start()
            other.join()
            trace = read(profiler.stop())
            session.run(b, feeds)  # which nobody looks at
    assert trace.devices[0].name == "/host:CPU"
    rows = {row.name for row in trace.devices[0].resources.values()}
    assert rows == {"0", "python", "tf_Compute"}
    names = [told(event) for event in trace.trace_events]
    assert sorted(names) == [
        ("MatMul", "product:MatMul"), ("MatMul", "product:MatMul"), ("SessionRun ", ""),
        ("SessionRun ", ""), ("Tanh", "th:Tanh"),
    ]  # fmt: skip
    for event in trace.trace_events:
        if event.name == "Tanh":
            assert event.args["label"].endswith("device:CPU:1,async=false")
    runs = [event for event in trace.trace_events if event.name == "SessionRun "]
    assert runs[0].resource_id != runs[1].resource_id  # of two threads
    assert runs[0].args["label"] != runs[1].args["label"]


def test_fills_the_metadata_that_a_run_asked_for():
    with tf.Graph().as_default(), tf.Session() as session:
        metadata = tf.RunMetadata()
        profiler.start()
        session.run(tf.constant(1) + 1, run_metadata=metadata)
        assert read(profiler.stop()).trace_events
        assert metadata.step_stats.dev_stats


def test_tells_what_runs_at_once(eager):
    double = tf.function(lambda x: x * 2.0)
    x = tf.ones([2, 2])
    double(x)
    profiler.start()
    assert float(double(tf.matmul(x, x))[0, 0]) == 4.0
    names = [told(event) for event in read(profiler.stop()).trace_events]
    assert ("MatMul", "MatMul:MatMul") in names
    assert any(long_name.startswith("FunctionRun:__inference") for _, long_name in names)


def test_one_at_a_time_and_nothing_remains():
    plain = BaseSession.run, ImmediateGraph._run
    with pytest.raises(profiler.ProfilerNotRunningError, match="No profiler is running"):
        profiler.stop()
    profiler.start()
    with pytest.raises(profiler.ProfilerAlreadyRunningError, match="Another profiler is running"):
        profiler.start()
    assert profiler.stop() == b""
    assert (BaseSession.run, ImmediateGraph._run) == plain


def test_saves_where_tensorboard_looks(tmp_path):
    for _ in range(2):
        with profiler.Profiler(str(tmp_path)), tf.Graph().as_default(), tf.Session() as session:
            session.run(tf.constant(1))
    (empty,) = (name for name in os.listdir(tmp_path) if name.endswith(".profile-empty"))
    (event,) = tf.train.summary_iterator(str(tmp_path / empty))
    assert event.file_version == "brain.Event:2"
    saved = list((tmp_path / "plugins" / "profile").glob("*/local.trace"))
    assert read(saved[0].read_bytes()).trace_events


def test_a_server_is_refused():
    with pytest.raises(NotImplementedError, match="start_profiler_server"):
        profiler.start_profiler_server(6009)
