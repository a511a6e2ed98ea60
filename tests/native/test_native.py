"""The library of loops: when it is there, and that it is built without a warning."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path
from types import ModuleType

import pytest

from stillflow import native
from stillflow.files import record_frames

TOOL = Path(__file__).resolve().parents[2] / "tools" / "build_native.py"


@pytest.fixture
def build_native() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_native", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if module.compiler() is None:
        pytest.skip("no C compiler")
    return module


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """A library that nobody has asked for yet."""
    monkeypatch.setattr(native, "library", native.library.__wrapped__)


def test_the_sources_build_without_a_warning(build_native, monkeypatch, tmp_path):
    monkeypatch.setattr(build_native, "FLAGS", [*build_native.FLAGS, "-Werror"])
    built = build_native.build(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [built.name] == [native.FILE]


def test_what_was_built_is_loaded(build_native, monkeypatch, tmp_path):
    copy = tmp_path / "native"
    shutil.copytree(native.FOLDER, copy)
    build_native.build(copy)
    monkeypatch.setattr(native, "FOLDER", copy)
    assert native.library() is not None


def test_a_library_of_other_sources_is_not_used(build_native, monkeypatch, tmp_path):
    copy = tmp_path / "native"
    shutil.copytree(native.FOLDER, copy)
    build_native.build(copy)
    (copy / "threads.c").write_text("/* changed since */")
    monkeypatch.setattr(native, "FOLDER", copy)
    assert native.library() is None


def test_it_can_be_switched_off(monkeypatch):
    monkeypatch.setenv("STILLFLOW_NATIVE", "0")
    assert native.library() is None


def test_checksums_need_no_instruction_of_the_processor(build_native, monkeypatch, tmp_path):
    records = [bytes(range(256)) * n for n in range(10)]
    expected = b"".join(record_frames.pieces(records))
    copy = tmp_path / "native"
    shutil.copytree(native.FOLDER, copy)
    monkeypatch.setattr(build_native, "FLAGS", [*build_native.FLAGS, "-DBY_TABLES"])
    build_native.build(copy)
    monkeypatch.setattr(native, "FOLDER", copy)
    assert native.library() is not None
    assert record_frames.framed(records) == expected


def test_without_a_compiler_nothing_is_built(build_native, monkeypatch, tmp_path):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert build_native.build(tmp_path) is None
    monkeypatch.setattr(native, "FOLDER", tmp_path)
    assert native.library() is None
