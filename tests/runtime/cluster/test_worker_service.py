"""WorkerService, called with the bytes of a master of TensorFlow and of its other tasks."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from tests.runtime.cluster import rpc_replay
from tests.runtime.cluster.test_mixed_clusters import free_port

import stillflow as tf
from stillflow.graph.tensor_proto import make_ndarray
from stillflow.runtime.cluster.grpc_port import file

grpc = pytest.importorskip("grpc")

CALLS = rpc_replay.programs("worker.json")["parts"]
messages = file("tensorflow/core/protobuf/worker.proto")


class Worker(grpc.GenericRpcHandler):
    """The other task of the recorded cluster, as far as it is asked for values: for the feed."""

    def __init__(self, address: str) -> None:
        self._server = grpc.server(ThreadPoolExecutor(2), [self])
        self._server.add_insecure_port(address)
        self._server.start()

    def service(self, details: Any) -> Any:
        assert details.method == "/tensorflow.WorkerService/RecvTensor"
        return grpc.unary_unary_rpc_method_handler(self._answer)

    def _answer(self, data: bytes, context: Any) -> bytes:
        assert "_recv_x_0" in messages["RecvTensorRequest"].FromString(data).rendezvous_key
        response = messages["RecvTensorResponse"]()
        response.tensor.CopyFrom(tf.make_tensor_proto(np.float32([1, 2])))
        return bytes(response.SerializeToString())

    def stop(self) -> None:
        self._server.stop(None).wait()


@pytest.fixture
def channel(cpu: None) -> Iterator[Any]:  # the recorded cluster had no GPU
    """Yield a channel to a parameter server."""
    addresses = {job: [f"localhost:{free_port()}"] for job in ("ps", "worker")}
    worker = Worker(addresses["worker"][0])
    tf.train.Server(addresses, "ps", 0)
    with grpc.insecure_channel(addresses["ps"][0]) as opened:
        yield opened
    worker.stop()


def ask(channel: Any, method: str, request: Any) -> Any:
    _, kind = rpc_replay.message_types(method)
    call = channel.unary_unary(f"/tensorflow.WorkerService/{method}")
    return kind.FromString(call(request.SerializeToString(), timeout=60))


def test_a_master_of_tensorflow_gets_the_recorded_answers(channel: Any) -> None:
    # A task may ask for a value before its step begins: then the recorded call comes first.
    calls = list(CALLS)
    for place, record in enumerate(calls):
        if record["method"] == "RecvTensor" and calls[place + 1]["method"] == "RunGraph":
            calls[place : place + 2] = calls[place + 1], record
    received = 0
    for method, expected, found in rpc_replay.repeated(channel, calls):
        if isinstance(expected, tuple):  # the error of a step that has failed, for other tasks
            assert isinstance(found, tuple)
        elif method == "GetStatus":
            names = [d.name for d in expected.device_attributes if d.device_type == "CPU"]
            assert [d.name for d in found.device_attributes] == names
            assert all(d.incarnation for d in found.device_attributes)
        elif method == "RecvTensor":
            received += 1
            assert found.is_dead == expected.is_dead
            expected.tensor.tensor_shape.SetInParent()  # TensorFlow leaves that of a scalar out
            assert found.tensor == expected.tensor
        elif method == "RunGraph":
            assert found.status_code == expected.status_code
            assert found.status_error_message == expected.status_error_message
            values = {each.name: each.tensor for each in found.recv}
            assert values == {each.name: each.tensor for each in expected.recv}
        else:
            assert found == expected, method
    assert received == sum(record["method"] == "RecvTensor" for record in calls) - 1


def test_a_master_learns_that_this_process_has_started_again(channel: Any) -> None:
    request = messages["RegisterGraphRequest"](
        session_handle="0123456789abcdef", create_worker_session_called=True
    )
    with pytest.raises(grpc.RpcError) as caught:
        ask(channel, "RegisterGraph", request)
    assert caught.value.code() == grpc.StatusCode.ABORTED
    assert "Possibly this worker" in caught.value.details()
    with pytest.raises(grpc.RpcError) as caught:
        ask(channel, "RunGraph", messages["RunGraphRequest"](graph_handle="nothing"))
    assert caught.value.details() == "Graph handle is not found: nothing"


def test_a_call_that_waits_for_a_value_ends_with_its_step(channel: Any) -> None:
    call = channel.unary_unary("/tensorflow.WorkerService/RecvTensor")
    request = messages["RecvTensorRequest"](step_id=7, rendezvous_key="a;0;b;c;0:0")
    waiting = call.future(request.SerializeToString(), timeout=60)
    ask(channel, "CleanupGraph", messages["CleanupGraphRequest"](step_id=7))
    assert waiting.exception().code() == grpc.StatusCode.ABORTED


def test_containers_are_cleared(channel: Any) -> None:
    assert not ask(channel, "CleanupAll", messages["CleanupAllRequest"]()).ByteSize()
    assert not ask(channel, "Logging", messages["LoggingRequest"](clear=True)).ByteSize()
    assert not ask(channel, "Tracing", messages["TracingRequest"]()).ByteSize()


def test_values_are_encoded_as_their_bytes(channel: Any) -> None:
    tensors = [
        answer.tensor
        for record in CALLS
        if record["method"] == "RecvTensor" and "answer" in record
        for answer in [rpc_replay.answer_of(record)]
    ]
    assert {str(make_ndarray(tensor).dtype) for tensor in tensors} >= {"float32", "object"}
