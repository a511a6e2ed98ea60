"""`help` of public names: a docstring, and the signature of TensorFlow for `inspect` as well."""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

import stillflow as tf
from stillflow._namespace import public_names

TESTS = Path(__file__).resolve().parent
RECORDED = json.loads((TESTS / "facts" / "signatures.json").read_text())


@pytest.fixture(scope="module")
def coverage_table() -> ModuleType:
    sys.path.insert(0, str(TESTS.parent / "tools"))
    try:
        return importlib.import_module("coverage_table")
    finally:
        del sys.path[0]


@pytest.mark.filterwarnings("ignore")  # names that warn when they are looked up
def test_signatures_are_those_on_record(coverage_table: ModuleType) -> None:
    public = [name for name in public_names() if f"tf.{name}" in RECORDED]
    assert len(public) > 1000
    gaps = {
        name: coverage_table.gap(tf, f"tf.{name}", RECORDED[f"tf.{name}"][2]) for name in public
    }
    assert not {name: gap for name, gap in gaps.items() if gap is not None}


@pytest.mark.filterwarnings("ignore")
def test_every_function_and_class_has_a_docstring() -> None:
    def is_described(name: str) -> bool:
        value = functools.reduce(getattr, name.split("."), tf)
        if not inspect.isclass(value) and not inspect.isroutine(value):
            return True
        return bool((inspect.getdoc(value) or "").strip())

    assert not [name for name in public_names() if not is_described(name)]
