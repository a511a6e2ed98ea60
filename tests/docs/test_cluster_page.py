"""The programs of docs/clusters.md: a parameter server with a worker, and two ranks."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import stillflow

ROOT = Path(stillflow.__file__).parents[2]
PAGE = (ROOT / "docs" / "clusters.md").read_text(encoding="utf-8")
_PROGRAMS = re.findall(r"(?ms)^```python\n(.*?)^```$", PAGE)


def test_the_program(tmp_path: Path) -> None:
    program, _ = _PROGRAMS
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
