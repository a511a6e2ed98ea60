"""The long form of the server's tests of faults: minutes of load while everything goes wrong.

    python -m tests.serve.soak                                # a quarter of an hour, one process
    python -m tests.serve.soak --workers 2 --requests 20000   # a few minutes

Fails if an answer is wrong, an accepted request is lost, the server dies, or its memory grows. All
traffic is to a server of its own on 127.0.0.1, bounded in number and time.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import numpy as np
from tests.serve import models

from stillflow.serve import messages, tensors

MODEL = "/v1/models/half_plus_two"
PREDICT = "/tensorflow.serving.PredictionService/Predict"
THREADS = 8
GROWTH = 1.1  # of the memory, after a tenth of the requests
LARGE = 100 << 20  # bytes of a large body


class Run:
    """A server, and what has been seen of it."""

    def __init__(self, folder: Path, workers: int) -> None:
        self.folder, self.workers = folder / "half_plus_two", workers
        models.half_plus(self.folder, 0.0, version=1)
        (folder / "batches").write_text(
            "max_batch_size { value: 32 } batch_timeout_micros { value: 500 } "
            "allowed_batch_sizes: [1, 4, 16, 32] max_enqueued_batches { value: 1000 }"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-m", "stillflow", "serve", "--host=127.0.0.1", "--port=-1",
             "--rest_api_port=-1", "--model_name=half_plus_two", f"--workers={workers}",
             f"--model_base_path={self.folder}", "--file_system_poll_wait_seconds=0.1",
             "--max_num_load_retries=0", "--rest_api_timeout_in_ms=20000", "--enable_batching",
             f"--batching_parameters_file={folder / 'batches'}"],
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.events: list[dict[str, Any]] = []
        self.serving = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()
        assert self.serving.wait(120), self.events
        self.failures: Counter[str] = Counter()

    def _read(self) -> None:
        for line in self.process.stderr or ():
            if not line.startswith("{"):
                continue
            event = json.loads(line)
            self.events.append(event)
            if event["event"] == "serving":
                self.grpc_port, self.rest_port = event["grpc_port"], event["rest_port"]
                self.serving.set()

    def pids(self) -> list[int]:
        """Return the processes of the server."""
        text = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [self.process.pid, *map(int, text.split())]

    def memory(self) -> float:
        """Return the megabytes that its processes have for themselves."""
        total = 0
        for pid in self.pids():
            try:
                text = Path(f"/proc/{pid}/smaps_rollup").read_text()
            except OSError:
                continue  # it has just ended
            total += sum(int(size) for size in re.findall(r"Private_\w+: +(\d+)", text))
        return total / 1024

    def rest(self) -> http.client.HTTPConnection:
        """Return a connection of REST."""
        return http.client.HTTPConnection("127.0.0.1", self.rest_port, timeout=60)

    def ask(self, x: float, connection: Any = None) -> float:
        """Return the answer of REST to a number."""
        opened = connection or self.rest()
        opened.request("POST", MODEL + ":predict", json.dumps({"instances": [[x]]}))
        answer = opened.getresponse()
        body = json.loads(answer.read())
        if connection is None:
            opened.close()
        assert answer.status == 200, body
        value: float = body["predictions"][0][0]
        return value


def load(run: Run, count: int, versions: set[float]) -> None:
    """Send requests from threads, by both interfaces; count what is not right."""

    def client(seed: int) -> None:
        dice = random.Random(seed)
        channel = grpc.insecure_channel(f"127.0.0.1:{run.grpc_port}",
                                        [("grpc.use_local_subchannel_pool", 1)])  # fmt: skip
        call = channel.unary_unary(PREDICT)
        connection = run.rest()
        for _ in range(count // THREADS):
            x = float(dice.randrange(1000))
            try:
                if dice.random() < 0.5:
                    request = messages.PredictRequest()
                    request.model_spec.name = "half_plus_two"
                    request.inputs["x"].CopyFrom(tensors.to_message(np.float32([[x]])))
                    found = call(request.SerializeToString(), timeout=60, wait_for_ready=True)
                    y = messages.PredictResponse.FromString(found).outputs["y"].float_val[0]
                else:
                    y = run.ask(x, connection)
                if y - x / 2 not in versions:
                    run.failures[f"wrong answer {y} to {x}"] += 1
            except (http.client.HTTPException, ConnectionError):
                # The server may end a connection that waits; a request that it took is answered.
                connection.close()
                run.failures["connection ended"] += 1
            except grpc.RpcError as error:
                run.failures[f"{error.code().name}: {error.details()}"] += 1
        channel.close()

    with ThreadPoolExecutor(THREADS) as pool:
        for each in [pool.submit(client, seed) for seed in range(THREADS)]:
            each.result()


def flat_memory(run: Run, count: int) -> None:
    """Fail if the memory grows after the first requests."""
    sizes = []
    for _ in range(10):
        load(run, count // 10, {0.0})
        sizes.append(run.memory())
    print("memory in MB:", " ".join(f"{size:.0f}" for size in sizes), flush=True)
    assert max(sizes[1:]) <= GROWTH * sizes[0], "the memory grows"


def changes(run: Run, count: int) -> None:
    """Load, break and remove versions under load, and kill a worker."""
    loading = threading.Thread(target=load, args=(run, count, {0.0, 1.0, 2.0, 3.0}))
    loading.start()
    for version in (2, 3, 4):
        models.half_plus(run.folder.parent / "new", float(version - 1), version)
        (run.folder.parent / "new" / str(version)).rename(run.folder / str(version))
        time.sleep(1)
        if version == 3:
            (run.folder / "9").mkdir()
            (run.folder / "9" / "saved_model.pb").write_bytes(os.urandom(5000))
            time.sleep(1)
            shutil.rmtree(run.folder / "2")
            shutil.rmtree(run.folder / "9")
    if run.workers > 1:
        os.kill(run.pids()[1], signal.SIGKILL)
    loading.join()
    assert run.ask(2.0) == 4.0, "the newest version serves"
    if run.workers > 1:
        assert any("worker died" in event["event"] for event in run.events)


def crowd(run: Run) -> None:
    """Keep 1,000 connections idle and 100 bodies unfinished; others are answered."""
    sockets = [socket.create_connection(("127.0.0.1", run.rest_port)) for _ in range(900)]
    sockets += [socket.create_connection(("127.0.0.1", run.grpc_port)) for _ in range(100)]
    for each in sockets[:100]:
        each.sendall(f"POST {MODEL}:predict HTTP/1.1\r\nHost: a\r\n".encode())
        each.sendall(b'Content-Length: 1000\r\n\r\n{"instances"')
    started = time.monotonic()
    for _ in range(50):
        assert run.ask(2.0) == 4.0
        for each in sockets[:100]:
            each.sendall(b" ")
    print(f"50 answers among 1,000 idle connections: {time.monotonic() - started:.2f} s")
    for each in sockets:
        each.close()


def large(run: Run) -> None:
    """Send bodies of 100 MB, by both interfaces; the server answers and goes on."""
    connection = run.rest()
    rows = LARGE // len("[1.0], ")
    connection.request("POST", MODEL + ":predict",
                       b'{"instances": [' + b"[1.0], " * (rows - 1) + b"[1.0]]}")  # fmt: skip
    status = connection.getresponse().status  # 400: more rows than a batch; 504: too slow
    assert status in (400, 504), status
    request = messages.PredictRequest()
    request.model_spec.name = "half_plus_two"
    request.inputs["x"].CopyFrom(tensors.to_message(np.zeros([LARGE // 4, 1], np.float32)))
    with grpc.insecure_channel(f"127.0.0.1:{run.grpc_port}") as channel:
        try:
            channel.unary_unary(PREDICT)(request.SerializeToString(), timeout=120)
        except grpc.RpcError as error:
            assert error.code().name == "INVALID_ARGUMENT", error
    assert run.ask(2.0) == 4.0


def fuzz(run: Run, count: int) -> None:
    """Send damaged requests; each has an answer that says what is wrong, or a right one."""
    dice = random.Random(34)
    request = messages.PredictRequest()
    request.model_spec.name = "half_plus_two"
    request.inputs["x"].CopyFrom(tensors.to_message(np.float32([[1.0], [2.0]])))
    plain = request.SerializeToString()
    body = b'{"signature_name": "serving_default", "instances": [[1.0], [-2e3], {"b64": "YQ=="}]}'
    statuses: Counter[Any] = Counter()
    channel = grpc.insecure_channel(f"127.0.0.1:{run.grpc_port}")
    for index in range(count):
        data = bytearray(body if index % 2 else plain)
        for _ in range(dice.randint(1, 5)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        if index % 2:
            connection = run.rest()
            connection.request(
                "POST", f"{MODEL}:{dice.choice(['predict', 'regress'])}", bytes(data)
            )
            answer = connection.getresponse()
            answer.read()
            statuses[answer.status] += 1
            connection.close()
            continue
        try:
            channel.unary_unary(PREDICT)(bytes(data), timeout=60)
            statuses["OK"] += 1
        except grpc.RpcError as error:
            statuses[error.code().name] += 1
    channel.close()
    print("damaged requests:", dict(statuses), flush=True)
    assert not statuses.keys() & {500, 504, "INTERNAL", "UNKNOWN", "DEADLINE_EXCEEDED"}
    assert run.ask(2.0) == 4.0


def main() -> None:
    """Run all of it."""
    parser = argparse.ArgumentParser(prog="python -m tests.serve.soak")
    parser.add_argument("--requests", type=int, default=200_000)
    parser.add_argument("--workers", type=int, default=1)
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder), flags.workers)
        try:
            started = time.monotonic()
            flat_memory(run, flags.requests)
            print(f"{flags.requests} requests in {time.monotonic() - started:.0f} s", flush=True)
            changes(run, max(4000, flags.requests // 10))
            crowd(run)
            large(run)
            fuzz(run, max(500, flags.requests // 20))
            allowed = {"connection ended"} if flags.workers > 1 else set()
            print("failures:", dict(run.failures), flush=True)
            assert not run.failures.keys() - allowed
            run.process.send_signal(signal.SIGTERM)
            assert run.process.wait(60) == 0, "it ends by itself"
        finally:
            run.process.kill()
    print("good")


if __name__ == "__main__":
    main()
