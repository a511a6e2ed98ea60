"""The REST interface, asked as TensorFlow Serving's documentation asks it."""

from __future__ import annotations

import gzip
import http.client
import json
import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.serve import models
from tests.serve.conftest import ask

MODEL = "/v1/models/half_plus_two"


@pytest.fixture
def server(tmp_path: Path, serve: Any) -> Any:
    models.half_plus(tmp_path / "half_plus_two", version=123)
    return serve(tmp_path / "half_plus_two")


def test_status(server: Any) -> None:
    status = {
        "model_version_status": [
            {
                "version": "123",
                "state": "AVAILABLE",
                "status": {"error_code": "OK", "error_message": ""},
            }
        ]
    }
    assert ask(server, MODEL) == ask(server, MODEL + "/versions/123") == (200, status)
    error = {"error": "Could not find version 1 of model half_plus_two"}
    assert ask(server, MODEL + "/versions/1") == (404, error)
    assert ask(server, "/v1/models/x") == (
        404,
        {"error": "Could not find any versions of model x"},
    )


def test_predict(server: Any) -> None:
    body = {"instances": [[1.0], [2.0], [5.0]]}
    wanted = (200, {"predictions": [[2.5], [3.0], [4.5]]})
    assert ask(server, MODEL + ":predict", body) == wanted
    assert ask(server, MODEL + "/versions/123:predict", body) == wanted
    named = {"instances": [{"x": [1.0]}, {"x": [2.0]}, {"x": [5.0]}]}
    assert ask(server, MODEL + ":predict", named) == wanted
    columns = {"signature_name": "serving_default", "inputs": {"x": [[1.0], [2.0]]}}
    assert ask(server, MODEL + ":predict", columns) == (200, {"outputs": [[2.5], [3.0]]})
    zipped = gzip.compress(json.dumps(body).encode())
    assert ask(server, MODEL + ":predict", zipped, **{"Content-Encoding": "gzip"}) == wanted


def test_regress_and_classify(server: Any) -> None:
    body = {"signature_name": "tensorflow/serving/regress", "examples": [{"x": 1.0}, {"x": 2.0}]}
    assert ask(server, MODEL + ":regress", body) == (200, {"results": [2.5, 3.0]})
    body["signature_name"] = "classify"
    assert ask(server, MODEL + ":classify", body) == (
        200,
        {"results": [[["low", 2.5], ["high", -2.5]], [["low", 3.0], ["high", -3.0]]]},
    )
    body["signature_name"] = "classify_x_to_y"
    assert ask(server, MODEL + ":classify", body)[1] == {"results": [[["", 2.5]], [["", 3.0]]]}


def test_metadata(server: Any) -> None:
    status, found = ask(server, MODEL + "/metadata")
    assert status == 200
    assert found["model_spec"]["name"] == "half_plus_two"
    assert found["model_spec"]["version"] == "123"
    signature = found["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert signature["method_name"] == "tensorflow/serving/predict"
    assert signature["inputs"]["x"]["dtype"] == "DT_FLOAT"
    assert [d["size"] for d in signature["inputs"]["x"]["tensor_shape"]["dim"]] == ["-1", "1"]


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/v1/models/half:predict", {"instances": [1.0]}, 404,
         "Servable not found for request: Latest(half)"),
        (MODEL + "/versions/9:predict", {"instances": [1.0]}, 404,
         "Servable not found for request: Specific(half_plus_two, 9)"),
        (MODEL + "/versions/99999999999999999999:predict", {"instances": [1.0]}, 400,
         "Failed to convert version: 99999999999999999999 to numeric."),
        (MODEL + "/labels/x:predict", {"instances": [1.0]}, 400,
         "Unrecognized servable version label: x"),
        (MODEL, {"instances": [1.0]}, 400, f"Malformed request: POST {MODEL}"),
        ("/v1/models/", None, 400, "Malformed request: GET /v1/models/"),
        (MODEL + ":predict", None, 400, f"Malformed request: GET {MODEL}:predict"),
        (MODEL + ":predict", b"", 400, "JSON Parse error: The document is empty"),
        (MODEL + ":predict", {"signature_name": "s", "instances": [1.0]}, 400,
         'Serving signature name: "s" not found in signature def'),
        (MODEL + ":predict", {"instances": ["a"]}, 400,
         'JSON Value: "a" Type: String is not of expected type: float32'),
        (MODEL + ":regress", {"signature_name": "s", "examples": [{"x": 1.0}]}, 400,
         "No signature was found with the name: s"),
        ("/v2/x", None, 404, "Not found: /v2/x"),
    ],
)  # fmt: skip
def test_errors(server: Any, path: str, body: Any, status: int, message: str) -> None:
    assert ask(server, path, body) == (status, {"error": message})


def test_errors_of_the_model(server: Any) -> None:
    status, found = ask(server, MODEL + ":predict", {"instances": [[1.0, 2.0]]})
    assert status == 400 and "Cannot feed value of shape (1, 2)" in found["error"]
    body = {"signature_name": "regress_x_to_y", "examples": [{"y": 1.0}]}
    status, found = ask(server, MODEL + ":regress", body)
    assert status == 400 and "x (data type: float) is required" in found["error"]


def test_metrics(server: Any) -> None:
    ask(server, MODEL + ":predict", {"instances": [[1.0]]})
    ask(server, MODEL + ":predict", {"instances": [["a"]]})
    ask(server, "/v1/models/other:predict", {"instances": [["a"]]})
    connection = http.client.HTTPConnection("127.0.0.1", server.rest_port, timeout=60)
    connection.request("GET", "/monitoring/prometheus/metrics")
    answer = connection.getresponse()
    page = answer.read().decode()
    connection.close()
    assert answer.headers["content-type"].startswith("text/plain")
    count = ":tensorflow:serving:request_count"
    assert f'{count}{{model_name="half_plus_two",status="OK"}} 1' in page
    assert f'{count}{{model_name="half_plus_two",status="INVALID_ARGUMENT"}} 1' in page
    assert f'{count}{{model_name="",status="NOT_FOUND"}} 1' in page
    latency = ':request_latency_count{model_name="half_plus_two",API="Predict",entrypoint="REST"} 1'
    assert latency in page


def test_values_of_all_types(tmp_path: Path, serve: Any) -> None:
    models.signature_model(tmp_path / "mixed", models.mixed)
    server = serve(tmp_path / "mixed", port=0)
    rows = [
        {"tag": "foo", "signal": [1, 2], "sensor": [0.25, 3.0], "flag": True},
        {"tag": {"b64": "YmFy"}, "signal": [3, -4], "sensor": [1e-3, -1.0], "flag": False},
    ]
    status, found = ask(server, "/v1/models/mixed:predict", {"instances": rows})
    assert (status, found["predictions"]) == (
        200,
        [
            {"tag": "foo", "tag_bytes": {"b64": "Zm9v"}, "sum": 3, "half": [0.125, 1.5],
             "not": False, "large": [3000000000, 6000000000]},
            {"tag": "bar", "tag_bytes": {"b64": "YmFy"}, "sum": -1, "half": [0.000500000024, -0.5],
             "not": True, "large": [9000000000, -12000000000]},
        ],
    )  # fmt: skip


def test_bodies_that_are_too_large_or_too_slow(tmp_path: Path, serve: Any) -> None:
    models.half_plus(tmp_path / "half_plus_two")
    server = serve(
        tmp_path / "half_plus_two", port=0, max_message_bytes=1000, rest_api_timeout_in_ms=300
    )
    body = json.dumps({"instances": [[1.0]] * 500}).encode()
    status, found = ask(server, MODEL + ":predict", body)
    assert status == 429 and "larger than 1000 bytes" in found["error"]
    zipped = {"Content-Encoding": "gzip"}
    status, found = ask(server, MODEL + ":predict", gzip.compress(body), **zipped)
    assert status == 429 and "larger than 1000 bytes" in found["error"]
    assert ask(server, MODEL + ":predict", gzip.compress(body)[:20], **zipped)[0] == 400
    assert ask(server, MODEL + ":predict", b"{}", **{"Content-Encoding": "br"})[0] == 501
    connection = http.client.HTTPConnection("127.0.0.1", server.rest_port, timeout=60)
    connection.putrequest("POST", MODEL + ":predict")
    connection.putheader("Content-Length", "100")
    connection.endheaders()
    connection.send(b'{"instances"')  # and then nothing
    answer = connection.getresponse()
    assert answer.status == 504 and b"Timed out after 0.3 s" in answer.read()
    connection.close()


def test_pages_of_other_origins(tmp_path: Path, serve: Any) -> None:
    models.half_plus(tmp_path / "half_plus_two")
    server = serve(tmp_path / "half_plus_two", port=0, rest_api_enable_cors_support=True)
    connection = http.client.HTTPConnection("127.0.0.1", server.rest_port, timeout=60)
    connection.request("OPTIONS", MODEL + ":predict", headers={"Origin": "https://example.org"})
    answer = connection.getresponse()
    assert (answer.status, answer.read()) == (200, b"")
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    connection.request("OPTIONS", MODEL + ":predict")
    answer = connection.getresponse()
    assert answer.status == 400 and b"Origin header is missing" in answer.read()
    connection.close()


def test_damaged_requests(server: Any) -> None:
    """Bodies with a few bytes changed get an answer, and the server goes on."""
    dice = random.Random(34)
    bodies = [
        b'{"signature_name": "serving_default", "instances": [[1.0], [2.0], {"b64": "YQ=="}]}',
        b'{"inputs": {"x": [[1.0], [NaN], [-1e38]]}, "context": {}, "examples": [{"x": [1, 2]}]}',
    ]
    connection = http.client.HTTPConnection("127.0.0.1", server.rest_port, timeout=60)
    for index in range(300):
        body = bytearray(bodies[index % 2])
        for _ in range(dice.randint(1, 4)):
            at = dice.randrange(len(body))
            body[at : at + dice.randint(0, 2)] = bytes(dice.choices(b'[]{}":,0e-\xff\x00truN', k=1))
        method = dice.choice(["predict", "classify", "regress"])
        connection.request("POST", f"{MODEL}:{method}", bytes(body))
        answer = connection.getresponse()
        found = json.loads(answer.read().decode("utf-8", "surrogateescape"))
        assert answer.status == 200 or (answer.status == 400 and found["error"]), body
    connection.close()
    assert ask(server, MODEL + ":predict", {"instances": [[1.0]]})[1] == {"predictions": [[2.5]]}


def test_requests_while_versions_change(tmp_path: Path, serve: Any) -> None:
    """Each answer is that of one version, and none fails."""
    folder = tmp_path / "half_plus_two"
    models.half_plus(folder, 0.0, version=1)
    server = serve(folder, enable_batching=True)
    ended = threading.Event()

    def client(seed: int) -> list[tuple[int, float]]:
        dice = random.Random(seed)
        found = []
        while not ended.is_set():
            x = float(dice.randrange(1000))
            status, answer = ask(server, MODEL + ":predict", {"instances": [[x]]})
            assert status == 200, answer
            found.append(answer["predictions"][0][0] - x / 2)
        return found

    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(client, seed) for seed in range(3)]
        try:
            for version in (2, 3, 4):
                models.half_plus(tmp_path / "new", float(version - 1), version)
                (tmp_path / "new" / str(version)).rename(folder / str(version))
                path = f"{MODEL}/versions/{version}"
                while ask(server, path)[0] != 200 or (
                    ask(server, path)[1]["model_version_status"][0]["state"] != "AVAILABLE"
                ):
                    time.sleep(0.01)
                time.sleep(0.1)
        finally:
            ended.set()
        for each in running:
            offsets = each.result()
            assert offsets == sorted(offsets) and set(offsets) <= {0.0, 1.0, 2.0, 3.0}
            assert offsets[0] == 0.0 and offsets[-1] == 3.0


def test_stopping_answers_the_request_in_flight(tmp_path: Path, serve: Any) -> None:
    models.half_plus(tmp_path / "half_plus_two")
    (tmp_path / "batching").write_text("batch_timeout_micros { value: 500000 }")
    server = serve(
        tmp_path / "half_plus_two", enable_batching=True,
        batching_parameters_file=str(tmp_path / "batching"),
    )  # fmt: skip
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(ask, server, MODEL + ":predict", {"instances": [[1.0]]})
        while not server._batcher.waiting():
            time.sleep(0.005)
        server.stop()
        assert waiting.result() == (200, {"predictions": [[2.5]]})
    with pytest.raises(OSError):
        ask(server, MODEL)


def test_idle_connections_hold_nothing_up(server: Any) -> None:
    idle = [socket.create_connection(("127.0.0.1", server.rest_port)) for _ in range(200)]
    try:
        for half, each in enumerate(idle):
            each.sendall(b"POST /v1/models/half_plus_two:predict HTTP/1.1\r\n"[: half % 40])
        assert ask(server, MODEL + ":predict", {"instances": [[1.0]]})[0] == 200
    finally:
        for each in idle:
            each.close()
