"""The IPython extension."""

from __future__ import annotations

import subprocess
import sys
import traceback
import types
from pathlib import Path

import pytest

import stillflow
import stillflow as tf
from stillflow.facade import notebook


def test_extension_serves_tensorflow_and_registers_the_magic():
    code = """
import stillflow
class Shell:
    def register_magic_function(self, function, magic_kind, magic_name):
        print(magic_kind, magic_name)
        function("1.x")
    def set_custom_exc(self, classes, handler):
        print(classes, handler.__name__)
stillflow.load_ipython_extension(Shell())
import tensorflow as tf
print(tf.__version__)
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**__import__("os").environ, "PYTHONPATH": str(Path(stillflow.__file__).parents[1])},
    )
    assert done.stdout == (
        "line tensorflow_version\nTensorFlow 1.x selected.\n(<class 'Exception'>,) show\n1.15.5\n"
    ), done.stderr


@pytest.mark.parametrize("line", ["1.x", "1", " 1.15.5  # as of old", ""])
def test_magic_takes_any_1(line, capsys):
    notebook.tensorflow_version(line)
    assert capsys.readouterr().out == "TensorFlow 1.x selected.\n"


@pytest.mark.parametrize("line", ["2.x", "12"])
def test_magic_refuses_others(line):
    with pytest.raises(ValueError, match=r"serves TensorFlow 1\.15\.5, not"):
        notebook.tensorflow_version(line)


class Shell:
    """Stand-in for IPython's shell that shows errors."""

    def __init__(self, mode):
        self.InteractiveTB = types.SimpleNamespace(mode=mode)

    def showtraceback(self, shown, tb_offset):
        self.offset, (_, self.error, trace) = tb_offset, shown
        self.frames = [frame.filename for frame in traceback.extract_tb(trace)]


def ends(mode, cell):
    """Return a shell's output at the end of a cell."""
    shell = Shell(mode)
    try:
        cell()
    except Exception as error:
        notebook.show(shell, type(error), error, error.__traceback__, tb_offset=1)
    return shell


def without_feed():
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.placeholder(tf.float32) + 1)


def test_errors_show_the_lines_of_the_cell_alone():
    shown = ends("Context", without_feed)
    assert set(shown.frames) == {__file__} and shown.offset == 1
    assert isinstance(shown.error, tf.errors.InvalidArgumentError)
    assert shown.error.__cause__ is None and shown.error.__context__ is None
    assert len(ends("Verbose", without_feed).frames) > len(shown.frames)


def test_causes_of_the_program_stay():
    def cell():
        try:
            without_feed()
        except tf.errors.InvalidArgumentError as error:
            raise RuntimeError("mine") from error

    shown = ends("Context", cell)
    assert isinstance(shown.error.__cause__, tf.errors.InvalidArgumentError)
    assert isinstance(shown.error.__context__, tf.errors.InvalidArgumentError)
