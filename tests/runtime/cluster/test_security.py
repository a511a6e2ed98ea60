"""TLS, a token, health and addresses of a cluster's servers."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from tests.certificates import certificates

import stillflow as tf
from stillflow.protos.other_files import serving_file
from stillflow.train.server import Server

grpc = pytest.importorskip("grpc")
from stillflow.util.grpc_handlers import HEALTH as HEALTH_FILE  # noqa: E402
from stillflow.util.grpc_handlers import HealthCheckResponse  # noqa: E402

HEALTH = "/grpc.health.v1.Health/Check"
DEVICES = "/tensorflow.MasterService/ListDevices"


def port_of(target: str) -> int:
    return int(target.rpartition(":")[2])


def check(channel: Any, service: str = "") -> int:
    request = serving_file(HEALTH_FILE)["HealthCheckRequest"](service=service)
    answer = channel.unary_unary(HEALTH)(request.SerializeToString(), timeout=60)
    return int(HealthCheckResponse.FromString(answer).status)


def failure(channel: Any, method: str, metadata: Any = None) -> str:
    with pytest.raises(grpc.RpcError) as caught:
        channel.unary_unary(method)(b"", timeout=60, metadata=metadata)
    return str(caught.value.code().name)


def settings(monkeypatch: pytest.MonkeyPatch, **named: Any) -> None:
    for name, value in named.items():
        monkeypatch.setenv(f"STILLFLOW_CLUSTER_{name}", str(value))


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, bytes]:
    """Make a certificate that is its own authority, for the servers and clients of this process."""
    pair = certificates(tmp_path)
    settings(
        monkeypatch, CERTIFICATE=tmp_path / "cert", KEY=tmp_path / "key",
        AUTHORITIES=tmp_path / "cert", TLS_NAME="localhost",
    )  # fmt: skip
    return pair


def remote(target: str) -> str:
    """Return a target by which this process reaches its own server as another one would."""
    return f"grpc://127.0.0.1:{port_of(target)}"


def test_probes_learn_that_a_server_is_there() -> None:
    port = port_of(tf.train.Server.create_local_server().target)
    with grpc.insecure_channel(f"localhost:{port}") as channel:
        serving = HealthCheckResponse.ServingStatus.SERVING
        names = ("", "tensorflow.MasterService", "tensorflow.WorkerService")
        assert [check(channel, name) for name in names] == [serving] * 3
        with pytest.raises(grpc.RpcError) as caught:
            check(channel, "tensorflow.OtherService")
        assert caught.value.code() == grpc.StatusCode.NOT_FOUND


def test_sessions_run_over_tls_and_plain_ones_do_not(keys: Any) -> None:
    target = tf.train.Server.create_local_server().target
    with tf.Graph().as_default(), tf.Session(remote(target)) as session:
        v = tf.get_variable("v", initializer=2.0)
        session.run(v.initializer)
        assert session.run(v * 3.0) == 6.0
    with grpc.insecure_channel(f"localhost:{port_of(target)}") as channel:
        assert failure(channel, DEVICES) == "UNAVAILABLE"
    credentials = grpc.ssl_channel_credentials(keys["cert"])
    with grpc.secure_channel(f"localhost:{port_of(target)}", credentials) as channel:
        assert check(channel) == HealthCheckResponse.ServingStatus.SERVING


def test_tasks_without_tls_do_not_reach_one_with_it(
    keys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tf.train.Server.create_local_server().target
    for name in ("CERTIFICATE", "KEY", "AUTHORITIES", "TLS_NAME"):
        monkeypatch.delenv(f"STILLFLOW_CLUSTER_{name}")
    config = tf.ConfigProto(operation_timeout_in_ms=1000)
    with tf.Graph().as_default(), tf.Session(remote(target), config=config) as session:
        with pytest.raises((tf.errors.DeadlineExceededError, tf.errors.UnavailableError)):
            session.run(tf.constant(1.0))


def test_clients_need_a_certificate_where_tls_is_mutual(
    keys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings(monkeypatch, MUTUAL_TLS=1)
    target = tf.train.Server.create_local_server().target
    with tf.Graph().as_default(), tf.Session(remote(target)) as session:
        assert session.run(tf.constant(1.0)) == 1.0
    stranger = grpc.ssl_channel_credentials(keys["cert"])
    with grpc.secure_channel(f"localhost:{port_of(target)}", stranger) as channel:
        assert failure(channel, DEVICES) == "UNAVAILABLE"


def test_calls_without_the_token_are_denied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("secret\n")
    settings(monkeypatch, TOKEN_FILE=tmp_path / "token")
    target = tf.train.Server.create_local_server().target
    with tf.Graph().as_default(), tf.Session(remote(target)) as session:
        assert session.run(tf.constant(1.0)) == 1.0
    with grpc.insecure_channel(f"localhost:{port_of(target)}") as channel:
        assert failure(channel, DEVICES) == "UNAUTHENTICATED"
        wrong = [("authorization", "Bearer other")]
        assert failure(channel, DEVICES, wrong) == "UNAUTHENTICATED"
        right = [("authorization", "Bearer secret")]
        assert channel.unary_unary(DEVICES)(b"", timeout=60, metadata=right)
        assert check(channel) == HealthCheckResponse.ServingStatus.SERVING


def test_tasks_train_together_over_tls_with_a_token(
    keys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "token").write_text("secret")
    settings(monkeypatch, TOKEN_FILE=tmp_path / "token", MUTUAL_TLS=1)
    (worker,), _ = tf.test.create_local_cluster(1, 1)
    with tf.Graph().as_default():
        with tf.device("/job:ps/task:0"):
            w = tf.get_variable("w", initializer=0.0)
        with tf.device("/job:worker/task:0"):
            train = tf.train.GradientDescentOptimizer(0.25).minimize(tf.square(w - 1.0))
        with tf.Session(worker.target) as session:
            session.run(w.initializer)
            session.run(train)
            session.run(train)
            assert session.run(w) == 0.75
        tf.Session.reset(worker.target)  # in the other task, too
        with tf.Session(worker.target) as session:
            with pytest.raises(tf.errors.FailedPreconditionError):
                session.run(w)


@pytest.mark.parametrize(
    ("named", "protocol", "text"),
    [
        ({"CERTIFICATE": "cert"}, "grpc", "needs STILLFLOW_CLUSTER_CERTIFICATE and"),
        ({"AUTHORITIES": "cert"}, "grpc", "needs STILLFLOW_CLUSTER_CERTIFICATE and"),
        ({"CERTIFICATE": "cert", "KEY": "cert", "MUTUAL_TLS": "1"}, "grpc", "_AUTHORITIES, who"),
        ({"KEY": "missing"}, "grpc", "STILLFLOW_CLUSTER_KEY: .*No such file"),
        ({"TOKEN_FILE": "empty"}, "grpc", "STILLFLOW_CLUSTER_TOKEN_FILE: .*is empty"),
        ({"TOKEN_FILE": "lines"}, "grpc", "one line of ASCII"),
        ({}, "grpc+tls", '"grpc.tls" needs STILLFLOW_CLUSTER_CERTIFICATE'),
    ],
)
def test_settings_that_make_no_server_end_it_at_once(
    named: dict[str, str], protocol: str, text: str, tmp_path: Path, monkeypatch: Any
) -> None:
    (tmp_path / "cert").write_text("certificate")
    (tmp_path / "empty").touch()
    (tmp_path / "lines").write_text("one\ntwo")
    for name, value in named.items():
        settings(monkeypatch, **{name: value if value == "1" else tmp_path / value})
    with pytest.raises(tf.errors.InvalidArgumentError, match=text):
        Server({"a": ["localhost:0"]}, protocol=protocol)


def test_the_protocol_of_a_server_and_the_scheme_of_a_target_ask_for_tls(keys: Any) -> None:
    server = Server({"a": ["localhost:0"]}, protocol="grpc+tls")
    assert server.target.startswith("grpc+tls://localhost:")
    target = f"grpc+tls://127.0.0.1:{port_of(server.target)}"
    with tf.Graph().as_default(), tf.Session(target) as session:
        assert session.run(tf.constant(1.0)) == 1.0


def test_a_target_that_asks_for_tls_needs_authorities() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="_AUTHORITIES for a client"):
        tf.Session("grpc+tls://localhost:2222")


def test_an_address_of_another_machine_is_not_taken_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cluster = {"a": ["203.0.113.7:0"]}  # reserved for documentation
    with pytest.raises(tf.errors.UnknownError, match=r"no address of this machine.*_BIND names"):
        Server(cluster)
    settings(monkeypatch, BIND="127.0.0.1")
    assert Server(cluster)._socket.getsockname()[0] == "127.0.0.1"


@pytest.mark.skipif(not socket.has_ipv6, reason="there is no IPv6")
def test_addresses_may_be_of_ipv6() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    server = Server({"a": ["[::1]:0"]})
    port = port_of(server.target)
    with tf.Graph().as_default(), tf.Session(f"grpc://[::1]:{port}") as session:
        assert session.run(tf.constant(1.0)) == 1.0
