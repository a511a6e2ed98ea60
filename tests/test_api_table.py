"""The table of public names: what the scanner reads, and that the table on disk is fresh."""

from __future__ import annotations

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def make_api() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_api", ROOT / "tools" / "make_api.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def exports(make_api: ModuleType, source: str) -> dict[str, str]:
    return dict(make_api.exports(ast.parse(source), "example.py"))


def test_the_table_on_disk_is_fresh() -> None:
    command = [sys.executable, str(ROOT / "tools" / "make_api.py"), "--check"]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_a_decorated_function_is_public_under_every_name(make_api: ModuleType) -> None:
    source = '@export("nn.relu", "relu")\ndef relu(features): ...'
    assert exports(make_api, source) == {"nn.relu": "relu", "relu": "relu"}


def test_a_decorated_class_is_public(make_api: ModuleType) -> None:
    assert exports(make_api, '@export("Graph")\nclass Graph: ...') == {"Graph": "Graph"}


@pytest.mark.parametrize(
    "source",
    [
        'LEVEL = export_value("logging.DEBUG", 10)',
        'LEVEL: int = export_value("logging.DEBUG", 10)',
        'export_value("logging.DEBUG", LEVEL)',
        'export("logging.DEBUG")(LEVEL)',
        'if True:\n    LEVEL = export_value("logging.DEBUG", 10)',
    ],
)
def test_a_value_is_public_under_the_name_that_holds_it(make_api: ModuleType, source: str) -> None:
    assert exports(make_api, source) == {"logging.DEBUG": "LEVEL"}


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('def f():\n    @export("g")\n    def g(): ...', "top level"),
        ("for name in names:\n    export(name)(f)", "top level"),
        ("@export(NAME)\ndef f(): ...", "string literals"),
        ("@export()\ndef f(): ...", "string literals"),
        ('export_value("a", 1)', "no module-level name"),
    ],
)
def test_a_mark_that_cannot_be_read_is_refused(
    make_api: ModuleType, source: str, message: str
) -> None:
    with pytest.raises(make_api.ExportError, match=message):
        exports(make_api, source)


def test_one_name_for_two_things_is_refused(make_api: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('@export("f")\ndef f(): ...')
    (tmp_path / "b.py").write_text('@export("f")\ndef f(): ...')
    with pytest.raises(make_api.ExportError, match="f is both a:f and b:f"):
        make_api.scan(tmp_path)


def test_a_name_inside_a_function_is_refused(make_api: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('@export("f")\ndef f(): ...\n@export("f.g")\ndef g(): ...')
    with pytest.raises(make_api.ExportError, match="not a namespace"):
        make_api.scan(tmp_path)


def test_messages_are_public_through_their_table(make_api: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "protos").mkdir()
    (tmp_path / "protos" / "public.py").write_text(
        'PUBLIC: dict[str, str] = {"GraphDef": "GraphDef", "train.Int64List": "Int64List"}'
    )
    assert make_api.scan(tmp_path) == {
        "GraphDef": "protos:GraphDef",
        "train.Int64List": "protos:Int64List",
    }
