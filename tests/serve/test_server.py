"""Whole servers: kinds of models, trust, warm-up, logs of requests, configuration files."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.serve import models
from tests.serve.conftest import ask, settings

import stillflow as tf
from stillflow import errors
from stillflow.files.records import TFRecordWriter, read_records
from stillflow.serve import messages, tensors


def predict(server: Any, instances: Any, name: str = "half_plus_two") -> Any:
    return ask(server, f"/v1/models/{name}:predict", {"instances": instances})


def until(condition: Any) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.01)


# ---- Kinds of models -------------------------------------------------------------------------


def test_a_folder_without_versions(tmp_path: Path, serve: Any) -> None:
    models.half_plus(tmp_path / "half_plus_two", version=None)
    server = serve(tmp_path / "half_plus_two", port=0)
    assert predict(server, [[1.0]]) == (200, {"predictions": [[2.5]]})


def test_a_frozen_graph(tmp_path: Path, serve: Any) -> None:
    with tf.Graph().as_default() as graph:
        image = tf.placeholder(tf.float32, [None, 2], name="image")
        tf.identity(image * 2 + 1, name="logits")
        tf.nn.relu(image, name="other")
    (tmp_path / "frozen.pb").write_bytes(graph.as_graph_def().SerializeToString())
    server = serve(
        tmp_path / "frozen.pb", port=0, model_name="m", inputs=["pixels=image:0"],
        outputs=["logits"],
    )  # fmt: skip
    assert predict(server, [{"pixels": [1.0, 2.0]}], "m") == (200, {"predictions": [[3.0, 5.0]]})
    with pytest.raises(errors.UnknownError, match="does not say which tensors are outputs"):
        serve(tmp_path / "frozen.pb", port=0, model_name="m")
    with pytest.raises(errors.UnknownError, match="refers to a Tensor which does not exist"):
        serve(tmp_path / "frozen.pb", port=0, model_name="m", outputs=["none:0"])


@pytest.mark.parametrize("saver", [{}, {"write_version": 1}, {"write_version": 1, "sharded": True}])
def test_a_checkpoint(tmp_path: Path, serve: Any, saver: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None], name="x")
        y = tf.add(x * tf.Variable(3.0), 1.0, name="y")
        labels = tf.placeholder(tf.float32, [None], name="labels")
        tf.reduce_mean(tf.square(y - labels), name="loss")
        session.run(tf.global_variables_initializer())
        tf.train.Saver(**saver).save(session, str(tmp_path / "model.ckpt"), global_step=7)
    server = serve(tmp_path / "model.ckpt-7", port=0, model_name="m", outputs=["y"])
    assert predict(server, [1.0, 2.0], "m") == (200, {"predictions": [4.0, 7.0]})
    signature = server.inference.models._versions["m"][1].servable.signature("")
    assert list(signature.inputs) == ["x"], "the output does not need the labels"


def test_a_damaged_model(tmp_path: Path, serve: Any) -> None:
    export = models.half_plus(tmp_path / "half_plus_two")
    (export / "saved_model.pb").write_bytes(b"\xff" * 100)
    with pytest.raises(errors.UnknownError, match=r"did not become available: .half_plus_two due"):
        serve(tmp_path / "half_plus_two")


def test_a_corrupted_new_version(tmp_path: Path, serve: Any) -> None:
    folder = tmp_path / "half_plus_two"
    models.half_plus(folder)
    server = serve(folder, port=0)
    export = models.half_plus(tmp_path / "new", 3.0, version=2)
    variables = export / "variables" / "variables.data-00000-of-00001"
    variables.write_bytes(variables.read_bytes()[:-3])
    export.rename(folder / "2")
    path = "/v1/models/half_plus_two/versions/2"
    until(lambda: ask(server, path)[0] == 200)
    until(lambda: ask(server, path)[1]["model_version_status"][0]["state"] == "END")
    status = ask(server, path)[1]["model_version_status"][0]["status"]
    assert status["error_code"] != "OK" and status["error_message"]
    assert predict(server, [[1.0]]) == (200, {"predictions": [[2.5]]})


# ---- Trust -----------------------------------------------------------------------------------


def test_a_vocabulary_of_the_model_is_read(tmp_path: Path, serve: Any) -> None:
    (tmp_path / "words.txt").write_text("cat\ndog\n")

    def build() -> Any:
        words = tf.placeholder(tf.string, [None])
        table = tf.contrib.lookup.index_table_from_file(str(tmp_path / "words.txt"))
        return {"words": words}, {"ids": table.lookup(words)}

    models.signature_model(tmp_path / "m", build, assets=True)
    (tmp_path / "words.txt").unlink()
    server = serve(tmp_path / "m", port=0)
    assert predict(server, ["dog", "cat", "x"], "m") == (200, {"predictions": [1, 0, -1]})


def test_a_graph_that_reads_files_is_not_served(tmp_path: Path, serve: Any) -> None:
    def build() -> Any:
        name = tf.placeholder(tf.string, [])
        return {"name": name}, {"content": tf.read_file(name)}

    models.signature_model(tmp_path / "m", build)
    with pytest.raises(errors.UnknownError, match=r"reads files: ReadFile.*--trust"):
        serve(tmp_path / "m", port=0)
    (tmp_path / "secret").write_text("x")
    server = serve(tmp_path / "m", port=0, trust="all")
    body = {"inputs": str(tmp_path / "secret")}
    assert ask(server, "/v1/models/m:predict", body) == (200, {"outputs": "x"})


# ---- Warm-up and logs of requests --------------------------------------------------------------


def warmup_record(x: float = 1.0, signature: str = "") -> bytes:
    log = messages.PredictionLog()
    request = log.predict_log.request
    request.model_spec.name, request.model_spec.signature_name = "any", signature
    request.inputs["x"].CopyFrom(tensors.to_message(np.float32([[x]])))
    return log.SerializeToString()


def write_warmup(export: Path, *records: bytes) -> None:
    (export / "assets.extra").mkdir()
    with TFRecordWriter(str(export / "assets.extra" / "tf_serving_warmup_requests")) as writer:
        for record in records:
            writer.write(record)


def test_warm_up(tmp_path: Path, serve: Any, caplog: pytest.LogCaptureFixture) -> None:
    write_warmup(models.half_plus(tmp_path / "half_plus_two"), warmup_record(), warmup_record(2.0))
    with caplog.at_level("INFO", "stillflow.serve"):
        serve(tmp_path / "half_plus_two", port=0)
    (event,) = [each for each in caplog.records if each.getMessage() == "warmed up"]
    assert (event.model, event.records) == ("half_plus_two", 2)


@pytest.mark.parametrize(
    ("records", "message"),
    [
        ([b"\xff\xff"], "Failed to parse warmup record"),
        ([messages.PredictionLog().SerializeToString()], "Unsupported log_type for warmup"),
        ([warmup_record(signature="none")], 'Serving signature key "none" not found'),
        ([warmup_record()] * 1001, r"exceeds the maximum \(1000\)"),
    ],
)
def test_wrong_warm_up(tmp_path: Path, serve: Any, records: list[bytes], message: str) -> None:
    write_warmup(models.half_plus(tmp_path / "half_plus_two"), *records)
    with pytest.raises(errors.UnknownError, match=message):
        serve(tmp_path / "half_plus_two", port=0)
    serve(tmp_path / "half_plus_two", port=0, enable_model_warmup=False)


def test_requests_are_logged_and_warm_up_the_next_version(tmp_path: Path, serve: Any) -> None:
    models.half_plus(tmp_path / "half_plus_two")
    server = serve(tmp_path / "half_plus_two", port=0, log_requests=str(tmp_path / "log"))
    predict(server, [[1.0]])
    body = {"signature_name": "regress_x_to_y", "examples": [{"x": 3.0}]}
    ask(server, "/v1/models/half_plus_two:regress", body)
    predict(server, [["wrong"]])
    server.stop()
    (path,) = tmp_path.glob("log-half_plus_two-*.tfrecord")
    first, second = (messages.PredictionLog.FromString(each) for each in read_records(str(path)))
    assert first.log_metadata.model_spec.name == "half_plus_two"
    assert first.log_metadata.model_spec.version.value == 1
    assert list(first.log_metadata.saved_model_tags) == ["serve"]
    assert list(first.predict_log.response.outputs["y"].float_val) == [2.5]
    assert second.regress_log.response.result.regressions[0].value == 3.5
    assert server.metrics.logged.value("OK") == 2
    export = models.half_plus(tmp_path / "next", 3.0)
    (export / "assets.extra").mkdir()
    path.rename(export / "assets.extra" / "tf_serving_warmup_requests")
    assert predict(serve(tmp_path / "next", port=0), [[1.0]], "next")[0] == 200


def test_the_share_of_requests_that_are_logged(tmp_path: Path, serve: Any) -> None:
    models.half_plus(tmp_path / "half_plus_two")
    (tmp_path / "models").write_text(
        f'model_config_list {{ config {{ name: "half_plus_two" model_platform: "tensorflow" '
        f'base_path: "{(tmp_path / "half_plus_two").as_posix()}" logging_config {{ '
        f'log_collector_config {{ filename_prefix: "{(tmp_path / "log").as_posix()}" }} '
        f"sampling_config {{ sampling_rate: 0.3 }} }} }} }}"
    )
    server = serve(tmp_path, port=0, model_config_file=str(tmp_path / "models"))
    with server.models.use(messages.ModelSpec(name="half_plus_two")) as servable:
        count = sum(server._logs.samples(servable) for _ in range(2000))
    assert 450 < count < 750  # 600 expected, standard deviation 20.5
    with pytest.raises(errors.InvalidArgumentError, match="a number from 0 to 1"):
        serve(tmp_path / "half_plus_two", log_requests="x", log_requests_sampling_rate=2)


# ---- Configuration and the command -------------------------------------------------------------


def test_a_configuration_file_that_changes(tmp_path: Path, serve: Any) -> None:
    models.half_plus(tmp_path / "a", 2.0)
    models.half_plus(tmp_path / "b", 3.0)
    file = tmp_path / "models.config"

    def write(*names: str) -> None:
        configs = [
            f'config {{ name: "{name}" base_path: "{(tmp_path / name).as_posix()}" '
            'model_platform: "tensorflow" }'
            for name in names
        ]
        file.write_text(f"model_config_list {{ {' '.join(configs)} }}")

    write("a")
    server = serve(
        tmp_path, port=0, model_config_file=str(file), model_config_file_poll_wait_seconds=0.05
    )
    assert predict(server, [[1.0]], "a")[0] == 200
    file.write_text("damaged")
    time.sleep(0.2)
    assert predict(server, [[1.0]], "a")[0] == 200
    write("b")
    until(lambda: predict(server, [[1.0]], "b")[0] == 200)
    until(lambda: predict(server, [[1.0]], "a")[0] == 404)


def test_batches(tmp_path: Path, serve: Any) -> None:
    models.half_plus(tmp_path / "half_plus_two")
    (tmp_path / "batching").write_text(
        "max_batch_size { value: 4 } allowed_batch_sizes: [4] batch_timeout_micros { value: 1000 }"
    )
    server = serve(
        tmp_path / "half_plus_two", port=0, enable_batching=True,
        batching_parameters_file=str(tmp_path / "batching"),
    )  # fmt: skip
    assert predict(server, [[1.0], [2.0]]) == (200, {"predictions": [[2.5], [3.0]]})
    assert predict(server, [[1.0]] * 5)[0] == 400
    page = server.metrics.page()
    assert ':batch_size_sum{model_name="half_plus_two",version="1"} 4' in page
    assert ":stillflow:serving:batch_queue_length 0" in page


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import importlib.util

    from stillflow.serve import server

    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"grpcio, starlette, uvicorn: pip install 'stillflow\["):
        server.Server(settings(tmp_path))


@pytest.mark.skipif(os.name != "posix", reason="sends SIGTERM")
def test_the_command(tmp_path: Path, serve: Any) -> None:
    models.half_plus(tmp_path / "half_plus_two")
    command = [
        sys.executable, "-m", "stillflow", "serve", "--host=127.0.0.1", "--port=0",
        "--rest_api_port=-1", "--model_name=half_plus_two",
        f"--model_base_path={tmp_path / 'half_plus_two'}",
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        events = []
        for line in process.stderr:
            events.append(json.loads(line))
            if events[-1]["event"] == "serving":
                break
        assert [each["event"] for each in events] == ["loading", "loaded", "serving"]
        process.rest_port = events[-1]["rest_port"]  # type: ignore[attr-defined]
        assert predict(process, [[1.0]]) == (200, {"predictions": [[2.5]]})
        process.send_signal(signal.SIGTERM)
        last = [json.loads(line)["event"] for line in process.stderr]
        assert process.wait(60) == 0
    assert last == ["unloaded", "stopped"]
    wrong = subprocess.run([*command[:-1]], capture_output=True, text=True, timeout=120)
    assert wrong.returncode == 1 and "Name a model: --model_base_path" in wrong.stderr


@pytest.mark.skipif(os.name != "posix", reason="sends SIGTERM")
def test_a_signal_ends_a_server_that_waits_for_its_model(tmp_path: Path) -> None:
    for package in ("grpc", "starlette", "uvicorn"):
        pytest.importorskip(package)
    command = [
        sys.executable, "-m", "stillflow", "serve", "--port=0", "--rest_api_port=-1",
        f"--model_base_path={tmp_path}",
    ]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert "No versions of servable default found" in process.stderr.readline()
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        assert process.wait(60) == 0
