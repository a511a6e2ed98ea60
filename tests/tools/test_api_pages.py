"""tools/api_pages.py writes the API reference from the table of exports."""

from __future__ import annotations

import ast
import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stillflow._api import TABLE

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def api_pages() -> ModuleType:
    sys.path.insert(0, str(ROOT / "tools"))
    try:
        return importlib.import_module("api_pages")
    finally:
        sys.path.remove(str(ROOT / "tools"))


@pytest.fixture(scope="module")
def reference(api_pages: ModuleType) -> Any:
    return api_pages.read(ROOT)


@pytest.fixture(scope="module")
def pages(reference: Any) -> dict[str, str]:
    return reference.pages()


def test_every_export_has_its_entry(pages: dict[str, str]) -> None:
    for name in TABLE:
        space, _, leaf = name.rpartition(".")
        assert f"\n## {leaf} {{.api}}\n" in pages[space or "tf"], name


def test_an_entry_has_signature_docstring_and_source(reference: Any, pages: dict[str, str]) -> None:
    entry = pages["nn"].partition("\n## relu {.api}\n")[2].partition("\n## ")[0]
    assert "tf.nn.relu(features, name=None)" in entry
    module = TABLE["nn.relu"].partition(":")[0]
    assert f"../source/{module}.html#L" in entry
    line = int(entry.partition("#L")[2].partition('"')[0])
    source = reference.sources()[module].read_text(encoding="utf-8").splitlines()
    assert source[line - 1].startswith("def relu(")


def test_long_signatures_have_one_argument_a_line(api_pages: ModuleType) -> None:
    program = "class A:\n  def __init__(self, first, *rest, second=(1, 2), **more): 'no doc'"
    found = api_pages.definitions(ast.parse(program))["A"]
    assert found.signature(4) == "(first, *rest, second=(1, 2), **more)"
    assert found.signature(80) == "(\n    first,\n    *rest,\n    second=(1, 2),\n    **more,\n)"


def test_docstrings_are_text_not_markup(api_pages: ModuleType) -> None:
    assert api_pages.marked("a < b in `x[0]`") == "a &lt; b in <code>x[0]</code>"


def test_an_example_is_a_block_of_code(api_pages: ModuleType) -> None:
    lines = api_pages.described("First.\n\nArgs:\n  x: a.\n\nExample:\n  >>> f(1)\n  [[1]\n   [2]]")
    assert lines[2] == '<pre class="docstring">Args:\n  x: a.</pre>'
    assert lines[4:] == ["```pycon", ">>> f(1)", "[[1]", " [2]]", "```", ""]
    assert api_pages.described("First.\n\nExample:\n  >>> f(1)")[2] == "```pycon"


def test_messages_have_their_docstrings(pages: dict[str, str]) -> None:
    entry = pages["train"].partition("\n## Int64List {.api}\n")[2].partition("\n## ")[0]
    assert "```pycon\n>>> list(tf.train.Int64List(value=[28, 28]).value)\n[28, 28]\n```" in entry
