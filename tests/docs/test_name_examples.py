"""Each of the 300 public names that programs use most has an example that prints what it says."""

from __future__ import annotations

import functools
import json
import os
import subprocess
from pathlib import Path

import pytest
from tests.docs.name_examples import difference, examples

import stillflow as tf
from stillflow._namespace import public_names

TABLE = public_names()

ROOT = Path(__file__).parents[2]
FACTS = json.loads((ROOT / "tests" / "facts" / "signatures.json").read_text(encoding="utf-8"))
COUNT = 300


def most_used() -> list[str]:
    """Return the functions and classes that most repositories use, the most used first."""
    used = {
        name.removeprefix("tf."): repositories
        for name, (_, repositories, signature) in FACTS.items()
        if signature.startswith(("function", "class"))
    }
    names = sorted(used.keys() & TABLE.keys(), key=lambda name: (-used[name], f"tf.{name}"))
    return names[:COUNT]


NAMES = most_used()
# Names of one object share its docstring.
OBJECTS = list({TABLE[name]: name for name in reversed(NAMES)}.values())[::-1]


def docstring(name: str) -> str:
    return functools.reduce(getattr, name.split("."), tf).__doc__ or ""


@pytest.mark.parametrize("name", NAMES)
def test_a_name_has_an_example_of_three_lines_that_calls_it(name: str) -> None:
    found = examples(docstring(name))
    source = "".join(example.source for example in found)
    names = {other.rpartition(".")[2] for other in TABLE if TABLE[other] == TABLE[name]}
    assert any(f".{other}" in source for other in names)
    assert len(source.splitlines()) <= 3
    assert any(example.want for example in found)
    assert len(docstring(name).partition("Example:")[2].strip().splitlines()) <= 7


@pytest.mark.parametrize("name", OBJECTS)
def test_an_example_prints_what_it_says(name: str) -> None:
    assert not difference(tf, name, docstring(name))


@pytest.mark.oracle
def test_examples_print_the_same_in_tensorflow() -> None:
    environments = os.environ.get("STILLFLOW_ENVS", os.path.expanduser("~/.cache/stillflow-envs"))
    python = os.path.join(environments, "tf115", "bin", "python")
    if not os.path.exists(python):
        pytest.skip(f"no TensorFlow 1.15.5 at {python}")
    command = [python, "-m", "tests.docs.name_examples"]
    settings = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "3"}
    told = json.dumps({name: docstring(name) for name in OBJECTS})
    run = subprocess.run(
        command, cwd=ROOT, env=settings, input=told, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == {}
