"""Interchange with TensorFlow in both directions: all files of a model."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.train import interchange

import stillflow as tf

ROOT = Path(__file__).parents[2]


def ask_tensorflow(what: str, directory: Path) -> Any:
    environments = os.environ.get("STILLFLOW_ENVS", os.path.expanduser("~/.cache/stillflow-envs"))
    python = os.path.join(environments, "tf115", "bin", "python")
    if not os.path.exists(python):
        pytest.skip(f"no TensorFlow 1.15.5 at {python}")
    command = [python, "-m", "tests.train.interchange", what, "tensorflow", str(directory)]
    settings = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    run = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    return json.loads(run.stdout) if what == "read" else None


def as_json(found: Any) -> Any:
    return json.loads(json.dumps(found))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    interchange.write(tf, str(tmp_path))
    found = interchange.read(tf, str(tmp_path))
    assert found["v2"] == found["v1_sharded"] == found["export"]
    assert found["v2"][1] == 7 and found["frozen.pb"] == found["v2"][0]


@pytest.mark.oracle
def test_tensorflow_reads_what_is_written(tmp_path: Path) -> None:
    interchange.write(tf, str(tmp_path))
    assert ask_tensorflow("read", tmp_path) == as_json(interchange.read(tf, str(tmp_path)))


@pytest.mark.oracle
def test_what_tensorflow_writes_is_read(tmp_path: Path) -> None:
    ask_tensorflow("write", tmp_path)
    assert ask_tensorflow("read", tmp_path) == as_json(interchange.read(tf, str(tmp_path)))


@pytest.mark.oracle
def test_both_write_the_same_bytes(tmp_path: Path) -> None:
    theirs, ours = tmp_path / "theirs", tmp_path / "ours"
    for folder in (theirs, ours):
        folder.mkdir()
    ask_tensorflow("write", theirs)
    interchange.write(tf, str(ours))
    names = {str(path.relative_to(theirs)) for path in theirs.rglob("*") if path.is_file()}
    assert len(names) > 12
    # Paths stand in state files and assets, the time in logs; the order of a map's entries is free.
    free = ("_state", ".meta", ".pb")
    for name in sorted(name for name in names if not name.startswith("logs")):
        if not name.endswith(free):
            assert (theirs / name).read_bytes() == (ours / name).read_bytes(), name
    graphs = [tf.GraphDef.FromString((f / "frozen.pb").read_bytes()) for f in (theirs, ours)]
    assert graphs[0] == graphs[1]
