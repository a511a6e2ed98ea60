"""Files that are a program's own, and names that it guards itself."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import stillflow
from stillflow.facade.revive import rewrite, sources


@pytest.mark.parametrize("marker", ["pkg-1.0.dist-info", None])
def test_what_was_installed_into_a_folder_is_no_program(tmp_path, monkeypatch, marker):
    if marker is not None:
        (tmp_path / marker).mkdir()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert sources.own(str(tmp_path / "pkg" / "module.py")) is (marker is None)


def test_both_of_our_packages_are_no_program() -> None:
    source = Path(stillflow.__file__).parent
    for package in (source, source.with_name("stillflow_contrib")):
        assert not sources.own(str(package / "module.py"))


@pytest.mark.parametrize(
    "text",
    [
        "import sys\nif sys.version_info[0] < 3:\n    x = unicode('a')\nelse:\n    x = str('a')",
        "import sys\nPY2 = sys.version_info < (3,)\ntypes = (str, unicode) if PY2 else (str,)",
        "import six\nif six.PY2:\n    name = raw_input()",
        "import platform\nif platform.python_version()[0] == '2':\n    range = xrange",
        "try:\n    unicode\nexcept NameError:\n    unicode = str",
    ],
)
def test_names_of_python_2_that_a_program_guards_are_its_own(text):
    tree = ast.parse(text)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    gone = {"unicode", "raw_input", "xrange"} & used
    assert gone and gone <= rewrite.names_in_care(tree)


def test_names_under_other_conditions_are_not_guarded():
    tree = ast.parse("if verbose:\n    text = unicode('a')\ny = raw_input() if interactive else ''")
    assert not {"unicode", "raw_input"} & rewrite.names_in_care(tree)
