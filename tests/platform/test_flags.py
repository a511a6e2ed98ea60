"""tf.flags and tf.app."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from absl import flags as absl_flags

import stillflow as tf
from stillflow.platform import flags

SOURCES = str(Path(tf.__file__).parents[1])


@pytest.fixture
def values(monkeypatch):
    """Flag values of this test's own, read through the wrapper."""
    own = absl_flags.FlagValues()
    monkeypatch.setattr(sys, "argv", ["program", "--number=3", "left"])
    return own, flags._FlagValuesWrapper(own)


def run(code, *arguments):
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env={**__import__("os").environ, "PYTHONPATH": SOURCES},
    )


def test_namespaces_are_the_same():
    assert tf.flags.DEFINE_string is tf.app.flags.DEFINE_string is flags.DEFINE_string
    assert tf.flags.FLAGS is tf.app.flags.FLAGS


def test_old_argument_names(caplog, values):
    own, _ = values
    flags.DEFINE_string(flag_name="old", default_value="x", docstring="help", flag_values=own)
    assert own["old"].default == "x" and own["old"].help == "help"
    assert "Use of the keyword argument names" in caplog.text
    caplog.clear()
    flags.DEFINE_integer("new", 1, "help", flag_values=own)
    flags.DEFINE_float(name="newer", default=2, help="help", flag_values=own)
    assert caplog.text == "" and {"new", "newer"} <= set(own)


def test_reading_a_flag_parses_the_command_line(values):
    own, wrapped = values
    flags.DEFINE_integer("number", 1, "a number", flag_values=own)
    assert not own.is_parsed() and not wrapped.is_parsed()
    assert wrapped.number == 3 and own.is_parsed()


def test_wrapper_behaves_as_what_it_wraps(values):
    own, wrapped = values
    flags.DEFINE_boolean("yes", None, "choice", flag_values=own)
    wrapped(["program", "--noyes"])
    assert wrapped.yes is False and "yes" in wrapped and len(wrapped) == 1
    wrapped.yes = True
    assert own.yes is True and wrapped["yes"].value is True and "yes" in dir(wrapped)
    assert list(wrapped) == ["yes"] and "choice" in str(wrapped)
    assert "yes" in getattr(wrapped, "__flags")
    with pytest.raises(AttributeError):
        _ = wrapped.nothing
    del wrapped.yes
    assert "yes" not in wrapped


def test_what_parsed_before_tensorflow_1_5_is_explained(values):
    own, wrapper = values
    own(["program"])
    with pytest.raises(AttributeError, match=r"^_parse_flags\n.*leave this call out"):
        _ = wrapper._parse_flags
    with pytest.raises(AttributeError, match=r"^_parse_other$"):
        _ = wrapper._parse_other


def test_flags_belong_to_the_module_that_defines_them():
    done = run("""
import stillflow as tf, sys
tf.app.flags.DEFINE_string("mine", "", "of this program")
print([f.name for f in tf.flags.FLAGS.get_key_flags_for_module(sys.argv[0])])
""")
    assert done.stdout == "['mine']\n", done.stderr


PROGRAM = """
import stillflow as tf
tf.app.flags.DEFINE_integer("steps", 5, "how many")
FLAGS = tf.app.flags.FLAGS
def main(argv):
    print(FLAGS.steps, argv[1:])
    return {status}
tf.app.run({arguments})
"""


def test_run_calls_main_and_exits_with_its_status():
    done = run(PROGRAM.format(status=7, arguments=""), "--steps", "9", "rest", "--unknown=1")
    assert (done.stdout, done.returncode) == ("9 ['rest', '--unknown=1']\n", 7), done.stderr


def test_run_takes_main_and_arguments():
    done = run(PROGRAM.format(status=None, arguments="main=main, argv=['name', '--steps=2', 'a']"))
    assert (done.stdout, done.returncode) == ("2 ['a']\n", 0), done.stderr


def test_run_refuses_wrong_values():
    done = run(PROGRAM.format(status=0, arguments=""), "--steps=many")
    assert done.returncode == 1 and "flag --steps=many" in done.stderr
