"""The comparison itself: it sees what differs, and says it readably."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
from tests.golden import compare, encode

CONST = {
    "name": "c",
    "op": "Const",
    "attr": {
        "dtype": {"type": 1},
        "value": {"tensor": {"dtype": 1, "tensor_shape": {}, "float_val": [0.5]}},
    },
}
GRAPH: dict[str, Any] = {
    "node": [CONST, {"name": "n", "op": "Neg", "input": ["c"], "attr": {"T": {"type": 1}}}],
    "versions": {"producer": 134},
    "collections": {"mine": ["c:0"]},
}


def graph_lines(change: Any) -> list[str]:
    changed = copy.deepcopy(GRAPH)
    change(changed)
    return list(compare.graph_differences(GRAPH, changed))


def test_equal_graphs_do_not_differ() -> None:
    assert graph_lines(lambda graph: None) == []


def test_attributes_may_stand_in_any_order() -> None:
    reordered = dict(reversed(list(GRAPH["node"][0]["attr"].items())))
    assert graph_lines(lambda graph: graph["node"][0].update(attr=reordered)) == []


@pytest.mark.parametrize(
    "change, line",
    [
        (lambda g: g["node"].pop(), "missing node n (Neg)"),
        (lambda g: g["node"].append({"name": "x", "op": "NoOp"}), "extra node x (NoOp)"),
        (lambda g: g["node"].reverse(), "order of nodes: number 0 is n, not c"),
        (lambda g: g["node"][1].update(op="Abs"), "n: op is Abs, not Neg"),
        (lambda g: g["node"][1].update(input=["^c"]), "n: input is ['^c'], not ['c']"),
        (lambda g: g["node"][1].update(device="/cpu:0"), "n: device is /cpu:0, not None"),
        (lambda g: g["node"][1]["attr"]["T"].update(type=2), "n: attr T.type is 2, not 1"),
        (lambda g: g["versions"].update(producer=1), "versions.producer is 1, not 134"),
        (lambda g: g["collections"].clear(), "collection.mine is None, not ['c:0']"),
    ],
)
def test_a_changed_graph_is_described(change: Any, line: str) -> None:
    assert graph_lines(change) == [line]


def test_constants_are_compared_by_value_and_encoding() -> None:
    def encoded(field: str, value: Any) -> list[str]:
        tensor = {"dtype": 1, "tensor_shape": {}, field: value}
        return graph_lines(lambda g: g["node"][0]["attr"].update(value={"tensor": tensor}))

    assert encoded("float_val", [0.50000001]) == []
    assert encoded("float_val", [0.25]) == ["c: attr value: tensor is [0.25], not [0.5]"]
    content = np.float32(0.5).tobytes().decode("latin-1")
    (line,) = encoded("tensor_content", content)
    assert "encoded as ['tensor_content'], not ['float_val']" in line


def values(**leaves: Any) -> list[dict[str, Any]]:
    return [{"facts": {}, "steps": [encode.encode_values(leaves)]}]


def test_values_agree_within_tolerance() -> None:
    near = values(x=np.float32([1.000001, np.nan]))
    assert list(compare.value_differences(values(x=np.float32([1, np.nan])), near)) == []


@pytest.mark.parametrize(
    "wanted, given, text",
    [
        (np.float32([1.0, 2.0]), np.float32([1.0, 2.1]), "1 of 2 numbers differ"),
        (np.float32([1.0]), np.float64([1.0]), "dtype is float64, not float32"),
        (np.float32([1.0]), np.float32([[1.0]]), "shape is [1, 1], not [1]"),
        (np.int32([1]), np.int32([2]), "is [2], not [1]"),
        (np.array([b"a"]), np.array([b"b"]), "is ['b'], not ['a']"),
        (1, True, "is {'python': True}, not {'python': 1}"),
    ],
)
def test_a_changed_value_is_described(wanted: Any, given: Any, text: str) -> None:
    (line,) = compare.value_differences(values(x=wanted), values(x=given))
    assert text in line


def test_a_missing_value_and_an_unexpected_error_are_described() -> None:
    wanted, given = values(x=1), values()
    given[0]["error"] = {"class": "ValueError", "message": "no"}
    lines = list(compare.value_differences(wanted, given))
    assert len(lines) == 2 and "x is missing" in lines[1]


def test_shapes_are_described() -> None:
    lines = list(compare.shape_differences({"a": [[2]], "b": [None]}, {"a": [[None]]}))
    assert lines == ["a: static shape is [[None]], not [[2]]", "1 nodes are missing, first b"]


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "uint64", "bool", "complex64"])
def test_arrays_survive_encoding(dtype: str) -> None:
    array = np.array([[0, 1], [1, 3]]).astype(dtype)
    decoded = encode.decode_array(encode.encode_array(array))
    assert decoded.dtype == array.dtype
    np.testing.assert_array_equal(decoded, array)


def test_recordings_are_reproducible_bytes(tmp_path: Any) -> None:
    recording = {"b": [1, 0.1], "a": "\xff"}
    paths = [str(tmp_path / name) for name in ("one", "two")]
    for path in paths:
        encode.write_recording(path, recording)
    contents = []
    for path in paths:
        with open(path, "rb") as file:
            contents.append(file.read())
    assert contents[0] == contents[1]
    assert encode.read_recording(paths[0]) == recording
