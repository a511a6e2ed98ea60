"""Graphs of the `tensorboard` package; plugins.json has the results of TensorFlow 1.15.5."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
RECORDED = json.loads((HERE / "plugins.json").read_text())


@pytest.fixture(scope="module")
def found():
    pytest.importorskip("tensorboard")
    command = [sys.executable, "-m", "stillflow", HERE / "plugin_program.py"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("name", RECORDED)
def test_summaries_have_tensorflows_bytes(found, name):
    assert found[name] == RECORDED[name]
