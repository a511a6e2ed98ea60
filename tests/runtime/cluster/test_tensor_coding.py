"""Values as messages that protobuf neither builds nor parses."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.runtime.cluster import tensor_coding
from stillflow.runtime.cluster.grpc_port import file

RESPONSE = file("tensorflow/core/protobuf/worker.proto")["RecvTensorResponse"]
QUINT8 = dtypes.quint8.as_numpy_dtype
VALUES = [
    (dtypes.float32, np.arange(100000, dtype=np.float32).reshape(100, 1000)),
    (dtypes.float32, np.arange(24000, dtype=np.float32).reshape(4, -1)[:, ::2]),
    (dtypes.float64, np.zeros((0, 4))),
    (dtypes.int64, np.int64(-3)),
    (dtypes.bool, np.arange(70000) % 3 == 0),
    (dtypes.complex128, np.full([5000], 1 - 2j)),
    (dtypes.bfloat16, np.ones([20000], ml_dtypes.bfloat16)),
    (dtypes.quint8, np.arange(20000).astype(np.uint8).view(QUINT8)),
    (dtypes.string, np.array([[b"a", b"\0b\0"]], dtype=object)),
    (dtypes.string, b"a\0" * 10000),
]


def is_part(array: Any, data: bytes) -> bool:
    return bool(np.shares_memory(array, np.frombuffer(data, np.uint8)))


@pytest.mark.parametrize(("dtype", "value"), VALUES)
@pytest.mark.parametrize("name", ["x", "xy"])
def test_values_are_those_of_the_message(dtype: Any, value: Any, name: str) -> None:
    data = tensor_coding.response(value, dtype, name)
    array = tensor_coding.received(data)
    of_message = tensor_coding.array_of(RESPONSE.FromString(data).tensor)
    assert array is not None and array.dtype == of_message.dtype
    assert array.shape == of_message.shape == np.shape(value)
    if dtype is dtypes.string:
        assert array.tolist() == of_message.tolist() == np.asarray(value, object).tolist()
    else:
        assert array.tobytes() == of_message.tobytes() == np.ascontiguousarray(value).tobytes()
        assert array.flags.writeable and array.flags.aligned
        assert is_part(array, data) == (array.nbytes > 1 << 14)


def test_a_value_where_memory_is_not_aligned_is_copied() -> None:
    value = np.arange(10000.0)
    data = b"\x10\x00" + tensor_coding.response(value, dtypes.float64, "x")
    array = tensor_coding.received(data)
    assert array is not None and array.flags.aligned and not is_part(array, data)
    np.testing.assert_array_equal(array, value)


def test_messages_of_protobuf_are_read_without_a_parse() -> None:
    value = np.arange(10000.0).reshape(100, 100)
    message = RESPONSE(send_start_micros=5)
    tensor_coding.fill(message.tensor, value, dtypes.float64)
    np.testing.assert_array_equal(tensor_coding.received(message.SerializeToString()), value)


def test_dead_values_are_none() -> None:
    assert tensor_coding.received(tensor_coding.response(None, dtypes.float32, "x")) is None
    large = tensor_coding.response(np.ones(10000), dtypes.float64, "x")
    assert tensor_coding.received(large + b"\x10\x01") is None


@pytest.mark.parametrize("size", [0, 5000, 50000])
def test_what_is_no_message_is_an_error(size: int) -> None:
    cut = tensor_coding.response(np.ones(max(size, 8) // 8), dtypes.float64, "x")[:-1]
    for data in (cut, b"\xff" * size or b"\xff"):
        with pytest.raises(errors.InvalidArgumentError, match="RecvTensorResponse"):
            tensor_coding.received(data)


@pytest.mark.parametrize("count", [9999, 10001])
def test_a_value_that_does_not_fill_its_shape_is_an_error(count: int) -> None:
    message = RESPONSE()
    tensor_coding.fill(message.tensor, np.ones(10000), dtypes.float64)
    message.tensor.tensor_shape.dim[0].size = count
    with pytest.raises(errors.InvalidArgumentError, match="Invalid TensorProto"):
        tensor_coding.received(message.SerializeToString())


def test_a_value_above_the_limit_of_a_message_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensor_coding, "_LARGEST", 1000)
    assert tensor_coding.response(np.ones(125), dtypes.float64, "weights:0")
    with pytest.raises(
        errors.ResourceExhaustedError, match="value, weights:0, of 1008 bytes cannot"
    ):
        tensor_coding.response(np.ones(126), dtypes.float64, "weights:0")
    with pytest.raises(errors.ResourceExhaustedError, match="names:0, of 1001 bytes"):
        tensor_coding.response(b"x" * 1001, dtypes.string, "names:0")
    values = [tensor_coding.named(1, name, np.ones(100), dtypes.float64) for name in "ab"]
    with pytest.raises(errors.ResourceExhaustedError, match="RecvTensorResponse of 16"):
        tensor_coding.joined(RESPONSE(), values)


def test_large_values_are_taken_out_of_a_message() -> None:
    kind = file("tensorflow/core/protobuf/worker.proto")["RunGraphRequest"]
    values = {"large": np.arange(10000.0), "ünlike": np.ones([3000, 2]), "small": np.float64(3)}
    fields = [tensor_coding.named(3, name, value, dtypes.float64) for name, value in values.items()]
    data = tensor_coding.joined(kind(step_id=7, graph_handle="g"), fields)
    data += kind(is_partial=True).SerializeToString()
    whole = kind.FromString(data)
    message, found = tensor_coding.parsed(kind, 3, data)
    assert (message.step_id, message.graph_handle, message.is_partial) == (7, "g", True)
    assert [each.name for each in message.send] == ["small"] and len(whole.send) == 3
    assert found.keys() == values.keys()
    for name, value in values.items():
        array = tensor_coding.array_of(found[name])
        np.testing.assert_array_equal(array, value)
        assert array.flags.aligned
    del whole.send[:], message.send[:]
    assert message == whole


def test_values_that_do_not_fit_are_errors_where_several_are_taken_out() -> None:
    kind = file("tensorflow/core/protobuf/worker.proto")["RunGraphRequest"]
    message = kind()
    tensor_coding.fill(message.send.add(name="x").tensor, np.ones(10000), dtypes.float64)
    message.send[0].tensor.tensor_shape.dim[0].size = 9999
    _, found = tensor_coding.parsed(kind, 3, message.SerializeToString())
    with pytest.raises(errors.InvalidArgumentError, match="Invalid TensorProto"):
        tensor_coding.array_of(found["x"])


def test_handles_are_not_sent() -> None:
    with pytest.raises(errors.UnimplementedError, match="resource"):
        tensor_coding.response(object(), dtypes.resource, "x")
