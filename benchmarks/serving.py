"""Serving under load: `stillflow serve`, TensorFlow 1.15.5 and FastAPI with PyTorch, side by side.

    python -m benchmarks.serving                                  # every model and server
    python -m benchmarks.serving --models half_plus_two,mnist_cnn --seconds 4 --rounds 2

The generator sends requests of one row, from a processor of its own; each server has one, too.
Capacity is the throughput with `CLIENTS` requests in flight. The load is open: requests leave on a
schedule of random gaps whether or not the server keeps up, and a latency counts from the time on
the schedule. The servers take turns, in every round.

  stillflow  `python -m stillflow serve` with batches, gRPC
  tf115      the same SavedModel in TensorFlow's `Session.run`, behind a gRPC server in Python that
             makes the same batches (`STILLFLOW_ENVS/tf115/bin/python`)
  rest       `stillflow serve` with batches, by REST
  fastapi    the same model as an eager module of PyTorch, behind FastAPI (`pip install fastapi`)

This file also is the program of the servers tf115 and fastapi, so it runs on Python 3.7.
"""

from __future__ import annotations

import argparse
import http.client
import importlib
import importlib.util
import json
import os
import queue
import random
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

SERVICE = "tensorflow.serving.PredictionService"
CLIENTS = 64  # requests in flight when capacity is measured, and connections of REST
LOADS = (0.5, 0.8, 1.2)  # shares of the capacity
MOST = 20_000  # requests of one measurement
TIMEOUT = 20.0
GOAL = 1.5  # times the throughput of tf115 at its 99th percentile
APIS = ("model", "predict")
GENERATOR, SERVERS = {0}, {1}  # processors


# ---- Models ----------------------------------------------------------------------------------


def half_plus_two(tf: Any) -> Any:
    """Return the input and output of TensorFlow Serving's first example."""
    x = tf.placeholder(tf.float32, [None, 1], name="x")
    return x, tf.Variable(0.5) * x + tf.Variable(2.0)


def mnist_cnn(tf: Any) -> Any:
    """Return the input and output of the network of TensorFlow's MNIST tutorial."""
    h = x = tf.placeholder(tf.float32, [None, 28, 28, 1], name="x")
    for filters in (32, 64):
        h = tf.layers.conv2d(h, filters, 5, padding="same", activation=tf.nn.relu)
        h = tf.layers.max_pooling2d(h, 2, 2)
    h = tf.layers.dense(tf.layers.flatten(h), 256, activation=tf.nn.relu)
    return x, tf.nn.softmax(tf.layers.dense(h, 10))


def resnet50(tf: Any) -> Any:
    """Return the input and output of ResNet-50."""

    def conv(h: Any, filters: int, size: int, stride: int) -> Any:
        h = tf.layers.conv2d(h, filters, size, stride, padding="same", use_bias=False)
        return tf.layers.batch_normalization(h, training=False, fused=True)

    x = tf.placeholder(tf.float32, [None, 224, 224, 3], name="x")
    h = tf.layers.max_pooling2d(tf.nn.relu(conv(x, 64, 7, 2)), 3, 2, padding="same")
    for stage, blocks in enumerate((3, 4, 6, 3)):
        filters = 64 << stage
        for block in range(blocks):
            stride = 2 if stage and not block else 1
            short = h if block else conv(h, 4 * filters, 1, stride)
            inner = tf.nn.relu(conv(h, filters, 1, 1))
            inner = tf.nn.relu(conv(inner, filters, 3, stride))
            h = tf.nn.relu(conv(inner, 4 * filters, 1, 1) + short)
    return x, tf.nn.softmax(tf.layers.dense(tf.reduce_mean(h, [1, 2]), 1000))


def bert_base(tf: Any) -> Any:
    """Return the input and output of an encoder of BERT-base's size, for 128 tokens."""
    width, heads, length = 768, 12, 128
    x = tf.placeholder(tf.int32, [None, length], name="x")
    h = tf.gather(tf.get_variable("words", [30522, width]), x)
    h += tf.get_variable("positions", [length, width])
    for _ in range(12):
        parts = tf.split(tf.layers.dense(h, 3 * width), 3, axis=2)
        q, k, v = (
            tf.transpose(tf.reshape(part, [-1, length, heads, width // heads]), [0, 2, 1, 3])
            for part in parts
        )
        weights = tf.nn.softmax(tf.matmul(q, k, transpose_b=True) / (width // heads) ** 0.5)
        mixed = tf.reshape(tf.transpose(tf.matmul(weights, v), [0, 2, 1, 3]), [-1, length, width])
        h = tf.contrib.layers.layer_norm(h + tf.layers.dense(mixed, width), begin_norm_axis=-1)
        inner = tf.layers.dense(h, 4 * width)
        inner *= 0.5 * (1.0 + tf.erf(inner / 2**0.5))
        h = tf.contrib.layers.layer_norm(h + tf.layers.dense(inner, width), begin_norm_axis=-1)
    return x, tf.layers.dense(h[:, 0], 2)


# The builder, the shape of a row, and the sizes that batches may have.
MODELS = {
    "half_plus_two": (half_plus_two, [1], [1, 4, 16, 64]),
    "mnist_cnn": (mnist_cnn, [28, 28, 1], [1, 4, 8, 16, 32]),
    "resnet50": (resnet50, [224, 224, 3], [1, 2, 4, 8]),
    "bert_base": (bert_base, [128], [1, 2, 4]),
}


def export(folder: Path, name: str) -> np.ndarray[Any, Any]:
    """Write the SavedModel, the settings of batches and the messages; return a request's input."""
    import stillflow as tf
    from stillflow.serve import messages

    build, shape, sizes = MODELS[name]
    tf.logging.set_verbosity(tf.logging.ERROR)
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        x, y = build(tf)
        session.run(tf.global_variables_initializer())
        tf.saved_model.simple_save(session, str(folder / name / "1"), {"x": x}, {"y": y})
        integers = x.dtype.is_integer
    (folder / "batches").write_text(
        f"max_batch_size {{ value: {sizes[-1]} }} num_batch_threads {{ value: 1 }} "
        f"batch_timeout_micros {{ value: 0 }} max_enqueued_batches {{ value: {MOST} }} "
        f"allowed_batch_sizes: {sizes}"
    )
    for api in APIS:
        file = messages.file(f"tensorflow_serving/apis/{api}.proto")["DESCRIPTOR"]
        (folder / f"{api}.pb").write_bytes(file.serialized_pb)
    numbers = np.random.RandomState(0)
    row = numbers.randint(0, 30000, [1, *shape]).astype(np.int32)
    if not integers:
        row = numbers.normal(size=[1, *shape]).astype(np.float32)
    warm_up = folder / name / "1" / "assets.extra"
    warm_up.mkdir()
    with tf.python_io.TFRecordWriter(str(warm_up / "tf_serving_warmup_requests")) as writer:
        for size in sizes:  # the plan of each size is made before the server serves
            log = messages.PredictionLog()
            inputs = log.predict_log.request.inputs
            inputs["x"].CopyFrom(tf.make_tensor_proto(np.repeat(row, size, axis=0)))
            writer.write(log.SerializeToString())
    return row


# ---- The servers tf115 and fastapi -----------------------------------------------------------


def loaded(tf: Any, folder: str) -> Any:
    """Return a session of one thread with the model, and the names of its input and output."""
    config = tf.ConfigProto(intra_op_parallelism_threads=1, inter_op_parallelism_threads=1)
    session = tf.Session(graph=tf.Graph(), config=config)
    with session.graph.as_default():
        signatures = tf.saved_model.loader.load(session, ["serve"], folder).signature_def
    signature = signatures["serving_default"]
    return session, signature.inputs["x"].name, signature.outputs["y"].name


def batches(waiting: Any, run: Any, sizes: list[int]) -> None:
    """Run the requests that wait, (rows, future), in batches of the allowed sizes, for ever."""
    while True:
        items = [waiting.get()]
        while len(items) < sizes[-1]:
            try:
                items.append(waiting.get_nowait())
            except queue.Empty:
                break
        rows = [each for each, _ in items]
        size = next(size for size in sizes if size >= len(items))
        rows += rows[:1] * (size - len(items))
        answers = run(np.concatenate(rows) if size > 1 else rows[0])
        for place, (_, future) in enumerate(items):
            future.set_result(answers[place : place + 1])


def tf115_server(name: str, folder: str, port_file: str) -> None:
    """Serve a model by gRPC with TensorFlow 1.15."""
    import grpc
    from google.protobuf import descriptor_pool, message_factory, wrappers_pb2

    tf = importlib.import_module("tensorflow").compat.v1
    pool = descriptor_pool.Default()
    assert wrappers_pb2.DESCRIPTOR.name, "the pool has the files that these need"
    for api in APIS:
        pool.AddSerializedFile((Path(folder) / f"{api}.pb").read_bytes())
    request_class, response_class = (
        message_factory.MessageFactory(pool).GetPrototype(
            pool.FindMessageTypeByName(f"tensorflow.serving.Predict{kind}")
        )
        for kind in ("Request", "Response")
    )
    session, x, y = loaded(tf, f"{folder}/{name}/1")
    waiting: Any = queue.Queue()

    def predict(request: Any, context: Any) -> Any:
        future: Any = Future()
        waiting.put((tf.make_ndarray(request.inputs["x"]), future))
        response = response_class()
        response.outputs["y"].CopyFrom(tf.make_tensor_proto(future.result()))
        return response

    method = grpc.unary_unary_rpc_method_handler(
        predict, request_class.FromString, response_class.SerializeToString
    )
    handler = grpc.method_handlers_generic_handler(SERVICE, {"Predict": method})
    server = grpc.server(ThreadPoolExecutor(2 * CLIENTS), (handler,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    Path(port_file).write_text(str(port))
    batches(waiting, lambda rows: session.run(y, {x: rows}), MODELS[name][2])


def fastapi_server(name: str, folder: str, port_file: str) -> None:
    """Serve a model by REST with FastAPI and an eager module."""
    import socket

    import torch
    import uvicorn
    from fastapi import FastAPI

    import stillflow as tf
    from stillflow.export import to_torch

    torch.set_num_threads(1)
    session, x, y = loaded(tf, f"{folder}/{name}/1")
    model = to_torch(session, [x], [y])
    kind = torch.int32 if name == "bert_base" else torch.float32
    app = FastAPI()

    def predict(body: dict) -> Any:  # type: ignore[type-arg]  # FastAPI looks at the annotation
        with torch.inference_mode():
            found = model(torch.tensor(body["instances"], dtype=kind))
        found = found[0] if isinstance(found, (list, tuple)) else found
        return {"predictions": found.tolist()}

    predict.__annotations__["body"] = dict
    app.post("/v1/models/{name}:predict", response_model=None)(predict)
    listener = socket.create_server(("127.0.0.1", 0))
    Path(port_file).write_text(str(listener.getsockname()[1]))
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listener])


# ---- Servers ---------------------------------------------------------------------------------


class Server:
    """A server in a process of its own, on its own processor.

    Attributes:
      process, port: of the server.
    """

    def __init__(self, kind: str, name: str, folder: Path) -> None:
        self.is_rest = kind in ("rest", "fastapi")
        port_file = folder / f"port-{kind}"
        python = sys.executable
        if kind == "tf115":
            python = str(tensorflow())
        arguments = [str(Path(__file__).resolve()), "--as-server", kind, name, str(folder)]
        if kind in ("stillflow", "rest"):
            arguments = [
                "-m", "stillflow", "serve", "--host=127.0.0.1", "--port=-1", "--rest_api_port=-1",
                f"--model_name={name}", f"--model_base_path={folder / name}", "--enable_batching",
                f"--batching_parameters_file={folder / 'batches'}",
                "--tensorflow_session_parallelism=1",
            ]  # fmt: skip
        environment = dict(os.environ)
        if kind == "tf115":
            environment.pop("PYTHONPATH", None)
        with open(folder / f"log-{kind}", "w") as log:
            self.process = subprocess.Popen(
                [python, *arguments], stderr=log, stdout=log, env=environment
            )
        on_processors(SERVERS, self.process.pid)  # before it has threads, which follow
        self.port = self._wait(kind, port_file, folder / f"log-{kind}")

    def _wait(self, kind: str, port_file: Path, log: Path) -> int:
        deadline = time.monotonic() + 180
        while time.monotonic() < deadline and self.process.poll() is None:
            time.sleep(0.1)
            if port_file.exists() and port_file.read_text():
                return int(port_file.read_text())
            for line in log.read_text().splitlines():
                if line.startswith("{") and json.loads(line).get("event") == "serving":
                    return int(json.loads(line)["rest_port" if self.is_rest else "grpc_port"])
        self.stop()
        raise SystemExit(f"{kind} did not start:\n{log.read_text()[-2000:]}")

    def cpu(self) -> float:
        """Return the processor's seconds so far; 0 where the system does not say."""
        try:
            text = Path(f"/proc/{self.process.pid}/stat").read_text()
        except OSError:
            return 0.0
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()


def tensorflow() -> Path:
    """Return the path of TensorFlow 1.15's interpreter."""
    home = os.environ.get("STILLFLOW_ENVS", "~/.cache/stillflow-envs")
    return Path(home).expanduser() / "tf115" / "bin" / "python"


def on_processors(numbers: set[int], pid: int = 0) -> None:
    """Keep a process on some processors, this one for 0, where the system can and has them."""
    if hasattr(os, "sched_setaffinity") and (os.cpu_count() or 1) > max(numbers):
        os.sched_setaffinity(pid, numbers)


# ---- The generator ---------------------------------------------------------------------------


class Grpc:
    """Sender of one request over gRPC, again and again."""

    def __init__(self, port: int, name: str, row: Any) -> None:
        import grpc

        import stillflow as tf
        from stillflow.serve.messages import PredictRequest

        options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
        self._channel = grpc.insecure_channel(f"127.0.0.1:{port}", options)
        self._call = self._channel.unary_unary(f"/{SERVICE}/Predict")
        request = PredictRequest()
        request.model_spec.name = name
        request.inputs["x"].CopyFrom(tf.make_tensor_proto(row))
        self._request = request.SerializeToString()

    def send(self, done: Any) -> None:
        """Send the request; `done` is called with True once the answer is there."""
        call = self._call.future(self._request, timeout=TIMEOUT)
        call.add_done_callback(lambda call: done(call.code().value[0] == 0))

    def ask(self) -> None:
        """Send the request, and wait for the answer."""
        self._call(self._request, timeout=TIMEOUT)

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()


class Rest:
    """Sender of one request over HTTP, on so many connections."""

    def __init__(self, port: int, name: str, row: Any) -> None:
        self._port, self._path = port, f"/v1/models/{name}:predict"
        self._body = json.dumps({"instances": row.tolist()})
        self._pool, self._mine = ThreadPoolExecutor(CLIENTS), threading.local()

    def ask(self) -> bool:
        """Send the request, and wait for the answer."""
        if not hasattr(self._mine, "connection"):
            self._mine.connection = http.client.HTTPConnection("127.0.0.1", self._port, TIMEOUT)
        self._mine.connection.request(
            "POST", self._path, self._body, {"Content-Type": "application/json"}
        )
        answer = self._mine.connection.getresponse()
        answer.read()
        return answer.status == 200

    def send(self, done: Any) -> None:
        """Send the request; `done` is called with True once the answer is there."""

        def run() -> None:
            try:
                good = self.ask()
            except OSError:
                good = False
            done(good)

        self._pool.submit(run)

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown()


def one_at_a_time(sender: Any, seconds: float) -> float:
    """Return the median seconds of requests that do not overlap."""
    taken: list[float] = []
    while sum(taken) < seconds:
        started = time.perf_counter()
        sender.ask()
        taken.append(time.perf_counter() - started)
    return float(np.median(taken))


def capacity(sender: Any, seconds: float) -> float:
    """Return the answers per second with `CLIENTS` requests in flight."""
    free, good = threading.Semaphore(CLIENTS), []

    def done(is_good: bool) -> None:
        good.append(is_good)
        free.release()

    started = time.perf_counter()
    sent = 0
    while time.perf_counter() < started + seconds and sent < MOST:
        free.acquire()
        sender.send(done)
        sent += 1
    for _ in range(CLIENTS):
        free.acquire()
    return sum(good) / (time.perf_counter() - started)


def under_load(sender: Any, rate: float, seconds: float) -> dict[str, float]:
    """Send at a fixed rate; return throughput, latencies in ms and failures."""
    gaps, latencies, ended = random.Random(1), [], threading.Semaphore(0)
    good = []

    def done(is_good: bool, due: float) -> None:
        latencies.append(time.perf_counter() - due)
        good.append(is_good)
        ended.release()

    count = max(10, min(MOST, int(rate * seconds)))
    due = started = time.perf_counter()
    for _ in range(count):
        due += gaps.expovariate(rate)
        wait = due - time.perf_counter()
        if wait > 0:
            time.sleep(wait)
        sender.send(lambda is_good, due=due: done(is_good, due))
    for _ in range(count):
        ended.acquire()
    taken = time.perf_counter() - started
    p50, p95, p99 = (float(value) * 1e3 for value in np.percentile(latencies, [50, 95, 99]))
    failed = len(good) - sum(good)
    return {"rate": rate, "throughput": sum(good) / taken, "p50": p50, "p95": p95, "p99": p99,
            "failed": failed}  # fmt: skip


# ---- Measurements ----------------------------------------------------------------------------


def measure(name: str, kinds: list[str], seconds: float, rounds: int) -> dict[str, Any]:
    """Return the results of each server for a model: the best capacity, then loads."""
    found: dict[str, Any] = {kind: {"capacity": [], "loads": []} for kind in kinds}
    with tempfile.TemporaryDirectory() as folder:
        row = export(Path(folder), name)
        servers: dict[str, Server] = {}
        try:
            for kind in kinds:
                servers[kind] = Server(kind, name, Path(folder))
            senders = {
                kind: (Rest if server.is_rest else Grpc)(server.port, name, row)
                for kind, server in servers.items()
            }
            for sender in senders.values():
                capacity(sender, max(2.0, seconds / 2))  # makes the plans of all sizes
            for _ in range(rounds):
                for kind, sender in senders.items():
                    _measure(found[kind], servers[kind], sender, seconds)
            for kind, sender in senders.items():
                _loads(found, kind, sender, seconds)
            for sender in senders.values():
                sender.close()
        finally:
            for server in servers.values():
                server.stop()
    return found


def _measure(found: dict[str, Any], server: Server, sender: Any, seconds: float) -> None:
    found["alone"] = min(found.get("alone", TIMEOUT), one_at_a_time(sender, seconds / 5))
    cpu, started = server.cpu(), time.perf_counter()
    found["capacity"].append(capacity(sender, seconds))
    share = (server.cpu() - cpu) / (time.perf_counter() - started)
    found["cpu_ms"] = 1e3 * share / max(found["capacity"][-1], 1e-9)


def _loads(found: dict[str, Any], kind: str, sender: Any, seconds: float) -> None:
    """Measure shares of a server's own capacity; and the goal, against that of tf115."""
    best = float(np.median(found[kind]["capacity"]))
    for share in LOADS:
        found[kind]["loads"].append(under_load(sender, best * share, seconds))
    peer = found.get("tf115")
    if kind == "stillflow" and peer is not None:
        rate = GOAL * LOADS[1] * float(np.median(peer["capacity"]))
        found[kind]["goal"] = under_load(sender, rate, seconds)


def show(name: str, found: dict[str, Any]) -> None:
    """Print the results of a model."""
    print(f"\n{name}: answers a second (median of rounds), then p50/p95/p99 in ms by load")
    for kind, each in found.items():
        loads = "  ".join(
            f"{share:.0%}: {one['p50']:.1f}/{one['p95']:.1f}/{one['p99']:.1f}"
            + (f" ({one['failed']:.0f} failed)" if one["failed"] else "")
            for share, one in zip(LOADS, each["loads"])
        )
        print(
            f"  {kind:10}{np.median(each['capacity']):8.1f}  alone {each['alone'] * 1e3:.2f} ms  "
            f"cpu {each['cpu_ms']:.2f} ms  {loads}",
            flush=True,
        )
    if "goal" in found.get("stillflow", {}):
        ours, peer = found["stillflow"], found["tf115"]
        ratio = np.median(ours["capacity"]) / np.median(peer["capacity"])
        at = dict(zip(LOADS, peer["loads"]))[LOADS[1]]
        print(
            f"  throughput {ratio:.2f} times that of tf115; at {GOAL} times its load of 80 % p99 "
            f"is {ours['goal']['p99']:.1f} ms (tf115: {at['p99']:.1f})",
            flush=True,
        )


def main() -> None:
    """Measure, print and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serving")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--servers", default="tf115,stillflow,rest,fastapi")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each measurement")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", help="JSON file with the raw numbers")
    parser.add_argument("--as-server", nargs=3, help=argparse.SUPPRESS)
    flags = parser.parse_args()
    if flags.as_server:
        kind, name, folder = flags.as_server
        serve = {"tf115": tf115_server, "fastapi": fastapi_server}[kind]
        serve(name, folder, f"{folder}/port-{kind}")
        return
    on_processors(GENERATOR)
    kinds = flags.servers.split(",")
    if "tf115" in kinds and not tensorflow().exists():
        kinds.remove("tf115")
        print(f"left out: tf115, there is no {tensorflow()}")
    if "fastapi" in kinds and importlib.util.find_spec("fastapi") is None:
        kinds.remove("fastapi")
        print("left out: fastapi is not installed")
    results = {}
    for name in flags.models.split(","):
        results[name] = measure(name, kinds, flags.seconds, flags.rounds)
        show(name, results[name])
        if flags.out:
            Path(flags.out).write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
