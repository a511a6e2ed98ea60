"""TensorBoard, serving what a program logged."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

HERE = Path(__file__).parent
STILLFLOW = [sys.executable, "-m", "stillflow"]


@pytest.fixture(scope="session")
def logs(tmp_path_factory):
    """Return a log folder with something for every plugin."""
    pytest.importorskip("tensorboard")
    folder = tmp_path_factory.mktemp("logs")
    run = folder / "run"
    run.mkdir()
    command = [*STILLFLOW, HERE / "logging_program.py", run]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return folder


@pytest.fixture(scope="session")
def board(logs):
    """Yield the address of a TensorBoard that has read the logs."""
    # While its loader reads, a tag is listed before it has data: asked for them, the server fails.
    flags = ["--port", "0", "--host", "127.0.0.1", "--reload_task=blocking", "--reload_interval=0"]
    command = [*STILLFLOW, "tensorboard", "--logdir", logs, *flags]
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        said = []
        for line in process.stderr:
            said.append(line)
            found = re.search(r"http://[^/ ]+/", line)
            if found:
                break
        else:
            pytest.fail("".join(said))
        threading.Thread(target=process.stderr.read, daemon=True).start()  # it must not block
        yield found.group()
        process.terminate()
