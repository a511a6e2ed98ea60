"""Every golden program builds the graph, the static shapes and the values TF 1.15.5 recorded."""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.expected_failures import ExpectedFailures
from tests.golden import compare, encode, sessions
from tests.golden.capture import Built
from tests.golden.registry import load_programs, split_name

HERE = os.path.dirname(os.path.abspath(__file__))
ASPECTS = ("graph", "shapes", "values")
MOST_LINES = 40


def known_failures() -> dict[str, str]:
    """``<program> <aspect>`` -> reason, from known_failures.txt (tab-separated)."""
    reasons: dict[str, str] = {}
    with open(os.path.join(HERE, "known_failures.txt"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                name, aspect, reason = line.rstrip("\n").split("\t")
                reasons[name + " " + aspect] = reason
    return reasons


def cases() -> list[Any]:
    """Return one test per program and aspect; listed failures have to fail until removed."""
    reasons = known_failures()
    result = []
    for name, aspect in itertools.product(load_programs(), ASPECTS):
        reason = reasons.pop(name + " " + aspect, None)
        marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
        result.append(pytest.param(name, aspect, marks=marks, id=name + "-" + aspect))
    if reasons:
        raise ValueError("known_failures.txt names no program: " + ", ".join(reasons))
    return result


@functools.cache
def recording(family: str) -> dict[str, Any]:
    """Return TF 1.15.5's recording of one family."""
    return encode.read_recording(os.path.join(HERE, "recorded", family + ".json.gz"))


@functools.lru_cache(maxsize=2)
def built(name: str) -> Built:
    """Return the program, built with Stillflow (the tests of one program share it)."""
    import stillflow as tf

    return Built(tf, load_programs()[name])


def differences(name: str, aspect: str, way: str = "plain") -> Iterator[str]:
    """Yield differences between the recording and Stillflow, run in one way of `sessions.WAYS`."""
    family, function = split_name(name)
    expected = recording(family)[function][aspect]
    program = built(name)
    if aspect == "graph":
        return compare.graph_differences(expected, program.graph_record)
    if aspect == "shapes":
        return compare.shape_differences(expected, program.shapes_record)
    options = program.program
    actual = sessions.record_values(program, way)
    return compare.value_differences(expected, actual, options.rtol, options.atol)


@pytest.mark.parametrize("name, aspect", cases())
def test_agrees_with_tensorflow(name: str, aspect: str, request: pytest.FixtureRequest) -> None:
    way = request.config.getoption("--golden-session")
    if way != "plain":
        if aspect != "values":
            pytest.skip("only values depend on the session")
        reason = ExpectedFailures(sessions.LIST).reason(f"{way}::{name}")
        if reason:
            request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    lines = list(itertools.islice(differences(name, aspect, way), MOST_LINES + 1))
    if len(lines) > MOST_LINES:
        lines[MOST_LINES] = "... and more"
    assert not lines, "\n" + "\n".join(lines)


def test_every_recording_has_its_program() -> None:
    folder = Path(HERE, "recorded")
    recorded = set()
    for path in folder.rglob("*.json.gz"):
        family = path.relative_to(folder).as_posix().partition(".")[0]
        recorded |= {f"{family}/{function}" for function in recording(family)}
    assert recorded == set(load_programs())
