"""`help` of public names: a docstring, and for `inspect.signature` the arguments of TensorFlow.

tests/facts/public_signatures.json is recorded from TensorFlow 1.15.5 by tools/public_signatures.py.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import stillflow as tf
from stillflow._namespace import public_names

TESTS = Path(__file__).resolve().parent
RECORDED = json.loads((TESTS / "facts" / "public_signatures.json").read_text())
OTHERS = {
    "contrib.specs.ops": "the context that brings its names, as `with` needs it; there, a module",
    "contrib.stat_summarizer.StatSummarizer": "a wrapper in C, which shows none; it takes none",
}
NEWER_ABSL = {"app.flags.UnrecognizedFlagError", "flags.UnrecognizedFlagError"}  # a default value


@pytest.fixture(scope="module")
def public_signatures() -> ModuleType:
    sys.path.insert(0, str(TESTS.parent / "tools"))
    try:
        return importlib.import_module("public_signatures")
    finally:
        del sys.path[0]


@pytest.fixture(scope="module")
def values() -> dict[str, Any]:
    return {name: functools.reduce(getattr, name.split("."), tf) for name in public_names()}


def test_the_record_has_every_public_name() -> None:
    assert RECORDED.keys() == {f"tf.{name}" for name in public_names()}, (
        "record them again: tools/public_signatures.py says how"
    )


@pytest.mark.filterwarnings("ignore")  # names that warn when they are looked up
def test_signatures_are_those_on_record(
    public_signatures: ModuleType, values: dict[str, Any]
) -> None:
    found = {name: public_signatures.describe(value) for name, value in values.items()}
    differing = {
        name: (text, RECORDED[f"tf.{name}"])
        for name, text in found.items()
        if not public_signatures.same(RECORDED[f"tf.{name}"], text)
    }
    assert differing.keys() - NEWER_ABSL == OTHERS.keys(), differing


@pytest.mark.filterwarnings("ignore")
def test_python_knows_the_arguments_of_every_function(values: dict[str, Any]) -> None:
    for name, value in values.items():
        if inspect.isroutine(value):
            assert inspect.signature(value) is not None, name


@pytest.mark.filterwarnings("ignore")
def test_every_function_and_class_has_a_docstring(values: dict[str, Any]) -> None:
    defined = {x: y for x, y in values.items() if inspect.isclass(y) or inspect.isroutine(y)}
    assert len(defined) > 4500
    assert not [x for x, y in defined.items() if not (inspect.getdoc(y) or "").strip()]
