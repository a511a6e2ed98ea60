"""The programs of docs/clusters.md: a parameter server with a worker, and two ranks."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import stillflow

ROOT = Path(stillflow.__file__).parents[2]
PAGE = (ROOT / "docs" / "clusters.md").read_text(encoding="utf-8")
_PROGRAMS = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)


def test_the_program(tmp_path: Path) -> None:
    program = _PROGRAMS[0]
    with socket.socket() as first, socket.socket() as second:
        first.bind(("localhost", 0))
        second.bind(("localhost", 0))
        ports = [str(one.getsockname()[1]) for one in (first, second)]
    program = program.replace(', "localhost:2224"', "")
    program = program.replace("2222", ports[0]).replace("2223", ports[1])
    (tmp_path / "train.py").write_text(program)
    command = [sys.executable, "-W", "ignore", "-m", "stillflow", "train.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "CUDA_VISIBLE_DEVICES": ""}
    with subprocess.Popen([*command, "--job_name=ps"], cwd=tmp_path, env=environment) as server:
        try:
            worker = subprocess.run(
                command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
            )
        finally:
            server.kill()
    assert worker.returncode == 0, worker.stderr
    assert worker.stdout == "w has left 0: True after 20 steps\n"


def test_the_program_of_several_ranks(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(_PROGRAMS[1])
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "stillflow", "launch", "-np", "2", "train.py"],
        cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(line for line in done.stdout.splitlines() if "is done" in line) == [
        "[0] rank 0 of 2 is done", "[1] rank 1 of 2 is done",
    ]  # fmt: skip


def test_the_cluster_of_a_slurm_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "check_output", lambda words, text: "a1\na2\na3\n")
    monkeypatch.setenv("SLURM_JOB_NODELIST", "a[1-3]")
    names: dict[str, Any] = {}
    exec(_PROGRAMS[2], names)
    found = []
    for rank in "012":
        monkeypatch.setenv("SLURM_PROCID", rank)
        monkeypatch.setenv("TF_CONFIG", "")
        names["cluster"]()
        found.append(json.loads(os.environ["TF_CONFIG"]))
    jobs = {"ps": ["a1:2222"], "worker": ["a2:2222", "a3:2222"]}
    tasks = [each["task"] for each in found]
    assert [each["cluster"] for each in found] == [jobs] * 3
    assert tasks == [
        {"type": "ps", "index": 0}, {"type": "worker", "index": 0}, {"type": "worker", "index": 1},
    ]  # fmt: skip
