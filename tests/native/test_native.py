"""The library of loops: when it is there, and that it is built without a warning."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path
from types import ModuleType

import pytest

from stillflow import native
from stillflow.files import record_frames

TOOL = Path(__file__).resolve().parents[2] / "tools" / "build_native.py"


@pytest.fixture(scope="module")
def build_native() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_native", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def built(build_native, tmp_path_factory) -> Path:
    """Return a copy of the sources, and the library built from them; a warning is an error."""
    if build_native.compiler() is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("built") / "native"
    shutil.copytree(native.FOLDER, folder, ignore=shutil.ignore_patterns(native.FILE))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build_native, "FLAGS", [*build_native.FLAGS, "-Werror"])
        assert build_native.build(folder) == folder / native.FILE
    return folder


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Provide a library that nobody has requested yet."""
    monkeypatch.setattr(native, "library", native.library.__wrapped__)


def test_what_was_built_is_loaded(built, monkeypatch):
    monkeypatch.setattr(native, "FOLDER", built)
    assert native.library() is not None


def test_a_library_of_other_sources_is_not_used(built, monkeypatch, tmp_path):
    copy = tmp_path / "native"
    shutil.copytree(built, copy)
    (copy / "threads.c").write_text("/* changed since */")
    monkeypatch.setattr(native, "FOLDER", copy)
    assert native.library() is None


def test_every_loop_has_the_types_of_its_arguments():
    sources = "".join(path.read_text() for path in native.FOLDER.glob("*.c"))
    public = re.findall(r"^PUBLIC [a-z0-9_ ]+?[ *]([a-z0-9_]+)\(([^)]*)\)", sources, re.MULTILINE)
    counts = {name: len(arguments.split(",")) for name, arguments in public}
    assert counts == {name: len(types) for name, (_, types) in native._FUNCTIONS.items()}


@pytest.mark.skipif(sys.platform != "linux", reason="torch brings GNU's OpenMP on Linux")
def test_loops_that_were_loaded_before_torch_run_on_its_threads():
    program = """
        from stillflow import native
        library, given = native.library(), []
        assert "torch" not in sys.modules
        if library is not None:
            library.use_threads_of = given.append
            import stillflow.runtime.host.threads
            assert [bool(function.value) for function in given] == [True]
    """
    subprocess.run([sys.executable, "-c", "import sys\n" + textwrap.dedent(program)], check=True)


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
