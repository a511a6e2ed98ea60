"""`session.explain`, and what it shows of a program's plans."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

import stillflow as tf
from stillflow import native
from stillflow.cli import explain
from stillflow.runtime.explain import recorded
from stillflow.runtime.explain.drawing import dot_of, page_of
from stillflow.runtime.explain.text import text_of

from .programs import FOLDER, PROGRAMS, explained


def _plain(text: str) -> str:
    """Without the line numbers of the programs, which move with their file."""
    return re.sub(r"\S*programs\.py:\d+", "programs.py", text)


@pytest.mark.skipif(native.library() is None, reason="native kernels are part of the plans")
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_plan_of_a_program_is_the_recorded_one(name: str, cpu) -> None:
    wanted = (FOLDER / f"{name}.txt").read_text(encoding="utf-8")
    assert _plain(explained(name)) == _plain(wanted)


def test_nothing_runs_and_nothing_is_kept(cpu) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.get_variable("v", initializer=1.0)
        session.run(v.initializer)
        assert "AssignAdd" in session.explain(v.assign_add(1.0))
        assert session.run(v) == 1.0


def _trained(runs: int, timed: bool = True) -> list:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 3], "x")
        w = tf.get_variable("w", [3, 2])
        y = tf.nn.relu(tf.nn.bias_add(tf.matmul(x, w), [1.0, 2.0]), name="y")
        session.run(w.initializer)
        with recorded(timed) as plans:
            for _ in range(runs):
                session.run(y, {x: np.ones((4, 3), np.float32)})
    return plans


def test_a_report_has_the_passes_and_the_steps_with_their_times(cpu) -> None:
    (plan,) = _trained(3)
    assert plan.fetches == ["y:0"] and plan.feeds == [("x:0", (4, 3))] and plan.runs == 3
    changed = {change.name: change for change in plan.changes if change.removed}
    assert changed["fuse activations"].removed == ("BiasAdd", "Relu")
    assert [line.label for line in plan.lines] == ["Identity", "MatMul", "BiasAdd + Relu"]
    last = plan.lines[-1]
    assert (last.dims, last.dtype, last.bytes, last.takes) == ((4, 2), "float32", 32, (1,))
    assert last.place.partition(":")[0].endswith("test_explain.py")
    assert all(line.seconds > 0 for line in plan.lines)
    assert "timed in 3 runs" in text_of(plan) and "  us  " in text_of(plan)


def test_without_times_a_plan_writes_no_clock(cpu) -> None:
    (plan,) = _trained(2, timed=False)
    assert plan.runs == 0 and "clock" not in plan.source
    assert " ms" not in text_of(plan, times=False)


def test_a_loop_is_followed_by_its_steps(cpu) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        last = tf.while_loop(lambda i: i < 3.0, lambda i: tf.sqrt(i) + 1.0, [tf.random.uniform([])])
        text = session.explain(last)
    number = re.search(r"(?m)^ +(\d+)  +loop \(Exit\)", text)[1]
    assert re.search(rf"(?m)^ +{number}\.\d  +body: Sqrt", text) and "test: Less" in text


def test_plans_can_be_drawn(cpu) -> None:
    plans = _trained(1)
    assert 'label="BiasAdd + Relu\\nfloat32 [4, 2]"' in dot_of(plans)
    page = page_of(plans)
    assert page.count("<rect") == 3 and page.count("<path") == 2 and "BiasAdd + Relu" in page


def test_each_fed_truth_value_has_a_plan_of_its_own(cpu) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        flag = tf.placeholder(tf.bool, [], "flag")
        y = tf.cond(flag, lambda: tf.exp(tf.constant(2.0)), lambda: tf.random.uniform([]))
        assert "RandomUniform" not in session.explain(y, {flag: True})
        assert "RandomUniform" in session.explain(y, {flag: False})


PROGRAM = """
import sys
import tensorflow as tf
v = tf.Variable(2.0, name="v")
with tf.Session() as session:
    session.run(v.initializer)
    for _ in range(2):
        print(sys.argv[1:], session.run(tf.square(v, name="square")))
sys.exit(3)
"""


def test_the_command_runs_a_program_and_prints_its_plans(tmp_path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "stillflow", "explain", "--time", "--only", "square"]
    command += ["train.py", "--rate", "1"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert found.returncode == 3
    assert "['--rate', '1'] 4.0" in found.stdout
    assert "plan of square:0" in found.stdout and "train.py:8" in found.stdout
    assert "v/Assign" not in found.stdout


@pytest.mark.parametrize("how", [["-m", "train", "--rate", "1"], ["-c", PROGRAM, "--rate", "1"]])
def test_the_command_runs_modules_and_code(how, tmp_path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "stillflow", "explain", "--only", "square", *how]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert found.returncode == 3, found.stderr
    assert "['--rate', '1'] 4.0" in found.stdout and "plan of square:0" in found.stdout


def test_the_command_draws_plans(tmp_path, capsys) -> None:
    program, page = tmp_path / "train.py", tmp_path / "plans.html"
    program.write_text("import tensorflow as tf\ntf.Session().run(tf.random.uniform([2]))\n")
    command = [sys.executable, "-m", "stillflow", "explain", "--html", str(page), str(program)]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    assert "RandomUniform" in page.read_text(encoding="utf-8")
    with pytest.raises(SystemExit):
        explain.main(["--help"])
    assert "--only" in capsys.readouterr().out
