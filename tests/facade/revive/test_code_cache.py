"""Code of repaired modules that is kept for the next process."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import stillflow.facade.revive as revive
from stillflow.autograph import source as autograph_source
from stillflow.facade import say
from stillflow.facade.revive import code_cache, sources

OLD = "def numbers():\n    return [n for n in xrange(3)]\n"


@pytest.fixture(autouse=True)
def old_world(monkeypatch):
    """Repair sources, write compiled files, and have said nothing yet."""
    monkeypatch.setattr(revive, "active", lambda: True)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(say, "_said", set())
    monkeypatch.setattr(sources, "_offered", False)
    monkeypatch.setenv(sources.PYTHON2, "")


@pytest.fixture(autouse=True)
def rules_of_now():
    """Find out again, after a test, which rules there are."""
    rules = code_cache._rules
    yield
    rules.cache_clear()


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "old_module.py"
    path.write_text(OLD)
    return path


def load(path):
    scope: dict = {}
    loader = sources._Loader(path.stem, str(path))
    exec(loader.get_code(path.stem), scope)
    return scope


def kept(path):
    return list((path.parent / "__pycache__").glob("*.stillflow.pyc"))


def never(*arguments):
    raise AssertionError("a module was repaired again")


def test_a_module_is_repaired_once(module, monkeypatch, capsys):
    assert load(module)["numbers"]() == [0, 1, 2]
    said = capsys.readouterr().err
    assert "xrange" in said and len(kept(module)) == 1
    monkeypatch.setattr(sources, "repair", never)
    monkeypatch.setattr(say, "_said", set())  # as in another process
    assert load(module)["numbers"]() == [0, 1, 2]
    assert capsys.readouterr().err == said


def test_a_module_of_python_2_is_translated_once(module, monkeypatch):
    module.write_text("import os\nprint 'text'\nvalue = 7 / 2\n")
    assert load(module)["value"] == 3
    assert os.environ[sources.PYTHON2] == "1"
    monkeypatch.setenv(sources.PYTHON2, "")
    monkeypatch.setattr(sources, "repair", never)
    assert load(module)["value"] == 3
    assert os.environ[sources.PYTHON2] == "1"


def test_advice_is_kept_with_the_code(module, monkeypatch, capsys):
    module.write_text(OLD + "for key in sorted({}.keys()[0:0]):\n    pass\n")
    with pytest.raises(TypeError):
        load(module)
    advice = capsys.readouterr().err
    assert "--python2" in advice
    monkeypatch.setattr(sources, "repair", never)
    monkeypatch.setattr(sources, "_offered", False)
    monkeypatch.setattr(say, "_said", set())
    with pytest.raises(TypeError):
        load(module)
    assert capsys.readouterr().err == advice


@pytest.mark.parametrize("change", ["text", "time", "state", "rules", "numpy", "path"])
def test_code_of_something_else_is_not_used(module, monkeypatch, change):
    load(module)
    if change == "text":
        module.write_text(OLD.replace("xrange(3)", "xrange(30)"))
    elif change == "time":
        os.utime(module, (1, 1))
    elif change == "state":
        monkeypatch.setenv(sources.PYTHON2, "1")
    elif change == "rules":
        monkeypatch.setattr(code_cache, "_rules", lambda: "others")
    elif change == "numpy":
        monkeypatch.setattr(code_cache, "_numpy", lambda: b"version = '1.18.5'")
        code_cache._rules.cache_clear()
    else:
        folder = module.parent.rename(module.parent.with_name("elsewhere"))
        module = folder / module.name
    again = []
    repair = sources.repair
    monkeypatch.setattr(sources, "repair", lambda *given: again.append(1) or repair(*given))
    assert load(module)["numbers"]() == list(range(30 if change == "text" else 3))
    assert again


@pytest.mark.parametrize("damage", [b"", b"text", None])
def test_a_damaged_entry_is_written_again(module, damage):
    load(module)
    (entry,) = kept(module)
    whole = entry.read_bytes()
    entry.write_bytes(whole[: len(whole) // 2] if damage is None else damage)
    assert load(module)["numbers"]() == [0, 1, 2]
    assert entry.read_bytes() == whole


def test_nothing_is_written_where_python_writes_nothing(module, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    load(module)
    assert not kept(module)


def test_a_folder_that_cannot_be_written_is_tolerated(module):
    (module.parent / "__pycache__").write_text("in the way")
    for _ in range(2):
        assert load(module)["numbers"]() == [0, 1, 2]


def test_a_module_that_needs_no_repair_has_python_s_own_file_alone(module):
    module.write_text("value = 1\n")
    assert load(module)["value"] == 1
    assert not kept(module)


def test_autograph_reads_the_repaired_tree_of_code_that_was_kept(module, monkeypatch):
    module.write_text("def text(value):\n    return unicode(value)\nprint 'loaded'\n")
    load(module)
    monkeypatch.setattr(autograph_source, "_trees", {})
    monkeypatch.setattr(autograph_source, "_files", {})
    node = autograph_source.function_node(load(module)["text"])
    assert node.name == "text"


def test_a_child_that_is_spawned_uses_what_its_parent_has_kept(module):
    program = (
        "import sys, stillflow\n"
        "stillflow.install(revive=True)\n"
        "from stillflow.facade.revive import sources\n"
        "if len(sys.argv) > 2:\n"
        "    def never(*arguments): raise AssertionError('repaired again')\n"
        "    sources.repair = never\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import old_module; print(old_module.numbers())"
    )
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    for more in ([], ["again"]):
        command = [sys.executable, "-c", program, str(module.parent), *more]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.stdout == "[0, 1, 2]\n", done.stderr
