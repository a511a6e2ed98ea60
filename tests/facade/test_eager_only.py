"""`tensorflow.python.eager.test.main` runs tests eagerly."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import stillflow

PROGRAM = """
import stillflow as tf
from stillflow.facade.eager_only import test_main

class Test(tf.test.TestCase):
    def test_values(self):
        assert tf.executing_eagerly()
        self.assertEqual((tf.constant(1) + 1).numpy(), 2)

test_main()
"""


def test_main_is_eager() -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PROGRAM],
        capture_output=True, text=True, timeout=120,
        env={"PYTHONPATH": str(Path(stillflow.__file__).parents[1]), "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "Ran 2 tests" in done.stderr  # one is TestCase's own, of sessions
