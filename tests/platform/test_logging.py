"""tf.logging."""

from __future__ import annotations

import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import stillflow as tf
from stillflow.platform import tf_logging

SOURCES = str(Path(tf.__file__).parents[1])


@pytest.fixture(autouse=True)
def fresh_counters():
    tf_logging._calls.clear()
    before = tf.logging.get_verbosity()
    tf.logging.set_verbosity(tf.logging.DEBUG)
    yield
    tf.logging.set_verbosity(before)


def said(code):
    return subprocess.run(
        [sys.executable, "-c", "import stillflow as tf\n" + code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": SOURCES},
    )


def test_lines_on_stderr():
    done = said("""
print(tf.logging.get_verbosity())
tf.logging.info("hidden")
tf.logging.warn("hello %s", "w")
tf.logging.error("e")
tf.logging.vlog(30, "v")
tf.logging.fatal("f")
tf.logging.TaskLevelStatusMessage("t")
tf.logging.set_verbosity(tf.logging.INFO)
tf.logging.info("shown")
""")
    assert done.stdout == "30\n"
    assert done.stderr.splitlines() == [
        "WARNING:tensorflow:hello w",
        "ERROR:tensorflow:e",
        "WARNING:tensorflow:v",
        "CRITICAL:tensorflow:f",
        "ERROR:tensorflow:t",
        "INFO:tensorflow:shown",
    ]


def test_configured_logging_is_not_doubled():
    done = said("import logging; logging.basicConfig()\ntf.logging.error('once')")
    assert done.stderr == "ERROR:tensorflow:once\n"


@pytest.mark.parametrize(
    "program, lines",
    [
        # Recorded under TensorFlow 1.15.5, whose import makes the handler.
        ("import tensorflow as tf; import logging; logging.basicConfig()", 2),
        ("import logging; import tensorflow as tf; logging.basicConfig()", 2),
        ("import logging; logging.basicConfig(); import tensorflow as tf", 1),
        ("from absl import app; import tensorflow as tf", 1),
        ("import tensorflow as tf; tf.logging; import logging; logging.basicConfig()", 2),
    ],
)
def test_a_served_tensorflow_has_its_handler_from_its_import_on(program, lines):
    code = f"{program}; tf.logging.error('once')"
    done = subprocess.run(
        [sys.executable, "-m", "stillflow", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": SOURCES},
    )
    assert done.stderr == "ERROR:tensorflow:once\n" * lines


@pytest.mark.parametrize(
    "before, line",
    [
        ("", r"ERROR:tensorflow:once"),
        ("tf.get_logger().handlers.clear()", r"E\d{4} .* program\.py:4\] once"),
    ],
)
def test_a_program_run_by_absl_prints_each_line_once(tmp_path, before, line):
    program = tmp_path / "program.py"
    program.write_text(f"""\
import tensorflow as tf
def main(_):
    {before or "pass"}
    tf.logging.error("once")
tf.app.run()
""")
    done = subprocess.run(
        [sys.executable, "-m", "stillflow", str(program)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": SOURCES},
    )
    (found,) = done.stderr.splitlines()
    assert re.fullmatch(line, found)


def test_absl_writes_lines_to_a_file_of_its_own(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""\
from absl import app, logging
import stillflow as tf
tf.get_logger()
def main(_):
    tf.logging.error("first")
    logging.use_absl_handler()
    logging.get_absl_handler().use_absl_log_file("log", ".")
    tf.logging.error("twice")
app.run(main)
""")
    done = subprocess.run(
        [sys.executable, str(program)],
        capture_output=True, text=True, check=True, cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": SOURCES},
    )  # fmt: skip
    assert "ERROR:tensorflow:twice" in done.stderr
    assert "] twice" in (tmp_path / "log.INFO").read_text()


def test_levels():
    names = ("DEBUG", "INFO", "WARN", "ERROR", "FATAL")
    assert [getattr(tf.logging, name) for name in names] == [10, 20, 30, 40, 50]


def test_records_name_the_callers_line(caplog):
    tf.logging.warning("here")
    tf.logging.log(tf.logging.INFO, "there")
    assert {(record.filename, record.funcName) for record in caplog.records} == {
        ("test_logging.py", "test_records_name_the_callers_line")
    }


def test_first_n_and_every_n_count_by_the_line_that_called_into_the_file(tmp_path):
    """Compare with a recording of TensorFlow 1.15.5: lines of one file share a count."""
    (tmp_path / "helper.py").write_text("""\
import tensorflow as tf
def say(i):
    tf.logging.log_every_n(tf.logging.ERROR, "helper %d", 2, i)
""")
    (tmp_path / "program.py").write_text("""\
import tensorflow as tf
import helper
def train():
    for i in range(4):
        tf.logging.log_every_n(tf.logging.ERROR, "every %d", 3, i)
        tf.logging.log_first_n(tf.logging.ERROR, "first %d", 2, i)
        tf.logging.log_if(tf.logging.ERROR, "if %d", i == 2, i)
        helper.say(i)
    helper.say(9)
train()
""")
    done = subprocess.run(
        [sys.executable, "-m", "stillflow", str(tmp_path / "program.py")],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": SOURCES},
    )
    lines = [line.removeprefix("ERROR:tensorflow:") for line in done.stderr.splitlines()]
    assert lines == [
        "every 0", "first 0", "helper 0", "if 2", "helper 2", "every 3", "helper 9",
    ]  # fmt: skip


def test_the_logger_is_that_of_the_logging_module():
    assert tf.get_logger() is logging.getLogger("tensorflow")


def test_flush_refuses():
    with pytest.raises(NotImplementedError):
        tf.logging.flush()


def test_google_prefix():
    prefix = tf_logging.google2_log_prefix(tf.logging.WARN, 1e9, ("folder/file.py", 7))
    assert re.fullmatch(r"W\d{4} \d\d:\d\d:\d\d\.000000 +\d+ file\.py:7\] ", prefix)
    assert "test_logging.py" in tf_logging.google2_log_prefix(tf.logging.INFO)
