"""`python -m stillflow launch`: a program as several processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.ranks import SOURCE

from stillflow.cli import launch
from stillflow.cli.launch import Node


def _nodes(*arguments: str) -> list[Node]:
    return launch._nodes(launch._parser().parse_args([*arguments, "train.py"]))


def test_processes_are_spread_over_hosts_in_order(tmp_path: Path) -> None:
    assert _nodes("-np", "3") == [Node("localhost", 3)]
    assert _nodes("-np", "4", "-H", "a:2,b:2,c:4") == [Node("a", 2), Node("b", 2)]
    assert _nodes("-H", "a:2,b:2") == [Node("a", 2), Node("b", 2)]
    hosts = tmp_path / "hosts"
    hosts.write_text("a slots=3\n# none\nb slots=3\n")
    assert _nodes("-np", "6", "-hostfile", str(hosts)) == [Node("a", 3), Node("b", 3)]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-np", "5", "-H", "a:2,b:2"], "the hosts have 4 slots"),
        (["-np", "3", "-H", "a:2,b:2"], "the same number of processes: a:2, b:1"),
        (["-np", "0"], "no number of processes"),
        (["-H", "a:x"], "a:x is no host"),
        (["-H=-oProxyCommand=true:1"], "is no host"),
        (["-H", "a:1", "-hostfile", "hosts"], "not both"),
    ],
)
def test_flags_that_make_no_job_are_told(
    arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert launch.main([*arguments, "train.py"]) == 2
    assert told in capsys.readouterr().err


def test_flags_of_horovodrun_become_variables() -> None:
    flags = launch._parser().parse_args(
        ["-np", "2", "--timeline-filename", "t.json", "--timeline-mark-cycles",
         "--fusion-threshold-mb", "0.5", "--stall-check-warning-time-seconds", "7",
         "--cycle-time-ms", "3", "train.py", "-np", "9"]
    )  # fmt: skip
    assert launch._environment(flags) == {
        "HOROVOD_TIMELINE": "t.json", "HOROVOD_TIMELINE_MARK_CYCLES": "1",
        "HOROVOD_FUSION_THRESHOLD": str(1 << 19),
        "HOROVOD_STALL_CHECK_TIME_SECONDS": "7.0",
    }  # fmt: skip
    assert flags.command == ["train.py", "-np", "9"]


@pytest.mark.parametrize(
    "command", [["train.py", "-x"], ["python", "train.py", "-x"], ["--", "train.py", "-x"]]
)
def test_python_before_the_program_is_left_out(command: list[str]) -> None:
    assert launch._program(command) == ["-u", "-m", "stillflow", "train.py", "-x"]


def _start(folder: Path, source: str, *flags: str) -> subprocess.Popen[str]:
    (folder / "train.py").write_text(source)
    return subprocess.Popen(
        [sys.executable, "-m", "stillflow", "launch", "-np", "2", *flags, "train.py", "argument"],
        cwd=folder, env={**os.environ, "PYTHONPATH": str(SOURCE)}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
    )  # fmt: skip


def test_a_rank_that_fails_ends_the_others_and_its_traceback_comes_last(tmp_path: Path) -> None:
    source = """
import os, sys, time
rank = int(os.environ["RANK"])
print("here", sys.argv[1:], os.environ["WORLD_SIZE"], flush=True)
if rank == 1:
    raise ValueError("no such data")
open("started", "w").close()
time.sleep(600)
"""
    process = _start(tmp_path, source)
    output, errors = process.communicate(timeout=180)
    assert process.returncode == 1
    assert "[1] here ['argument'] 2" in output.splitlines()
    *traceback, last = errors.splitlines()
    assert last == "stillflow launch: rank 1 ended with exit status 1; the others were ended"
    assert traceback[-1].endswith("ValueError: no such data")


@pytest.mark.skipif(not hasattr(os, "killpg"), reason="needs groups of processes")
def test_ctrl_c_ends_all_ranks(tmp_path: Path) -> None:
    source = """
import os, time
open("pid" + os.environ["RANK"], "w").write(str(os.getpid()))
time.sleep(600)
"""
    process = _start(tmp_path, source)
    try:
        pids = [_number(tmp_path / f"pid{rank}") for rank in range(2)]
    finally:
        os.kill(process.pid, signal.SIGINT)
    process.communicate(timeout=180)
    assert process.returncode == 128 + signal.SIGINT
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def _number(path: Path) -> int:
    """Return the number in a file, once it is there."""
    end = time.monotonic() + 180
    while time.monotonic() < end:
        if path.exists() and path.read_text():
            return int(path.read_text())
        time.sleep(0.1)
    raise TimeoutError(path)
