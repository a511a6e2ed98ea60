"""The options of custom operators are read as they are written, and never trusted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stillflow.lite.flexbuffer import read_map, write_map
from stillflow.lite.schema import read_model


def options_of_a_detector():
    content = (Path(__file__).parent / "recorded" / "detector_class_by_class.tflite").read_bytes()
    (options,) = [
        operator.custom_options.tobytes()
        for operator in read_model(content).subgraphs[0].operators
        if operator.custom_options is not None
    ]
    return options


def test_numbers_have_their_names():
    found = read_map(options_of_a_detector())
    assert found["max_detections"] == 12 and found["detections_per_class"] == 3
    assert found["use_regular_nms"] is True
    assert found["nms_score_threshold"] == pytest.approx(0.4)
    assert [found[f"{side}_scale"] for side in "yxhw"] == [10.0, 10.0, 5.0, 5.0]


@pytest.mark.parametrize("data", [b"", b"\x01", b"\x07\x04\x01", b"\xff" * 20])
def test_what_is_no_map_is_refused(data):
    with pytest.raises(ValueError, match="options of a custom operator are"):
        read_map(data)


def test_damage_ends_in_a_value_error():
    options = options_of_a_detector()
    random = np.random.RandomState(0)
    for _ in range(300):
        damaged = bytearray(options[: random.randint(1, len(options) + 1)])
        damaged[random.randint(len(damaged))] = random.randint(256)
        try:
            read_map(bytes(damaged))
        except ValueError:
            continue


def test_what_is_written_is_read():
    values = {"big": -(2**31), "real": 0.25, "yes": True, "no": False, "zero": 0}
    assert read_map(write_map(values)) == values
    assert read_map(write_map({})) == {}


def test_strings_and_lists_are_written_and_read():
    values = {"fill": b"", "name": b"SAME", "sizes": [1, -2, 3], "bounds": [0.0, 0.5], "n": 2}
    assert read_map(write_map(values)) == values
    wide = {"seed": 2**40 + 1, "real": 0.25, "yes": True, "sizes": [1, 2], "name": b"x"}
    assert read_map(write_map(wide)) == wide


def test_damage_of_strings_and_lists_ends_in_a_value_error():
    options = write_map({"name": b"SAME", "sizes": [1, 2, 3], "bounds": [0.5], "wide": 2**40})
    random = np.random.RandomState(0)
    for _ in range(1000):
        damaged = bytearray(options[: random.randint(1, len(options) + 1)])
        damaged[random.randint(len(damaged))] = random.randint(256)
        try:
            read_map(bytes(damaged))
        except ValueError:
            continue
