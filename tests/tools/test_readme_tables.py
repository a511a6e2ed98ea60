"""Tables of README.md and docs/speed.md made of what benchmarks have measured."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import pytest

TIMES = """\
| | TF 1.15.5 | Stillflow | PyTorch |
|---|---:|---:|---:|
| MobileNet v1, 1 | 13.7 | 5.15 | 8.26 |
| ResNet-50, 32 | 1,131 | 837 |  |"""


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "tools"))
    return importlib.import_module("readme_tables")


def test_times_are_medians_of_right_answers_with_three_digits(tables: Any) -> None:
    def record(peer: str, batch: int, seconds: float, difference: float) -> dict[str, object]:
        network = "mobilenet" if batch == 1 else "resnet50"
        return {"network": network, "batch": batch, "peer": peer, "time": seconds,
                "difference": difference}  # fmt: skip

    records = [
        record("tf115", 1, 0.01373, 0.0),
        *(record("stillflow", 1, seconds, 1e-6) for seconds in (0.005, 0.005151, 0.009)),
        record("torch", 1, 0.00826, 1e-6), record("tf115", 32, 1.1312, 0.0),
        record("stillflow", 32, 0.8372, 1e-6), record("torch", 32, 0.9, 0.1),
        {"network": "resnet50", "batch": 32, "peer": "openvino", "error": "no memory"},
    ]  # fmt: skip
    assert tables.inference(records) == TIMES


def test_ratios_are_to_the_first_column(tables: Any) -> None:
    assert (
        tables.ratios_to_first(TIMES)
        == """\
| | Stillflow | PyTorch |
|---|---:|---:|
| MobileNet v1, 1 | 0.38 | 0.60 |
| ResNet-50, 32 | 0.74 |  |"""
    )


def test_rows_come_in_the_order_of_their_names(tables: Any) -> None:
    lines = TIMES.splitlines()
    found = tables.rows_that_matter(TIMES, ["ResNet-50, 32", "MobileNet v1, 1"])
    assert found.splitlines() == [*lines[:2], lines[3], lines[2]]
    with pytest.raises(ValueError, match="no row 'VGG, 1'"):
        tables.rows_that_matter(TIMES, ["VGG, 1"])
