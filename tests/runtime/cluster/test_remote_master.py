"""Sessions on a server of TensorFlow: a recorded one, and a real one."""

from __future__ import annotations

import base64
import os
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.runtime.cluster import rpc_programs, rpc_replay

import stillflow as tf

grpc = pytest.importorskip("grpc")

PROGRAMS = rpc_replay.programs("master.json")


class Recorded(grpc.GenericRpcHandler):
    """A server that gives the answers which TensorFlow's gave to a program, call by call."""

    def __init__(self, calls: list[dict[str, Any]]) -> None:
        self.left = list(calls)
        self.asked: list[tuple[str, Any, Any]] = []
        self._server = grpc.server(ThreadPoolExecutor(2), [self])
        self.port = self._server.add_insecure_port("127.0.0.1:0")
        self._server.start()

    def service(self, details: Any) -> Any:
        method = details.method.rpartition("/")[2]

        def answer(data: bytes, context: Any) -> bytes:
            record = self.left.pop(0)
            kind, _ = rpc_replay.message_types(record["method"])
            expected = kind.FromString(base64.b64decode(record["request"]))
            own, _ = rpc_replay.message_types(method)
            self.asked.append((record["method"], expected, own.FromString(data)))
            if "answer" not in record:
                context.abort(rpc_replay.status(record["code"]), record["details"])
            return base64.b64decode(record["answer"])

        return grpc.unary_unary_rpc_method_handler(answer)

    def stop(self) -> None:
        self._server.stop(None).wait()


@pytest.fixture
def recorded(request: pytest.FixtureRequest) -> Iterator[Recorded]:
    calls = PROGRAMS[request.param]
    if request.param == "partial":  # the step of a run that is over asks nobody
        calls = [*calls[:-2], calls[-1]]
    server = Recorded(calls)
    yield server
    server.stop()


@pytest.mark.parametrize(
    ("recorded", "name"),
    [(name, name) for name in ("values", "adam", "flow", "partial", "failures", "devices")],
    indirect=["recorded"],
)
def test_calls_are_those_of_tensorflows_client(recorded: Recorded, name: str) -> None:
    with tf.Graph().as_default():
        session = tf.Session(f"grpc://127.0.0.1:{recorded.port}")
        getattr(rpc_replay.recorder, name)(tf, session)
        session.close()
    assert not recorded.left
    for method, expected, asked in recorded.asked:
        assert type(asked) is type(expected), method
        compare(expected, asked)


def inputs(node: Any) -> list[str]:
    """Return the inputs of a node; the order of control inputs, and `:0`, are free."""
    data = [each.removesuffix(":0") for each in node.input if each[0] != "^"]
    return data + sorted(each for each in node.input if each[0] == "^")


def compare(expected: Any, asked: Any) -> None:
    """Compare requests: graphs node by node, values to the last bit."""
    for name in ("session_handle", "partial_run_handle", "current_graph_version"):
        assert getattr(asked, name, 0) == getattr(expected, name, 0)
    for name in ("fetch", "target") if hasattr(expected, "fetch") else ():
        assert sorted(getattr(asked, name, ())) == sorted(getattr(expected, name, ()))
    if hasattr(expected, "graph_def"):
        theirs, ours = (
            {n.name: (n.op, n.device, inputs(n)) for n in message.graph_def.node}
            for message in (expected, asked)
        )
        assert ours == theirs
    if hasattr(expected, "feed") and hasattr(expected, "options"):
        theirs, ours = ({f.name: f.tensor for f in message.feed} for message in (expected, asked))
        assert ours == theirs
        assert asked.store_errors_in_response_body


def test_values_and_errors_are_those_of_the_answers() -> None:
    server = Recorded(PROGRAMS["failures"])
    with tf.Graph().as_default(), tf.Session(f"grpc://127.0.0.1:{server.port}") as session:
        x = tf.placeholder(tf.float32, [2], name="x")
        with pytest.raises(tf.errors.InvalidArgumentError, match="must feed a value") as caught:
            session.run(x)
        assert caught.value.op is x.op
        bad = tf.check_numerics(x / 0.0, "not finite")
        with pytest.raises(tf.errors.InvalidArgumentError, match="not finite : Tensor had Inf"):
            session.run(bad, {x: [1, 2]})
        server.stop()
        with pytest.raises(tf.errors.UnavailableError):
            session.run(bad, {x: [1, 2]})
        session._master._found._handle = ""  # nobody is there to close it


# ---- A real server --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def target() -> Iterator[str]:
    """Yield the target of a server of TensorFlow 1.15.5."""
    python = rpc_programs.tensorflow_python()
    with socket.socket() as bound:
        bound.bind(("localhost", 0))
        port = bound.getsockname()[1]
    program = f"import tensorflow as t; t.train.Server({{'local': ['localhost:{port}']}}).join()"
    settings = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    settings.pop("PYTHONPATH", None)
    with subprocess.Popen(
        [python, "-c", program], env=settings, stderr=subprocess.DEVNULL
    ) as server:
        try:
            yield f"grpc://localhost:{port}"
        finally:
            server.kill()


@pytest.mark.oracle
def test_programs_on_a_server_of_tensorflow_compute_as_at_home(target: str, tmp_path: Path) -> None:
    found = rpc_programs.all(tf, target, str(tmp_path))
    alone = rpc_programs.all(tf, "", str(tmp_path))
    losses, expected = np.array(found.pop("losses")), np.array(alone.pop("losses"))
    error = len(losses) * np.finfo(np.float32).eps * np.abs(expected).max()
    np.testing.assert_allclose(losses, expected, rtol=0, atol=error)
    assert found == alone


@pytest.mark.oracle
def test_a_reset_ends_sessions_and_forgets_variables(target: str) -> None:
    with tf.Graph().as_default():
        v = tf.get_variable("v", initializer=1.0)
        session = tf.Session(target)
        session.run(v.initializer)
        trace = tf.RunMetadata()
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        assert session.run(v, options=options, run_metadata=trace) == 1.0
        assert trace.step_stats.dev_stats
        tf.Session.reset(target)
        with pytest.raises(tf.errors.AbortedError, match="is not found"):
            session.run(v)
        with pytest.raises(tf.errors.AbortedError):
            session.close()
        with (
            tf.Session(target) as again,
            pytest.raises(tf.errors.FailedPreconditionError, match="uninitialized"),
        ):
            again.run(v)
