"""Run of a program of this folder with TensorFlow 1.15.5, for SavedModels that are exchanged."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def ask_tensorflow(program: str, what: str, directory: Path) -> str:
    """Return the output of `python -m tests.saved_model.PROGRAM WHAT tensorflow DIRECTORY`."""
    environments = os.environ.get("STILLFLOW_ENVS", os.path.expanduser("~/.cache/stillflow-envs"))
    python = os.path.join(environments, "tf115", "bin", "python")
    if not os.path.exists(python):
        pytest.skip(f"no TensorFlow 1.15.5 at {python}")
    command = [python, "-m", f"tests.saved_model.{program}", what, "tensorflow", str(directory)]
    settings = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    run = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    return run.stdout.decode()
