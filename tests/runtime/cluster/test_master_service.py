"""MasterService, called with the bytes of TensorFlow's own client."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runtime.cluster import rpc_programs, rpc_replay

import stillflow as tf
from stillflow.graph.tensor_proto import make_ndarray
from stillflow.runtime.cluster.grpc_port import file

grpc = pytest.importorskip("grpc")

PROGRAMS = rpc_replay.programs("master.json")
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
messages = file("tensorflow/core/protobuf/master.proto")


@pytest.fixture
def address(cpu: None) -> str:  # the recorded server had no GPU
    server = tf.train.Server.create_local_server()
    return server.target.removeprefix("grpc://")


@pytest.fixture
def channel(address: str) -> Iterator[Any]:
    with grpc.insecure_channel(address) as opened:
        yield opened


def ask(channel: Any, method: str, request: Any, timeout: float = 60) -> Any:
    _, kind = rpc_replay.message_types(method)
    call = channel.unary_unary(f"/tensorflow.MasterService/{method}")
    return kind.FromString(call(request.SerializeToString(), timeout=timeout))


def plain(text: str) -> str:
    """Return an error without its nodes: TensorFlow names some of those that it puts in itself."""
    text = re.sub(r"\s*\[\[.*?\]\]", "", text)
    text = text.replace(", /job:local/replica:0/task:0/device:XLA_CPU:0", "")
    text = re.sub(r"FIFOQueue '\w+'", "FIFOQueue", text)
    return re.sub(r"(Op type not registered '\w+').*", r"\1", text)


@pytest.mark.parametrize("name", PROGRAMS)
def test_recorded_calls_have_the_recorded_answers(channel: Any, name: str) -> None:
    for method, expected, found in rpc_replay.repeated(channel, PROGRAMS[name]):
        if isinstance(expected, tuple) or isinstance(found, tuple):
            assert isinstance(expected, tuple) and isinstance(found, tuple), (expected, found)
            assert found[0] == expected[0], (expected, found)
            assert plain(found[1]) == plain(expected[1])
            continue
        if method == "RunStep":
            compare_steps(expected, found)
        elif method == "RunCallable":
            for theirs, ours in zip(expected.fetch, found.fetch, strict=True):
                compare_tensors(theirs, ours)
        elif method == "ListDevices":
            assert [d.name for d in found.local_device] == [
                d.name for d in expected.local_device if d.device_type == "CPU"
            ]
        elif method != "PartialRunSetup":
            assert found == expected, method


def compare_steps(expected: Any, found: Any) -> None:
    assert found.status_code == expected.status_code, (expected, found)
    assert plain(found.status_error_message) == plain(expected.status_error_message)
    theirs, ours = ({each.name: each.tensor for each in m.tensor} for m in (expected, found))
    assert len(ours) == len(found.tensor) and sorted(ours) == sorted(theirs)
    for name in theirs:
        compare_tensors(theirs[name], ours[name])


def compare_tensors(expected: Any, found: Any) -> None:
    """Compare values: to the last bit, but for those of training with Adam.

    It divides by the root of the second moment, which is near 1 in relation to the first in the
    first steps: each of six steps may add an error of one unit in the last place of the largest.
    """
    if found == expected:
        return
    assert (found.dtype, found.tensor_shape) == (expected.dtype, expected.tensor_shape)
    theirs, ours = make_ndarray(expected), make_ndarray(found)
    assert theirs.dtype == np.float32
    error = 6 * np.finfo(np.float32).eps * max(1.0, np.abs(theirs).max())
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=error)


def session_of(channel: Any, **nodes: Any) -> str:
    """Return the handle of a new session on a graph with a queue, and a node that waits in it."""
    with tf.Graph().as_default() as graph:
        queue = tf.FIFOQueue(2, [tf.float32], shapes=[[]], name="queue")
        queue.dequeue(name="take")
        queue.enqueue(tf.constant(1.0), name="put")
        request = messages["CreateSessionRequest"](graph_def=graph.as_graph_def(), **nodes)
    return str(ask(channel, "CreateSession", request).session_handle)


def step(handle: str, **fields: Any) -> Any:
    return messages["RunStepRequest"](session_handle=handle, **fields)


def test_a_step_ends_with_its_deadline_and_leaves_the_queue_alone(channel: Any) -> None:
    handle = session_of(channel)
    with pytest.raises(grpc.RpcError) as caught:
        ask(channel, "RunStep", step(handle, fetch=["take:0"]), timeout=0.5)
    assert caught.value.code() == grpc.StatusCode.DEADLINE_EXCEEDED
    ask(channel, "RunStep", step(handle, target=["put"]))
    found = ask(channel, "RunStep", step(handle, fetch=["take:0"]))
    assert make_ndarray(found.tensor[0].tensor) == 1.0


def test_a_cancelled_step_ends(channel: Any, address: str) -> None:
    handle = session_of(channel)
    call = channel.unary_unary("/tensorflow.MasterService/RunStep")
    waiting = call.future(step(handle, fetch=["take:0"]).SerializeToString(), timeout=60)
    with grpc.insecure_channel(address) as other:
        ask(other, "RunStep", step(handle, target=["put"]))
        assert waiting.result()
        again = call.future(step(handle, fetch=["take:0"]).SerializeToString(), timeout=60)
        again.cancel()
        ask(other, "RunStep", step(handle, target=["put"]))
        found = ask(other, "RunStep", step(handle, fetch=["take:0"]))
        assert make_ndarray(found.tensor[0].tensor) == 1.0


def test_closing_a_session_ends_its_steps(channel: Any) -> None:
    handle = session_of(channel)
    call = channel.unary_unary("/tensorflow.MasterService/RunStep")
    waiting = call.future(step(handle, fetch=["take:0"]).SerializeToString(), timeout=60)
    threading.Timer(
        0.3, ask, (channel, "CloseSession", messages["CloseSessionRequest"](session_handle=handle))
    ).start()
    with pytest.raises(grpc.RpcError) as caught:
        waiting.result()
    assert caught.value.code() in (grpc.StatusCode.CANCELLED, grpc.StatusCode.ABORTED)


def test_more_steps_wait_than_a_pool_has_threads(channel: Any) -> None:
    handle = session_of(channel)
    call = channel.unary_unary("/tensorflow.MasterService/RunStep")
    data = step(handle, fetch=["take:0"]).SerializeToString()
    waiting = [call.future(data, timeout=60) for _ in range(100)]
    for _ in waiting:
        ask(channel, "RunStep", step(handle, target=["put"]))
    assert all(each.result() for each in waiting)


def test_bytes_that_are_no_message_are_an_error_of_the_client(channel: Any) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary("/tensorflow.MasterService/RunStep")(b"\xff\xff", timeout=60)
    assert caught.value.code() == grpc.StatusCode.INVALID_ARGUMENT


def test_both_protocols_share_the_port_and_the_state(channel: Any, address: str) -> None:
    with tf.Graph().as_default(), tf.Session(f"grpc://{address}") as session:
        queue = tf.FIFOQueue(2, [tf.float32], shapes=[[]], shared_name="queue")
        handle = session_of(channel)
        ask(channel, "RunStep", step(handle, target=["put"]))
        assert session.run(queue.size()) == 0  # a queue without a shared name is the session's
        v = tf.get_variable("v", initializer=3.0)
        session.run(v.initializer)
        request = messages["CreateSessionRequest"](graph_def=session.graph.as_graph_def())
        handle = ask(channel, "CreateSession", request).session_handle
        found = ask(channel, "RunStep", step(handle, fetch=["v/read:0"]))
        assert make_ndarray(found.tensor[0].tensor) == 3.0


def test_garbage_on_the_port_harms_nobody(channel: Any, address: str) -> None:
    host, _, port = address.rpartition(":")
    for data in (PREFACE + b"\xff" * 100, b"GET / HTTP/1.1\r\n\r\n", b"\0"):
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(60)
            while connection.recv(1 << 16):
                pass
    assert session_of(channel)


def test_without_grpcio_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    monkeypatch.setitem(sys.modules, "grpc", None)
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "0")
    server = tf.train.Server.create_local_server()
    host, _, port = server.target.removeprefix("grpc://").rpartition(":")
    with socket.create_connection((host, int(port))) as connection:
        connection.sendall(PREFACE)
        assert connection.recv(1) == b""
    assert "pip install 'stillflow[cluster]'" in capfd.readouterr().err


# ---- A real client --------------------------------------------------------------------------


@pytest.mark.oracle
def test_a_client_of_tensorflow_computes_as_it_does_alone(address: str, tmp_path: Path) -> None:
    found = rpc_programs.ask_tensorflow("all", f"grpc://{address}", tmp_path)
    alone = rpc_programs.ask_tensorflow("all", "", tmp_path)
    losses, expected = np.array(found.pop("losses")), np.array(alone.pop("losses"))
    error = len(losses) * np.finfo(np.float32).eps * np.abs(expected).max()
    np.testing.assert_allclose(losses, expected, rtol=0, atol=error)
    assert found == alone


@pytest.mark.oracle
def test_a_client_in_c_trains(address: str, tmp_path: Path) -> None:
    python = rpc_programs.tensorflow_python()
    command = [python, "-c", "import site; print(site.getsitepackages()[0])"]
    packages = Path(subprocess.run(command, check=True, capture_output=True).stdout.decode()[:-1])
    with tf.Graph().as_default() as graph, tf.Session() as session:
        x = tf.placeholder(tf.float32, [], name="x")
        loss = tf.square(tf.get_variable("w", initializer=1.0) * x - 6.0, name="loss")
        train = tf.train.AdamOptimizer(0.5).minimize(loss, name="train")
        session.run(tf.global_variables_initializer())
        expected = [session.run(loss, {x: 2.0})]
        expected += [session.run([loss, train], {x: 2.0})[0] for _ in range(3)]
        (tmp_path / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
    program = str(Path(rpc_programs.__file__).with_name("c_client.py"))
    given = [f"grpc://{address}", str(tmp_path / "graph.pb"), "x", "loss", "init", "train"]
    command = [python, program, str(packages / "tensorflow_core"), *given]
    output = subprocess.run(command, check=True, capture_output=True).stdout
    *found, error = json.loads(output.splitlines()[-1])
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(np.float32).eps)
    assert error.startswith("3 ") and "You must feed a value for placeholder tensor 'x'" in error
