"""The table of inference: what is timed is compared, and only right answers count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stillflow as tf
from benchmarks import frozen_graphs, inference


def record(peer: str, seconds: float, turn: int = 0) -> dict[str, Any]:
    return {
        "network": "mobilenet", "batch": 1, "peer": peer, "round": turn, "time": seconds
    }  # fmt: skip


def answer(folder: Path, peer: str, values: list[float]) -> None:
    np.save(inference.answer_file(str(folder), "mobilenet", 1, peer), np.array(values))


def test_times_are_medians_with_their_ratio_to_stillflow(tmp_path: Path) -> None:
    for peer in ("tf115", "stillflow"):
        answer(tmp_path, peer, [1.0, 2.0])
    records = [record("tf115", 0.004), *(record("stillflow", s) for s in (0.001, 0.002, 0.009))]
    inference.judge(str(tmp_path), records)
    lines = inference.table(records, ["tf115", "stillflow"])
    assert lines[2:] == ["| MobileNet v1, 1 | 4 (2.00) | 2 (1.00) |"]


def test_a_wrong_answer_has_no_time(tmp_path: Path) -> None:
    answer(tmp_path, "tf115", [1.0, 2.0])
    answer(tmp_path, "stillflow", [1.0, 2.0])
    answer(tmp_path, "torch", [1.0, 2.1])
    records = [record(peer, 0.002) for peer in ("tf115", "stillflow", "torch")]
    inference.judge(str(tmp_path), records)
    lines = inference.table(records, ["tf115", "stillflow", "torch"])
    assert lines[2:] == ["| MobileNet v1, 1 | 2 (1.00) | 2 (1.00) |  |"]


def test_a_frozen_graph_and_the_module_of_pytorch_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inference, "SECONDS", 0.0)
    folder, name = str(tmp_path), "lstm_classifier"
    frozen_graphs.write(tf, name, folder)
    inference._keep_weights(folder, name)
    for peer in ("stillflow", "torch"):
        assert inference.measure(name, 2, peer, folder)["time"] > 0
    assert inference.difference(folder, name, 2, "torch", "stillflow") < 1e-5
