"""TensorFlow 1.15.5's interpreter runs the models that Stillflow writes, to the same numbers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import stillflow as tf

from . import record
from .test_converter import NAMES, RECORDED

ROOT = Path(__file__).parents[2]


@pytest.mark.oracle
def test_models_written_here_answer_the_same_there(tmp_path):
    environments = os.environ.get("STILLFLOW_ENVS", os.path.expanduser("~/.cache/stillflow-envs"))
    python = os.path.join(environments, "tf115", "bin", "python")
    if not os.path.exists(python):
        pytest.skip(f"no TensorFlow 1.15.5 at {python}")
    for name in NAMES:
        content = record.converter_of(tf, *record.names()[name]).convert()
        (tmp_path / f"{name}.tflite").write_bytes(content)
    for name in record.DETECTORS:
        content = record.detector_converter(tf, name).convert()
        (tmp_path / f"{name}.tflite").write_bytes(content)
    command = [python, "-m", "tests.lite.record", "--answer", str(tmp_path)]
    settings = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    run = subprocess.run(command, cwd=ROOT, env=settings, capture_output=True, check=False)
    assert run.returncode == 0, run.stderr.decode()
    for name in (*NAMES, *record.DETECTORS):
        found, wanted = np.load(tmp_path / f"{name}.npz"), np.load(RECORDED / f"{name}.npz")
        for output in found.files:
            np.testing.assert_allclose(found[output], wanted[output], rtol=1e-5, atol=1e-5)
