"""Several processes that serve the same models."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests.serve import models
from tests.serve.conftest import ask, settings

import stillflow as tf
from stillflow import errors
from stillflow.runtime.devices import devices
from stillflow.serve import messages
from stillflow.serve.metrics import Metrics
from stillflow.serve.workers import Workers

forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
MEGABYTES = 64


@pytest.fixture
def command() -> Iterator[Callable[..., Any]]:
    """Start `stillflow serve` with two workers; gives its ports, process and log."""
    for package in ("grpc", "starlette", "uvicorn"):
        pytest.importorskip(package)
    processes: list[Any] = []
    readers: list[threading.Thread] = []

    def start(*flags: str) -> Any:
        process = subprocess.Popen(
            [sys.executable, "-m", "stillflow", "serve", "--host=127.0.0.1", "--port=-1",
             "--rest_api_port=-1", "--workers=2", "--file_system_poll_wait_seconds=0.05",
             "--max_num_load_retries=0", *flags],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        processes.append(process)
        found = SimpleNamespace(process=process, log=[], workers=[])
        ready = threading.Event()

        def read() -> None:
            assert process.stderr is not None
            with process.stderr as lines:
                for line in lines:
                    if line.startswith("{"):
                        event = json.loads(line)
                        found.log.append(event)
                        if event["event"] == "serving":
                            vars(found).update(event)
                            ready.set()
            ready.set()

        readers.append(threading.Thread(target=read))
        readers[-1].start()
        assert ready.wait(120) and found.workers, found.log
        return found

    yield start
    for process in processes:
        process.kill()
        process.wait()
    for reader in readers:  # to the end of the last worker, which has the pipe, too
        reader.join()


def until(condition: Callable[[], Any]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def predicted(server: Any) -> float:
    status, body = ask(server, "/v1/models/half_plus_two:predict", {"instances": [[1.0]]})
    assert status == 200, body
    value: float = body["predictions"][0][0]
    return value


def counted(server: Any) -> int:
    address = f"http://127.0.0.1:{server.rest_port}/monitoring/prometheus/metrics"
    with urllib.request.urlopen(address, timeout=60) as answer:
        page = answer.read().decode()
    found = re.search(r'request_count\{model_name="half_plus_two",status="OK"\} (\d+)', page)
    return int(found[1]) if found else 0


def shared_megabytes(pid: int) -> float:
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return sum(int(size) for size in re.findall(r"Shared_\w+: +(\d+)", text)) / 1024


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2:3]


@forks
def test_a_worker_that_dies_is_replaced(tmp_path: Path, command: Any) -> None:
    models.half_plus(tmp_path / "half_plus_two")
    server = command("--model_name=half_plus_two", f"--model_base_path={tmp_path}/half_plus_two")
    for _ in range(20):
        assert predicted(server) == 2.5
    assert counted(server) == 20
    os.kill(server.workers[0], signal.SIGKILL)
    until(lambda: any("worker died: signal 9" in each["event"] for each in server.log))
    for _ in range(20):
        assert predicted(server) == 2.5
    assert counted(server) == 40, "what the dead worker had told counts"
    server.process.send_signal(signal.SIGTERM)
    assert server.process.wait(60) == 0
    until(lambda: not any(map(is_running, server.workers)))


@forks
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_share_the_weights_and_end_with_the_first_process(
    tmp_path: Path, command: Any
) -> None:
    def build() -> Any:
        x = tf.placeholder(tf.float32, [None])
        weights = tf.Variable(tf.ones([MEGABYTES << 18]))
        return {"x": x}, {"y": x + tf.reduce_max(weights)}

    models.signature_model(tmp_path / "m", build)
    server = command("--model_name=m", f"--model_base_path={tmp_path}/m")
    for _ in range(10):
        body = ask(server, "/v1/models/m:predict", {"instances": [1.0]})[1]
        assert body == {"predictions": [2.0]}
    for pid in server.workers:
        assert shared_megabytes(pid) > MEGABYTES
    server.process.kill()
    until(lambda: not any(map(is_running, server.workers)))


@forks
def test_other_models_reach_all_workers(tmp_path: Path, command: Any) -> None:
    grpc = pytest.importorskip("grpc")
    folder = tmp_path / "half_plus_two"
    models.half_plus(folder)
    server = command("--model_name=half_plus_two", f"--model_base_path={folder}")
    found, stopping = [], threading.Event()

    def call() -> None:
        while not stopping.is_set():
            found.append(predicted(server))

    callers = [threading.Thread(target=call) for _ in range(3)]
    for caller in callers:
        caller.start()
    models.half_plus(tmp_path / "new", 3.0, version=2).rename(folder / "2")
    until(lambda: found[-40:] == [3.5] * 40)
    stopping.set()
    for caller in callers:
        caller.join()
    assert set(found) == {2.5, 3.5}

    models.half_plus(tmp_path / "other", 4.0)
    config = messages.ModelServerConfig()
    config.model_config_list.config.add(
        name="half_plus_two", base_path=str(tmp_path / "other"), model_platform="tensorflow"
    )
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        call = channel.unary_unary(
            "/tensorflow.serving.ModelService/HandleReloadConfigRequest",
            messages.ReloadConfigRequest.SerializeToString,
            messages.ReloadConfigResponse.FromString,
        )
        assert call(messages.ReloadConfigRequest(config=config), timeout=60).status.error_code == 0
        config.model_config_list.config[0].base_path = "relative"
        status = call(messages.ReloadConfigRequest(config=config), timeout=60).status
        assert status.error_code == errors.INVALID_ARGUMENT and "absolute" in status.error_message
    until(lambda: predicted(server) == 4.5)


def test_nothing_waits_in_a_worker_that_has_died() -> None:
    metrics = Metrics()
    metrics.requests.add("m", "OK")
    metrics.queue_length.read = lambda: 5
    died = SimpleNamespace(
        questions=[], counts=metrics.counts(), has_ended=lambda: True, close=lambda: None
    )
    first: Any = SimpleNamespace(_ended=Metrics())
    assert Workers._is_over(first, died)  # type: ignore[arg-type]
    assert first._ended.requests.value("m", "OK") == 1
    assert first._ended.queue_length.counts() == [((), 0)]


def test_settings_that_workers_cannot_have(tmp_path: Path, monkeypatch: Any) -> None:
    for package in ("grpc", "starlette", "uvicorn"):
        pytest.importorskip(package)
    from stillflow.serve.workers import Workers

    given = settings(tmp_path, workers=2)
    with monkeypatch.context() as changed:
        changed.setattr(devices, "gpu_count", lambda: 1)
        with pytest.raises(errors.UnimplementedError, match=r"CUDA.*CUDA_VISIBLE_DEVICES=-1"):
            Workers(given)
    with monkeypatch.context() as changed:
        changed.delattr(os, "fork", raising=False)
        with pytest.raises(errors.UnimplementedError, match=r"os.fork .*a proxy"):
            Workers(given)
    if hasattr(os, "fork"):
        with pytest.raises(errors.InvalidArgumentError, match="grpc_socket_path"):
            Workers(settings(tmp_path, workers=2, grpc_socket_path=str(tmp_path / "s")))
