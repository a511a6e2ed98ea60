"""Bodies of REST requests as arrays, and arrays as bodies."""

from __future__ import annotations

import json
import math
import tracemalloc
from typing import Any

import numpy as np
import pytest

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.protos import SignatureDef
from stillflow.serve import json_examples, json_tensors


def signature(**types: Any) -> Any:
    made = SignatureDef()
    for name, dtype in types.items():
        made.inputs[name].name = f"{name}:0"
        made.inputs[name].dtype = dtype.as_datatype_enum
    return made


def inputs(text: str, **types: Any) -> Any:
    return json_tensors.inputs_of(json_tensors.parse(text.encode()), signature(**types))


def test_rows_of_one_input() -> None:
    arrays, in_rows = inputs('{"instances": [[[1, 2]], [[3, 4]]]}', x=dtypes.float32)
    assert in_rows and arrays["x"].dtype == np.float32
    np.testing.assert_array_equal(arrays["x"], [[[1, 2]], [[3, 4]]])


def test_rows_of_named_inputs_equal_columns() -> None:
    types = {"tag": dtypes.string, "signal": dtypes.int32, "sensor": dtypes.float32}
    rows, _ = inputs(
        """{"instances": [
        {"tag": "foo", "signal": [1, 2, 3, 4, 5], "sensor": [[1, 2], [3, 4]]},
        {"tag": "bar", "signal": [3, 4, 1, 2, 5], "sensor": [[4, 5], [6, 8]]}]}""",
        **types,
    )
    columns, in_rows = inputs(
        """{"inputs": {"tag": ["foo", "bar"], "signal": [[1, 2, 3, 4, 5], [3, 4, 1, 2, 5]],
        "sensor": [[[1, 2], [3, 4]], [[4, 5], [6, 8]]]}}""",
        **types,
    )
    assert not in_rows
    for name, array in rows.items():
        assert array.dtype == columns[name].dtype
        np.testing.assert_array_equal(array, columns[name])
    assert rows["tag"].tolist() == [b"foo", b"bar"]


def test_a_column_may_be_a_scalar() -> None:
    assert inputs('{"inputs": 3}', x=dtypes.int64)[0]["x"].shape == ()
    assert inputs('{"inputs": {"b64": "YQ=="}}', x=dtypes.string)[0]["x"].item() == b"a"
    assert inputs('{"inputs": {"x": 3}}', x=dtypes.int64)[0]["x"] == 3


def test_binary_values() -> None:
    text = '{"instances": [{"b64": "aW1hZ2UgYnl0ZXM="}, "seaside"]}'
    assert inputs(text, x=dtypes.string)[0]["x"].tolist() == [b"image bytes", b"seaside"]
    text = '{"instances": [{"x": {"b64": "/w=="}}, {"x": "é"}]}'
    assert inputs(text, x=dtypes.string)[0]["x"].tolist() == [b"\xff", "é".encode()]


def test_numbers_beyond_json() -> None:
    found = inputs('{"instances": [NaN, Infinity, -Infinity, 1e300]}', x=dtypes.float32)[0]["x"]
    assert math.isnan(found[0]) and found[1:].tolist() == [math.inf, -math.inf, math.inf]


def test_truth_values_and_large_integers() -> None:
    assert inputs('{"instances": [true, false]}', x=dtypes.bool)[0]["x"].tolist() == [True, False]
    large = [2**64 - 1, 0]
    assert inputs(json.dumps({"instances": large}), x=dtypes.uint64)[0]["x"].tolist() == large
    assert inputs('{"instances": []}'.replace("[]", "[[]]"), x=dtypes.int32)[0]["x"].shape == (1, 0)


@pytest.mark.parametrize(
    ("text", "types", "message"),
    [
        ("", {}, "JSON Parse error: The document is empty"),
        ("[1]", {}, "Is not object"),
        ('{"instances": [1.0, 2}', {}, "JSON Parse error: .* at offset: 21"),
        ("[" * 100000, {}, "JSON Parse error"),
        ('{"x": "\\ud800"', {}, "JSON Parse error"),
        ("{}", {"x": dtypes.int32}, "Missing 'inputs' or 'instances' key"),
        ('{"instances": 1}', {"x": dtypes.int32}, "Expecting 'instances' to be an list/array"),
        ('{"instances": []}', {"x": dtypes.int32}, "No values in 'instances' array"),
        ('{"instances": [1], "inputs": 1}', {"x": dtypes.int32}, "expecting only one of"),
        ('{"instances": [1.5]}', {"x": dtypes.int32}, "JSON Value: 1.5 Type: Number is not of"),
        ('{"instances": [300]}', {"x": dtypes.uint8}, "JSON Value: 300 Type: Number is not of"),
        ('{"instances": [1e999999]}', {"x": dtypes.int32}, "is not of expected type: int32"),
        ('{"instances": [true, 1]}', {"x": dtypes.int32}, "JSON Value: true Type: True is not of"),
        ('{"instances": [[1], [true]]}', {"x": dtypes.float32}, "Type: True is not of expected"),
        ('{"instances": [null]}', {"x": dtypes.float32}, "Type: Null is not of expected type"),
        ('{"instances": [1, "a"]}', {"x": dtypes.float32}, 'JSON Value: "a" Type: String is not'),
        ('{"instances": [1]}', {"x": dtypes.string}, "is not of expected type: string"),
        ('{"instances": [0]}', {"x": dtypes.bool}, "is not of expected type: bool"),
        ('{"instances": [{"b64": "@"}]}', {"x": dtypes.string}, "Unable to base64 decode"),
        ('{"instances": [{"b64": 1}]}', {"x": dtypes.string}, "not formatted correctly for base64"),
        ('{"instances": [[1, 2], [3]]}', {"x": dtypes.int32}, "unexpected size: 1 at level: 1"),
        ('{"instances": [[1], 2]}', {"x": dtypes.int32}, "found at incorrect level: 2"),
        ('{"instances": [1, [2]]}', {"x": dtypes.int32}, "unexpected level: 1 expected < 1"),
        ('{"instances": [1]}', {"x": dtypes.int32, "y": dtypes.int32}, "instances is a plain list"),
        ('{"inputs": [1]}', {"x": dtypes.int32, "y": dtypes.int32}, "inputs is a plain value/list"),
        ('{"inputs": {"y": 1}}', {"x": dtypes.int32}, "Missing named input: x in 'inputs' object"),
        ('{"instances": [{"y": 1}]}', {"x": dtypes.int32}, "keys must be equal to: x"),
        ('{"instances": [{"x": 1}, 2]}', {"x": dtypes.int32}, "got list at item 1 of input list"),
        ('{"instances": [2, {"x": 1}]}', {"x": dtypes.int32}, "got object at item 1 of input list"),
        ('{"signature_name": 1}', {}, "'signature_name' key must be a string value"),
    ],
)
def test_wrong_bodies(text: str, types: Any, message: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=message):
        request = json_tensors.parse(text.encode())
        json_tensors.signature_name(request)
        json_tensors.inputs_of(request, signature(**types))


def test_a_long_text_among_numbers_takes_no_memory() -> None:
    body = json.dumps({"instances": ["a" * 100_000, *[1.0] * 10_000]})
    tracemalloc.start()
    try:
        with pytest.raises(errors.InvalidArgumentError):
            inputs(body, x=dtypes.float32)
        assert tracemalloc.get_traced_memory()[1] < 50e6  # NumPy's array of texts takes 4e9
    finally:
        tracemalloc.stop()


def test_outputs_in_rows_and_columns() -> None:
    one = {"y": np.float32([[0.1], [2.0]])}
    assert json_tensors.encode(one, True) == b'{"predictions": [[0.100000001], [2.0]]}'
    assert json_tensors.encode(one, False) == b'{"outputs": [[0.100000001], [2.0]]}'
    strings = np.array([b"\xff", b"a"], object)
    two = {"a": np.int64([2**62, 1]), "s_bytes": strings}
    assert json.loads(json_tensors.encode(two, True)) == {
        "predictions": [
            {"a": 2**62, "s_bytes": {"b64": "/w=="}},
            {"a": 1, "s_bytes": {"b64": "YQ=="}},
        ]
    }
    assert json.loads(json_tensors.encode(two, False))["outputs"]["a"] == [2**62, 1]


def test_values_of_outputs() -> None:
    special = {"y": np.float32([np.nan, np.inf, -np.inf])}
    assert json_tensors.encode(special, True) == b'{"predictions": [NaN, Infinity, -Infinity]}'
    assert json_tensors.encode({"y": np.array(True)}, False) == b'{"outputs": true}'
    assert (
        json_tensors.encode({"y": np.zeros([2, 0], np.float32)}, True)
        == b'{"predictions": [[], []]}'
    )
    text = {"y": np.array([b"\xff", "é".encode()], object)}
    assert json_tensors.encode(text, True) == b'{"predictions": ["\xff", "\xc3\xa9"]}'


def test_outputs_that_are_no_rows() -> None:
    with pytest.raises(
        errors.InvalidArgumentError, match="Tensor name: y has no shape information"
    ):
        json_tensors.encode({"y": np.float32(1)}, True)
    uneven = {"a": np.zeros(2), "b": np.zeros(3)}
    with pytest.raises(
        errors.InvalidArgumentError, match="inconsistent batch size: 3 expecting: 2"
    ):
        json_tensors.encode(uneven, True)
    with pytest.raises(errors.UnimplementedError, match="complex64"):
        json_tensors.encode({"y": np.complex64([1])}, True)


def test_examples() -> None:
    found = json_examples.input_of(
        {
            "context": {"c": [1, 2]},
            "examples": [{"a": 1.5, "b": {"b64": "/w=="}, "l": []}, {"a": [2.5, 3], "b": "x"}],
        }
    )
    both = found.example_list_with_context
    assert list(both.context.features.feature["c"].int64_list.value) == [1, 2]
    first, second = (example.features.feature for example in both.examples)
    assert list(first["a"].float_list.value) == [1.5]
    assert list(first["b"].bytes_list.value) == [b"\xff"]
    assert first["l"].WhichOneof("kind") is None
    assert list(second["a"].float_list.value) == [2.5, 3.0]


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({}, "key 'examples' is expected"),
        ({"examples": []}, "non-empty 'examples' list"),
        ({"examples": [1]}, "Example must be JSON object"),
        ({"examples": [{"a": [1, 2.5]}]}, "Unexpected element type in feature: a"),
        ({"examples": [{"a": None}]}, "Feature: a has element with unexpected JSON type"),
        ({"examples": [{"a": True}]}, "Feature: a has element with unexpected JSON type"),
        ({"examples": [{"a": [[1]]}]}, "Feature: a has element with unexpected JSON type"),
        ({"examples": [{"a": 1 << 70}]}, "Feature: a has element with unexpected JSON type"),
        ({"examples": [{"\ud800": 1}]}, "is not Unicode text"),
        ({"examples": [{"a": 1}], "context": 3}, "Example must be JSON object"),
    ],
)
def test_wrong_examples(request_: Any, message: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=message):
        json_examples.input_of(request_)
