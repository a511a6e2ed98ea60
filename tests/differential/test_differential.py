"""The tool itself: its cases, a few runs of each kind, and what it calls a difference."""

from __future__ import annotations

import importlib
import itertools
import os
import pickle
import signal
from typing import Any

import numpy as np
import pytest

import stillflow as tf

from . import compare, outcomes, run

NAMES = {
    "operations": ["Add", "Conv2D", "ConcatV2", "StridedSlice", "Sum"],
    "graphs": [],
    "pipelines": [],
    "calls": ["layers.dense", "math.reduce_sum", "metrics.accuracy", "nn.softmax", "strings.join"],
    "eager_calls": ["math.reduce_sum", "nn.relu", "nn.softmax", "strings.join"],
    "layers": ["Dense", "Embedding"],
    "cells": ["GRUCell", "LSTMCell"],
    "state": ["ApplyAdam", "FIFOQueue", "ResourceScatterAdd", "reference variable"],
    "estimators": ["LinearRegressor", "input_layer"],
}
COUNT = {
    "operations": 40, "graphs": 3, "pipelines": 6, "calls": 25, "eager_calls": 25,
    "layers": 6, "state": 12, "estimators": 3, "cells": 4,
}  # fmt: skip


def cases_of(kind: str, seed: int = 1, count: int = 20) -> list[dict[str, Any]]:
    module = importlib.import_module(f"tests.differential.{kind}")
    return list(itertools.islice(module.cases(seed, NAMES[kind]), count))


@pytest.mark.parametrize("kind", run.KINDS)
def test_a_seed_gives_the_same_cases_every_time(kind):
    first, second = (pickle.dumps(cases_of(kind)) for _ in range(2))
    assert first == second
    assert first != pickle.dumps(cases_of(kind, seed=2))


@pytest.mark.parametrize("kind", run.KINDS)
def test_cases_run_twice_alike_and_most_of_them_to_the_end(kind, tmp_path, monkeypatch):
    if kind == "layers":
        pytest.importorskip("h5py")  # each model is written to a file and read again
    monkeypatch.chdir(tmp_path)  # some cases write files
    module = importlib.import_module(f"tests.differential.{kind}")
    cases = cases_of(kind, count=COUNT[kind])
    found = [module.run(tf, case) for case in cases]
    assert {outcome["stage"] for outcome in found} <= {"done", "build", "run"}
    ran = [outcome for outcome in found if outcome["stage"] == "done"]
    assert len(ran) >= len(cases) / 4
    assert any(outcome["values"] for outcome in ran)
    written = [pickle.loads(pickle.dumps(outcome)) for outcome in found]
    again = [module.run(tf, case) for case in cases[:3]]
    assert [list(compare.differences(*pair)) for pair in zip(again, written)] == [[]] * 3


def test_children_tell_crashes_hangs_and_errors_and_the_rest_goes_on(monkeypatch):
    monkeypatch.setattr(run, "LIMIT", 1)
    monkeypatch.setattr(run, "PATIENCE", 1)
    doings = {
        "crash": lambda: os.kill(os.getpid(), signal.SIGKILL),
        "hang": lambda: signal.pause(),
        "tool": lambda: 1 / 0,
        "done": lambda: outcomes.done(values=[]),
    }
    order = ["done", "crash", "done", "hang", "tool", "done"]
    found = list(run.run_apart(lambda case: doings[case](), order))
    assert [outcome["stage"] for outcome in found] == order
    assert found[4]["error"] == ("ZeroDivisionError", "division by zero")


def test_valid_cases_are_those_that_run_and_few_of_each_name(monkeypatch):
    monkeypatch.setattr(run, "_AT_ONCE", 3)
    cases = [{"name": name, "runs": name != "b"} for name in "abaabcab"]
    asked = []

    def work(some):
        asked.extend(case["name"] for case in some)
        return [outcomes.done() if case["runs"] else refused("no") for case in some]

    kept, found = run.valid(work, cases, 2)
    assert [case["name"] for case in kept] == ["a", "a", "c"]
    assert [outcome["stage"] for outcome in found] == ["done"] * 3
    assert "".join(asked) == "ababcb"  # the last two of a come when there are enough


def test_attributes_and_bodies_of_functions_are_nodes_and_numbers_of_the_process_are_not():
    def nodes(axis, factor):
        with tf.Graph().as_default() as graph:
            x = tf.ones([2, 3])
            tf.function(lambda a: a * factor + tf.squeeze(a[None], axis), autograph=False)(x)
        return outcomes.nodes_of(graph)

    assert nodes([0], 2.0) == nodes([0], 2.0)
    assert nodes([0], 2.0) == nodes([0], 3.0)  # a real constant
    assert nodes([0], 2.0) != nodes(None, 2.0)


@pytest.mark.parametrize(
    "value",
    [np.float32([[1.5, np.nan]]), np.array([b"a", b""], object), np.int8(3), np.zeros([0, 2])],
)
def test_arrays_come_back_as_they_were_packed(value):
    back = outcomes.unpack(outcomes.pack(value))
    np.testing.assert_array_equal(back, value)
    assert back.dtype == np.asarray(value).dtype


@pytest.mark.parametrize(
    ("message", "line"),
    [
        ("bad {{node a/b}}shape\n\t [[a/b]]", "bad shape"),
        ("2 root error(s) found.\n  (0) Invalid argument: bad\n  (1) ...", "bad"),
        ("lacks 'X' (defined at /a/b.py:3) , sorry", "lacks 'X' , sorry"),
        ("in converted code:\n\n    a.py:1 f\n\n    ValueError: bad\n", "bad"),
        (
            "got: <class 'stillflow.graph.Tensor'>, <class 'int'>",
            "got: <class 'Tensor'>, <class 'int'>",
        ),
        ("", ""),
    ],
)
def test_the_line_that_tells_the_fault(message, line):
    assert outcomes.first_line(message) == line


def told(**changes: Any) -> dict[str, Any]:
    """Return an outcome with one node and one value."""
    whole = {"nodes": [("a", "Const", ())], "values": [outcomes.pack(np.float32([1, 2]))]}
    return outcomes.done(**{**whole, **changes})


def refused(message: str, stage: str = "build", kind: type = ValueError) -> dict[str, Any]:
    return outcomes.failed(stage, kind(message))


@pytest.mark.parametrize(
    ("kind", "ours", "theirs"),
    [
        ("values", told(values=[outcomes.pack(np.float32([1, 2.1]))]), told()),
        ("values", told(values=[outcomes.pack(np.float32([1, np.nan]))]), told()),
        ("values", told(values=[outcomes.pack(np.float64([1, 2]))]), told()),
        ("values", told(values=[]), told()),
        ("nodes", told(nodes=[("a", "Const", ("^b",))]), told()),
        ("nodes", told(nodes=[]), told()),
        ("shapes", told(shapes=[[2]]), told(shapes=[None])),
        ("refused", refused("no"), told()),
        ("accepted", told(), refused("no")),
        ("accepted", told(), refused("Op X is not available in GraphDef version 134.")),
        ("stage", refused("no"), refused("no", "run")),
        ("message", refused("axis 3 is out of range"), refused("axis 2 is out of range")),
        ("error class", refused("no"), refused("no", kind=TypeError)),
        ("crash", {"stage": "crash", "error": ("crash", "status 11")}, told()),
    ],
)
def test_a_planted_difference_is_found(kind, ours, theirs):
    found = list(compare.differences(ours, theirs))
    assert [name for name, _ in found] == [kind]
    assert compare.forgiven(kind, {"name": "Add", "changes": 2}, ours, theirs) is None


def test_rounding_is_no_difference():
    value = [outcomes.pack(np.float32([1.0001, 2, np.inf]))]
    other = [outcomes.pack(np.float32([1, 2.0002, np.inf]))]
    assert not list(compare.differences(told(values=value), told(values=other)))
    value, other = [outcomes.pack(np.complex64([0.25 + part])) for part in (2e-8j, 0)]
    assert not list(compare.differences(told(values=[value]), told(values=[other])))


NO_KERNEL = "No OpKernel was registered to support Op 'X'"
CRASHED = {"stage": "crash", "error": ("crash", "status 11")}


@pytest.mark.parametrize(
    ("kind", "ours", "theirs"),
    [
        ("crash", told(), CRASHED),
        ("accepted", told(), refused(NO_KERNEL, "run")),
        ("accepted", told(), refused("'list' object has no attribute 'ndims'")),
        ("message", refused("must be rank 2"), refused("'int' object is not iterable")),
        ("message", refused("Paddings must be positive"), refused("axis = 7 not in [-2, 2)")),
        ("values", told(unseeded=True, values=[]), told(unseeded=True)),
    ],
)
def test_what_is_no_fault_is_forgiven(kind, ours, theirs):
    case = {"name": "Add", "changes": 2}
    assert [name for name, _ in compare.differences(ours, theirs)] == [kind]
    assert compare.forgiven(kind, case, ours, theirs)


@pytest.mark.parametrize(
    ("changes", "ours", "theirs"),
    [
        (1, "Paddings must be positive", "axis = 7 not in [-2, 2)"),
        (2, "bad size", "While the shape was converted, there was an error of this sort: bad size"),
        (2, "no square", "Op X is not available in GraphDef version 134."),
        (2, "must be sparse", "module 'tensorflow.nn' has no attribute 'f'"),
    ],
)
def test_one_fault_told_in_other_words_is_not_forgiven(changes, ours, theirs):
    case = {"name": "Add", "changes": changes}
    assert compare.forgiven("message", case, refused(ours), refused(theirs)) is None


def test_vectors_may_point_either_way():
    sides = [told(values=[outcomes.pack(np.float32([1, sign]))]) for sign in (1, -1)]
    assert compare.forgiven("values", {"name": "Svd"}, *sides)
    assert compare.forgiven("values", {"name": "linalg.svd"}, *sides)
    assert compare.forgiven("values", {"name": "Add"}, *sides) is None


def test_both_commands_together(tmp_path, capsys):
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    with open(ours, "wb") as file:
        case = {"name": "Add", "changes": 1}
        pickle.dump({"kind": "calls", "cases": [case], "outcomes": [told()]}, file)
    with open(theirs, "wb") as file:
        planted = told(nodes=[("b", "Const", ())])
        pickle.dump({"kind": "calls", "cases": [case], "outcomes": [planted]}, file)
    assert compare.main([ours, ours]) == 0
    assert "same: 1 (1 done)\ndifferent: 0" in capsys.readouterr().out
    assert compare.main([ours, theirs]) == 1
    assert "0 Add: nodes: at 0: ('a', 'Const', ())" in capsys.readouterr().out
