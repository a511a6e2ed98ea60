"""The gRPC interface, asked with the bytes of TensorFlow Serving's own client."""

from __future__ import annotations

import base64
import json
import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.certificates import certificates
from tests.serve import models

from stillflow.serve import messages, tensors

grpc = pytest.importorskip("grpc")

RECORDED = [
    record
    for name in ("clients.json", "clients_js.json")
    for record in json.loads((Path(__file__).parent / "recorded" / name).read_text())
]
PREDICTION = "/tensorflow.serving.PredictionService/"
MODEL = "/tensorflow.serving.ModelService/"
HEALTH = "/grpc.health.v1.Health/"


@pytest.fixture
def server(tmp_path: Path, serve: Any) -> Any:
    models.half_plus(tmp_path / "half_plus_two")
    return serve(tmp_path / "half_plus_two", rest_api_port=0)


def call(
    server: Any, method: str, request: Any, response: Any = None, timeout: float = 60,
    channel: Any = None,
) -> Any:  # fmt: skip
    """Call a method; messages of a class, or bytes where there is none."""
    opened = channel or grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}")
    data = request if isinstance(request, bytes) else request.SerializeToString()
    try:
        found = opened.unary_unary(method)(data, timeout=timeout, wait_for_ready=True)
    finally:
        if channel is None:
            opened.close()
    return found if response is None else response.FromString(found)


def predict_request(*values: float, **spec: Any) -> Any:
    request = messages.PredictRequest()
    request.model_spec.name = spec.get("name", "half_plus_two")
    x = np.float32(values or [1.0]).reshape(-1, 1)
    request.inputs["x"].CopyFrom(tensors.to_message(x))
    return request


def predict(server: Any, *values: float, **options: Any) -> list[float]:
    request = predict_request(*values)
    found = call(server, PREDICTION + "Predict", request, messages.PredictResponse, **options)
    return list(found.outputs["y"].float_val)


def failure(*arguments: Any, **options: Any) -> tuple[str, str]:
    with pytest.raises(grpc.RpcError) as caught:
        call(*arguments, **options)
    return caught.value.code().name, caught.value.details()


@pytest.mark.parametrize("index", range(len(RECORDED)))
def test_calls_of_other_clients(server: Any, index: int) -> None:
    record = RECORDED[index]
    request = base64.b64decode(record["request"])
    if "code" in record:
        assert failure(server, record["method"], request) == (record["code"], record["details"])
        return
    kinds = {
        "Predict": messages.PredictResponse, "Regress": messages.RegressionResponse,
        "Classify": messages.ClassificationResponse,
        "MultiInference": messages.MultiInferenceResponse,
        "GetModelMetadata": messages.GetModelMetadataResponse,
        "GetModelStatus": messages.GetModelStatusResponse,
    }  # fmt: skip
    method = record["method"].rpartition("/")[2]
    found = call(server, record["method"], request, kinds[method])
    wanted = kinds[method].FromString(base64.b64decode(record["response"]))
    if method == "GetModelMetadata":  # in Any, bytes of a map in any order
        pairs = []
        for message in (found, wanted):
            pairs.append(messages.SignatureDefMap())
            message.metadata["signature_def"].Unpack(pairs[-1])
            message.ClearField("metadata")
        assert pairs[0] == pairs[1] and pairs[0].signature_def
    assert found == wanted
    if "session" in record:  # the values of TensorFlow's own session
        values = {
            "Predict": lambda: list(found.outputs["y"].float_val),
            "Regress": lambda: [each.value for each in found.result.regressions],
            "Classify": lambda: [c.classes[0].score for c in found.result.classifications],
        }[method]()
        assert values == record["session"]


def test_tensors_of_all_types() -> None:
    for array in (
        np.array([True, False]), np.int8([-1, 2]), np.uint8([200]), np.int16([[3, -4]]),
        np.int32(-5), np.int64([2**40]), np.uint32([2**32 - 1]), np.uint64([2**64 - 1]),
        np.float16([0.5, -2]), np.float32([1.5, np.inf]), np.float64([[1e300]]),
        np.complex64([1 + 2j]), np.complex128([3 - 1j]), np.array([b"\xff", b""], object),
        np.zeros([0, 3], np.float32), np.zeros([2, 2]),
    ):  # fmt: skip
        message = tensors.to_message(array)
        assert not message.tensor_content
        again = tensors.from_proto("x", type(message).FromString(message.SerializeToString()))
        assert again.dtype == array.dtype
        np.testing.assert_array_equal(again, array)


def test_damaged_tensors(server: Any) -> None:
    request = predict_request()
    tensor = request.inputs["x"]
    tensor.tensor_shape.dim[0].size = 1 << 40
    method = PREDICTION + "Predict"
    code, details = failure(server, method, request)
    assert code == "INVALID_ARGUMENT" and "the shape asks for 1099511627776 elements" in details
    tensor.tensor_shape.dim[0].size = -1
    assert failure(server, method, request)[0] == "INVALID_ARGUMENT"
    tensor.tensor_shape.dim[0].size = 1
    tensor.dtype = 99
    assert failure(server, method, request)[0] == "INVALID_ARGUMENT"
    tensor.dtype = 3
    wanted = ("INVALID_ARGUMENT", "Expects arg[x] to be float32 but int32 is provided")
    assert failure(server, method, request) == wanted
    del request.inputs["x"]
    request.inputs["z"].dtype = 1
    assert failure(server, method, request) == (
        "INVALID_ARGUMENT",
        (
            "input size does not match signature: 1!=1 len({z}) != len({x}). Sent extra: {z}. "
            "Missing but required: {x}."
        ),
    )


def test_damaged_messages(server: Any) -> None:
    """Messages with a few bytes changed get an answer or an error, and the server goes on."""
    dice = random.Random(34)
    plain = predict_request(1.0, 2.0).SerializeToString()
    channel = grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}")
    codes = set()
    for _ in range(300):
        data = bytearray(plain)
        for _ in range(dice.randint(1, 4)):
            data[dice.randrange(len(data))] = dice.randrange(256)
        method = dice.choice(
            [PREDICTION + name for name in ("Predict", "Regress", "MultiInference")]
        )
        try:
            call(server, method, bytes(data), channel=channel)
        except grpc.RpcError as error:
            codes.add(error.code().name)
    channel.close()
    assert codes <= {
        "INVALID_ARGUMENT", "NOT_FOUND", "FAILED_PRECONDITION", "UNIMPLEMENTED",
    }  # fmt: skip
    assert predict(server, 1.0) == [2.5]


def test_limits_of_messages(tmp_path: Path, serve: Any) -> None:
    models.half_plus(tmp_path / "half_plus_two")
    server = serve(tmp_path / "half_plus_two", rest_api_port=0, max_message_bytes=10_000)
    request = predict_request(*range(5000))
    assert failure(server, PREDICTION + "Predict", request)[0] == "RESOURCE_EXHAUSTED"
    assert predict(server, *range(1000)) == [x / 2 + 2 for x in range(1000)]


def test_a_deadline(tmp_path: Path, serve: Any) -> None:
    models.half_plus(tmp_path / "half_plus_two")
    (tmp_path / "batching").write_text("batch_timeout_micros { value: 2000000 }")
    server = serve(
        tmp_path / "half_plus_two", rest_api_port=0, enable_batching=True,
        batching_parameters_file=str(tmp_path / "batching"),
    )  # fmt: skip
    with ThreadPoolExecutor(1) as pool:
        patient = pool.submit(predict, server, 3.0)
        while not server._batcher.waiting():
            time.sleep(0.005)
        code, _ = failure(server, PREDICTION + "Predict", predict_request(1.0), timeout=0.2)
        assert code == "DEADLINE_EXCEEDED"
        assert patient.result() == [3.5]


def test_reload(tmp_path: Path, server: Any) -> None:
    other = models.half_plus(tmp_path / "other", 3.0).parent
    request = messages.ReloadConfigRequest()
    assert failure(server, MODEL + "HandleReloadConfigRequest", request)[0] == "INVALID_ARGUMENT"
    config = request.config.model_config_list.config.add()
    config.name, config.base_path, config.model_platform = "other", str(other), "tensorflow"

    def reload() -> Any:
        kind = messages.ReloadConfigResponse
        return call(server, MODEL + "HandleReloadConfigRequest", request, kind).status

    assert reload().error_code == 0
    found = call(
        server, PREDICTION + "Predict", predict_request(1.0, name="other"),
        messages.PredictResponse,
    )  # fmt: skip
    assert list(found.outputs["y"].float_val) == [3.5]
    assert failure(server, PREDICTION + "Predict", predict_request(1.0))[0] == "NOT_FOUND"
    config.base_path = str(tmp_path / "none")
    config.name = "none"
    status = reload()
    assert status.error_code == 3 and "Could not find base path" in status.error_message


def test_health(tmp_path: Path, serve: Any) -> None:
    models.half_plus(tmp_path / "half_plus_two")
    server = serve(tmp_path / "half_plus_two", rest_api_port=0, file_system_poll_wait_seconds=0)

    def check(service: str) -> int:
        request = messages.HealthCheckRequest(service=service)
        return call(server, HEALTH + "Check", request, messages.HealthCheckResponse).status

    serving, not_serving = 1, 2
    assert check("") == check("tensorflow.serving.PredictionService") == serving
    request = messages.HealthCheckRequest(service="x")
    assert failure(server, HEALTH + "Check", request)[0] == "NOT_FOUND"
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        watch = channel.unary_stream(HEALTH + "Watch")(b"", timeout=60)
        assert messages.HealthCheckResponse.FromString(next(watch)).status == serving
        for name in list(server.models._configs):
            server.models._aspire(name, {})  # as if all versions had been unloaded
        assert messages.HealthCheckResponse.FromString(next(watch)).status == not_serving
        watch.cancel()


@pytest.mark.parametrize("version", ["v1", "v1alpha"])
def test_reflection(server: Any, version: str) -> None:
    from google.protobuf.descriptor_pb2 import FileDescriptorProto

    from stillflow.serve.messages import file

    names = file(f"grpc/reflection/{version}/reflection.proto")
    ask = names["ServerReflectionRequest"]
    questions = [
        ask(list_services=""),
        ask(file_containing_symbol="tensorflow.serving.PredictionService"),
        ask(file_by_filename="tensorflow/core/framework/tensor.proto"),
        ask(file_by_filename="none.proto"),
        ask(all_extension_numbers_of_type="x"),
    ]
    method = f"/grpc.reflection.{version}.ServerReflection/ServerReflectionInfo"
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        answers = channel.stream_stream(method)(
            iter([each.SerializeToString() for each in questions]), timeout=60
        )
        found = [names["ServerReflectionResponse"].FromString(each) for each in answers]
    services = [each.name for each in found[0].list_services_response.service]
    assert (
        "tensorflow.serving.PredictionService" in services and "grpc.health.v1.Health" in services
    )
    files = [
        FileDescriptorProto.FromString(each)
        for each in found[1].file_descriptor_response.file_descriptor_proto
    ]
    assert files[0].service[0].name == "PredictionService" and len(files) > 10
    assert {path for each in files for path in each.dependency} <= {each.name for each in files}
    assert found[2].HasField("file_descriptor_response")
    assert [each.error_response.error_code for each in found[3:]] == [5, 12]


@pytest.mark.parametrize("mutual", [False, True])
def test_tls(tmp_path: Path, serve: Any, mutual: bool) -> None:
    pair = certificates(tmp_path)
    models.half_plus(tmp_path / "half_plus_two")
    config = messages.SSLConfig(
        server_key=pair["key"].decode(), server_cert=pair["cert"].decode(),
        custom_ca=pair["cert"].decode() if mutual else "", client_verify=mutual,
    )  # fmt: skip
    (tmp_path / "ssl").write_text(str(config))
    server = serve(
        tmp_path / "half_plus_two", rest_api_port=0, ssl_config_file=str(tmp_path / "ssl")
    )
    address = f"localhost:{server.grpc_port}"
    own = (pair["key"], pair["cert"])
    credentials = grpc.ssl_channel_credentials(pair["cert"], *(own if mutual else ()))
    options = [("grpc.ssl_target_name_override", "localhost")]
    with grpc.secure_channel(address, credentials, options) as channel:
        assert predict(server, 1.0, channel=channel) == [2.5]
    strangers = [grpc.insecure_channel(address)]
    if mutual:
        strangers.append(
            grpc.secure_channel(address, grpc.ssl_channel_credentials(pair["cert"]), options)
        )
    for stranger in strangers:
        with stranger as channel, pytest.raises(grpc.RpcError):
            channel.unary_unary(PREDICTION + "Predict")(
                predict_request().SerializeToString(), timeout=5
            )


def test_a_port_that_is_taken(tmp_path: Path, serve: Any, server: Any) -> None:
    from stillflow import errors

    with pytest.raises(errors.UnavailableError, match="gRPC cannot listen on"):
        serve(tmp_path / "half_plus_two", rest_api_port=0, port=server.grpc_port)


def test_many_clients_at_once(server: Any) -> None:
    failures: list[BaseException] = []

    def client(seed: int) -> None:
        dice = random.Random(seed)
        with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
            for _ in range(50):
                xs = [float(dice.randrange(100)) for _ in range(dice.randint(1, 5))]
                try:
                    assert predict(server, *xs, channel=channel) == [x / 2 + 2 for x in xs]
                except BaseException as error:
                    failures.append(error)

    threads = [threading.Thread(target=client, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_a_burst_of_calls_is_answered(server: Any) -> None:
    """Without limits of ours gRPC cancels some of those that no thread has taken yet."""
    request = predict_request(1.0).SerializeToString()
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        call = channel.unary_unary(PREDICTION + "Predict")
        answers = [call.future(request, timeout=60) for _ in range(4000)]
        assert {answer.code() for answer in answers} == {grpc.StatusCode.OK}


def test_clients_that_watch_leave_threads_for_calls(server: Any) -> None:
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        watch = channel.unary_stream(HEALTH + "Watch")
        held = [watch(b"", timeout=60) for _ in range(8)]
        for each in held:
            next(each)
        with pytest.raises(grpc.RpcError) as caught:
            next(watch(b"", timeout=60))
        assert caught.value.code().name == "RESOURCE_EXHAUSTED"
        assert predict(server, 1.0) == [2.5]
        for each in held:
            each.cancel()
