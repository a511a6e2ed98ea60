"""Tests of old libraries, which pytest and unittest load and compare in their own ways."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

from stillflow.facade.revive import code_cache, pytest_modules, sources

OLD = """
import unittest

import numpy as np


class Case(unittest.TestCase):
    def test_method(self):
        assert np.zeros(2, np.uint8).ptp() == 0

    def test_double(self):
        # The difference of float32 numbers is 6e-8, and that of doubles 3e-8.
        self.assertAlmostEqual(2 / 3, np.float32(0.66666663))
        self.assertAlmostEqual(np.float32(0.66666663), 2 / 3)
        self.assertAlmostEqual(np.array(1.0), 1)
        with self.assertRaises(AssertionError):
            self.assertNotAlmostEqual(2 / 3, np.float32(0.66666663))


def test_new():
    assert [1] == [2]
"""


def run(folder, *launcher):
    command = [sys.executable, *launcher, "-m", "pytest", "-q", "test_old.py"]
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="")
    found = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300
    )
    return found.stdout


def test_test_modules_are_repaired_as_other_modules_are(tmp_path):
    (tmp_path / "test_old.py").write_text(OLD)
    launched = run(tmp_path, "-m", "stillflow")
    assert "1 failed, 2 passed" in launched
    assert "FAILED test_old.py::test_new" in launched
    plain = run(tmp_path)
    assert "FAILED test_old.py::Case::test_method" in plain
    # The code that pytest keeps next to the tests is not confused.
    assert "1 failed, 2 passed" in run(tmp_path, "-m", "stillflow")


def test_other_test_modules_keep_their_messages(tmp_path):
    (tmp_path / "test_old.py").write_text("def test_new():\n    assert [1] == [2]\n")
    assert "At index 0 diff: 1 != 2" in run(tmp_path, "-m", "stillflow")


def test_code_that_pytest_keeps_is_that_of_one_version_of_the_rules(monkeypatch):
    def tail():
        module = SimpleNamespace(_rewrite_test=None.__init__, PYC_TAIL="-pytest.pyc")
        pytest_modules._patch(module)
        return module.PYC_TAIL

    monkeypatch.setenv(sources.PYTHON2, "")
    first = tail()
    assert first.startswith(".stillflow") and first.endswith("-pytest.pyc") and tail() == first
    monkeypatch.setenv(sources.PYTHON2, "1")
    second = tail()
    monkeypatch.setattr(code_cache, "_rules", lambda: "others")
    assert len({first, second, tail()}) == 3
