"""The device that tests compute on, and the list of those that differ on a simulated GPU."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests import first_device
from tests.expected_failures import ExpectedFailures

import stillflow as tf
from stillflow.runtime.devices.devices import gpu_count

ROOT = Path(__file__).resolve().parents[2]
ROWS = [
    line.split("\t")
    for line in first_device.LIST.read_text().splitlines()
    if not line.startswith("#")
]


@pytest.mark.parametrize("pattern", [row[0] for row in ROWS])
def test_tests_that_are_listed_exist(pattern):
    path, name = pattern.split("::")
    assert f"def {name.partition('[')[0]}(" in (ROOT / path).read_text()


def test_each_has_a_reason():
    assert all(len(row) == 2 and row[1] for row in ROWS)
    assert [row[0] for row in ROWS] == sorted({row[0] for row in ROWS})


def test_a_star_stands_for_anything_and_nothing_else_does(tmp_path):
    path = tmp_path / "list.tsv"
    path.write_text("# a\ntests/a.py::test_b\tone\ntests/a.py::test_c[*-True]\ttwo\n")
    listed = ExpectedFailures(path)
    assert listed.reason("tests/a.py::test_b") == "one"
    assert listed.reason("tests/a.py::test_c[x-y-True]") == "two"
    for test in ("tests/a.py::test_b[1]", "tests/aXpy::test_b", "tests/a.py::test_c[x-False]"):
        assert listed.reason(test) is None


def test_sessions_and_eager_calls_have_the_first_device(monkeypatch):
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "1")

    def found():
        with tf.Graph().as_default(), tf.Session() as session:
            kinds = [device.device_type for device in session.list_devices()]
        return kinds, gpu_count()

    with first_device.in_front("simulated_gpu"):
        assert found() == (["CPU", "GPU"], 1)
        with first_device.cpu_alone():
            assert found() == (["CPU"], 0)
        assert found() == (["CPU", "GPU"], 1)
        with first_device.in_front("machine"):
            assert found() == (["CPU", "GPU"], 1)
    with first_device.in_front("cpu"):
        assert found() == (["CPU"], 0)
