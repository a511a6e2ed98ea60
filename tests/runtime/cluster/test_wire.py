"""Checks of data received over a connection."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import stillflow as tf
from stillflow import errors, protos
from stillflow.graph import dtypes
from stillflow.runtime.cluster import links, wire
from stillflow.runtime.cluster.packed import pack, room_for
from stillflow.runtime.cluster.wire import Broken, Wire


@pytest.fixture
def ends():
    """Both ends of a connection, one of them as the bare socket."""
    listening = socket.create_server(("localhost", 0))
    one = socket.create_connection(listening.getsockname())
    other, _ = listening.accept()
    listening.close()
    yield Wire(one), other
    one.close()
    other.close()


def test_messages_arrive_with_their_tensors(ends):
    wire, other = ends
    values = [np.arange(12.0).reshape(3, 4)[:, ::2], np.array(7, np.int8), np.zeros((0, 2))]
    kinds = [dtypes.float64, dtypes.int8, dtypes.float64]
    tensors = [pack(value, kind) for value, kind in zip(values, kinds, strict=True)]
    Wire(other).send(tensors, 5, 3, abort={"session": "s"})
    frame = wire.receive()
    assert (frame.kind, frame.number, frame.step, frame.content.session) == ("abort", 5, 3, "s")
    for value, array in zip(values, frame.tensors, strict=True):
        np.testing.assert_array_equal(array, value)
        assert array.dtype == value.dtype


def message(**fields):
    return protos.file("stillflow/cluster.proto")["Message"](**fields).SerializeToString()


def frame(text):
    return struct.pack("<4sIQQ", b"SFc2", len(text), 0, 0) + text


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        struct.pack("<4sI", b"SFc2", 0xFFFFFFFF),
        frame(b"\xff" * 40),
        frame(message(abort={}, tensors=[{"dtype": 1, "shape": [-1]}])),
        frame(message(abort={}, tensors=[{"dtype": 1, "shape": [1 << 60, 1 << 60]}])),
        frame(message(abort={}, tensors=[{"dtype": 1, "shape": [1 << 55]}])),
        frame(message(abort={}, tensors=[{"dtype": 99, "shape": [1]}])),
        frame(message(abort={}, tensors=[{"dtype": 20, "shape": []}])),  # a resource
        frame(message(abort={}, tensors=[{"dtype": 7, "shape": [2], "strings": [b"one"]}])),
        frame(message(abort={}, tensors=[{"dtype": 1, "shape": [4]}])) + b"too short",
        frame(message(abort={}))[:-1],
        b"",
    ],
)
def test_what_is_no_message_ends_the_connection(ends, data):
    wire, other = ends
    other.sendall(data)
    other.shutdown(socket.SHUT_WR)
    with pytest.raises(Broken):
        wire.receive()


def test_a_server_outlives_what_is_no_message(ends):
    del ends
    server = tf.train.Server.create_local_server()
    address = ("localhost", int(server.target.rpartition(":")[2]))
    for data in (b"\0" * 64, frame(message()), frame(message(opened={})), frame(message(run={}))):
        with socket.create_connection(address) as connection:
            connection.settimeout(10)
            connection.sendall(data)
            with contextlib.suppress(OSError):  # the server may have closed it already
                connection.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                while connection.recv(4096):
                    pass
    link = links.link_to(f"localhost:{address[1]}")
    assert link.ask(describe={}).wait().job == "local"
    link.tell((), 1, arrival={"session": "nobody's", "key": "x", "dead": True})
    link.tell((), 1, abort={"session": "nobody's"})
    for request in ({"run": {"session": "nobody's"}}, {"register": {"session": "nobody's"}}):
        with pytest.raises(errors.AbortedError, match="Session handle is not found"):
            link.ask(**request).wait()
    link.ask(open={"session": "mine"}).wait()
    with pytest.raises(errors.AbortedError, match="Graph handle is not found"):
        link.ask(run={"session": "mine", "part": 3}).wait()
    bad = {"node": [{"name": "x", "op": "NoSuchOp"}]}
    with pytest.raises(errors.NotFoundError, match="NoSuchOp"):
        link.ask(register={"session": "mine", "graph": bad}).wait()


def test_nobody_at_an_address_is_an_error():
    with socket.socket() as free:
        free.bind(("localhost", 0))
        with pytest.raises(errors.UnavailableError):
            links.link_to(f"localhost:{free.getsockname()[1]}")


def test_a_connection_to_oneself_is_none(monkeypatch):
    itself = socket.socket()
    itself.bind(("localhost", 0))
    itself.connect(
        itself.getsockname()
    )  # as happens where the system chooses the port one is after
    monkeypatch.setattr(socket, "create_connection", lambda *arguments: itself)
    with pytest.raises(errors.UnavailableError, match="nobody listens"):
        links.link_to("localhost:1")


def test_handles_are_not_sent():
    with pytest.raises(errors.UnimplementedError, match="resource"):
        pack(object(), dtypes.resource)


def test_memory_for_a_tensor_is_what_its_description_says():
    (dtype, shape), data = pack(np.ones((2, 3), np.int16), dtypes.int16)
    message = protos.file("stillflow/cluster.proto")["Tensor"](dtype=dtype, shape=shape)
    make = room_for(message)
    assert make().shape == (2, 3)
    assert make() is not make()
    assert len(data) == 12


def test_strings_of_kept_messages_are_the_receivers_own(ends):
    near, far = ends[0], Wire(ends[1])
    for _ in range(2):
        near.send([pack(np.array([b"a", b"b"], object), dtypes.string)], ran={"metadata": None})
        (strings,) = far.receive().tensors
        assert strings.tolist() == [b"a", b"b"]
        strings[:] = b""  # the next message is the same, and kept


def test_memory_of_large_tensors_is_used_again_once_nobody_has_it(ends):
    near, far = ends[0], Wire(ends[1])

    def received(value):
        data = np.full((400, 1000), value, np.float32)
        sending = threading.Thread(
            target=near.send, args=([pack(data, dtypes.float32)],), kwargs={"ran": {}}
        )
        sending.start()
        (array,) = far.receive().tensors
        sending.join()
        assert array.shape == (400, 1000) and (array == value).all()
        return array

    first = received(1.0)
    rows = torch.from_numpy(first)[3:]
    second = received(2.0)
    assert (rows == 1.0).all() and not np.shares_memory(first, second)
    place = first.ctypes.data
    del first, rows
    assert received(3.0).ctypes.data == place
    assert (second == 2.0).all()


def test_a_system_that_takes_one_buffer_at_a_time_sends_all_of_them():
    sent = []
    windows = SimpleNamespace(sendall=lambda buffer: sent.append(bytes(buffer)))
    wire._send_all(windows, [b"one", memoryview(np.arange(2, dtype=np.int8)), b""])
    assert b"".join(sent) == b"one\x00\x01"


def test_a_server_of_another_version_is_told():
    with socket.create_server(("localhost", 0)) as server:
        address = "localhost:%d" % server.getsockname()[1]

        def answer():
            connection, _ = server.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"SFc9" + struct.pack("<I", 0))

        threading.Thread(target=answer, daemon=True).start()
        with pytest.raises(errors.FailedPreconditionError, match="two versions of their protocol"):
            links.ask_when_there(address, "task", lambda: None, describe={})


def test_a_client_of_another_version_is_told():
    target = tf.train.Server.create_local_server().target
    port = int(target.rpartition(":")[2])
    with socket.create_connection(("localhost", port), 60) as connection:
        connection.sendall(b"SFc0" + struct.pack("<I", 4) + b"what")
        assert connection.recv(4, socket.MSG_WAITALL) == b"SFc2"


def test_messages_that_wait_for_more_arrive_in_order_with_what_they_had(ends):
    near, far = ends[0], Wire(ends[1])
    small, large = np.arange(3.0), np.arange(20_000.0)
    near.send([pack(small, dtypes.float64)], 1, more=True, run={"session": "s"})
    small[:] = 0.0  # as a variable that is updated
    near.send([], 2, more=True, run={"session": "s"})
    near.send([pack(large, dtypes.float64)], 3, run={"session": "s"})
    near.send([pack(small, dtypes.float64)], 4, more=True, run={"session": "s"})
    near.flush()
    found = [far.receive() for _ in range(4)]
    assert [frame.number for frame in found] == [1, 2, 3, 4]
    expected = [[np.arange(3.0)], [], [large], [small]]
    for frame, values in zip(found, expected, strict=True):
        for array, value in zip(frame.tensors, values, strict=True):
            np.testing.assert_array_equal(array, value)
