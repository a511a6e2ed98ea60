"""The IPython extension."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import stillflow
from stillflow.facade import notebook


def test_extension_serves_tensorflow_and_registers_the_magic():
    code = """
import stillflow
class Shell:
    def register_magic_function(self, function, magic_kind, magic_name):
        print(magic_kind, magic_name)
        function("1.x")
stillflow.load_ipython_extension(Shell())
import tensorflow as tf
print(tf.__version__)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**__import__("os").environ,
                               "PYTHONPATH": str(Path(stillflow.__file__).parents[1])})
    assert done.stdout == "line tensorflow_version\nTensorFlow 1.x selected.\n1.15.5\n", done.stderr


@pytest.mark.parametrize("line", ["1.x", "1", " 1.15.5  # as of old", ""])
def test_magic_takes_any_1(line, capsys):
    notebook.tensorflow_version(line)
    assert capsys.readouterr().out == "TensorFlow 1.x selected.\n"


@pytest.mark.parametrize("line", ["2.x", "12"])
def test_magic_refuses_others(line):
    with pytest.raises(ValueError, match=r"serves TensorFlow 1\.15\.5, not"):
        notebook.tensorflow_version(line)
