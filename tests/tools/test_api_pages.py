"""tools/api_pages.py writes the API reference: exports, as the imported package has them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from stillflow._namespace import public_names

TABLE = public_names()

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
    return api_pages.Reference()


@pytest.fixture(scope="module")
def pages(reference: Any) -> dict[str, str]:
    return reference.pages()


def entry(pages: dict[str, str], name: str) -> str:
    space, _, leaf = name.rpartition(".")
    return pages[space or "tf"].partition(f"\n## {leaf} {{.api}}\n")[2].partition("\n## ")[0]


def test_every_export_has_its_entry(pages: dict[str, str]) -> None:
    for name in TABLE:
        space, _, leaf = name.rpartition(".")
        assert f"\n## {leaf} {{.api}}\n" in pages[space or "tf"], name


def test_every_callable_has_a_docstring_and_its_arguments(reference: Any) -> None:
    facts = {name: reference.facts.fact(name) for name in TABLE}
    callables = {name: fact for name, fact in facts.items() if fact.kind != "constant"}
    assert len(callables) > 4500
    assert not [name for name, fact in callables.items() if not fact.doc]
    hidden = [name for name, fact in callables.items() if fact.arguments == ("*args", "**kwargs")]
    # Programs call these with anything, as in TensorFlow; flags are absl's, networks Keras'.
    known = ("app.flags.", "flags.", "contrib.graph_editor.", "keras.applications.")
    known += ("keras.Model", "keras.models.Model", "contrib.summary.create_summary_file_writer")
    known += ("contrib.checkpoint.Mapping", "contrib.layers.scale_gradient", "meshgrid")
    known += ("contrib.cluster_resolver.UnionClusterResolver",)
    known += ("distribute.cluster_resolver.UnionResolver", "contrib.specs.")
    assert not [name for name in hidden if not name.startswith(known)]


def test_every_entry_of_ours_links_to_its_line(reference: Any) -> None:
    unknown = [name for name in TABLE if not reference.facts.fact(name).line]
    assert not [name for name in unknown if not TABLE[name].startswith("protos:")]


def test_an_entry_has_signature_docstring_and_source(reference: Any, pages: dict[str, str]) -> None:
    text = entry(pages, "nn.relu")
    assert "tf.nn.relu(features, name=None)" in text
    module = TABLE["nn.relu"].partition(":")[0]
    assert f"../source/{module}.html#L" in text
    line = int(text.partition("#L")[2].partition('"')[0])
    source = reference.sources()[module].read_text(encoding="utf-8").splitlines()
    assert source[line - 1].startswith("def relu(")


def test_functions_that_others_make_have_entries_like_all(pages: dict[str, str]) -> None:
    text = entry(pages, "sqrt")
    assert "tf.sqrt(x, name=None)" in text
    assert "The square root of <code>x</code>" in text
    assert "<dt><code>x</code></dt>" in text
    assert ">>> print(tf.Session().run(tf.sqrt([4.0, 9.0])))" in text


def test_derived_constructors_show_their_arguments(pages: dict[str, str]) -> None:
    text = entry(pages, "layers.AveragePooling1D")
    assert "class tf.layers.AveragePooling1D(\n    pool_size,\n    strides,\n" in text
    assert "Derives from <code>tf.keras.layers.AveragePooling1D</code>" in text


def test_messages_take_their_fields_by_name(pages: dict[str, str]) -> None:
    text = entry(pages, "train.Int64List")
    assert "class tf.train.Int64List(*, value=None)" in text
    assert "```pycon\n>>> list(tf.train.Int64List(value=[28, 28]).value)\n[28, 28]\n```" in text


def test_default_values_are_written_as_programs_write_them(reference: Any) -> None:
    assert "dtype=tf.float32" in reference.facts.fact("zeros").arguments
    arguments = reference.facts.fact("get_variable").arguments
    assert "synchronization=tf.VariableSynchronization.AUTO" in arguments


def test_constants_of_a_class_are_listed(pages: dict[str, str]) -> None:
    assert "<dt><code>SUM = 'weighted_sum'</code></dt>" in entry(pages, "losses.Reduction")
    text = entry(pages, "VariableSynchronization")
    assert "class tf.VariableSynchronization(value)" in text and "<code>ON_READ</code>" in text


def test_methods_of_a_class_are_listed(pages: dict[str, str]) -> None:
    text = entry(pages, "train.Saver")
    assert "<dt><code>restore(sess, save_path)</code></dt>" in text


def test_long_signatures_have_one_argument_a_line(api_pages: ModuleType) -> None:
    arguments = ("first", "*rest", "second=(1, 2)", "**more")
    assert api_pages.signature(arguments, 4) == "(first, *rest, second=(1, 2), **more)"
    wrapped = "(\n    first,\n    *rest,\n    second=(1, 2),\n    **more,\n)"
    assert api_pages.signature(arguments, 80) == wrapped


def test_docstrings_are_text_not_markup(api_pages: ModuleType) -> None:
    assert api_pages.marked("a < b in `x[0]`") == "a &lt; b in <code>x[0]</code>"


def test_arguments_are_a_list_and_an_example_is_a_block_of_code(api_pages: ModuleType) -> None:
    doc = "First.\n\nArgs:\n  x: a tensor\n    of `int32`.\n\nExample:\n  >>> f(1)\n  [[1]\n   [2]]"
    text = "\n".join(api_pages.described(doc))
    assert "<dl><dt><code>x</code></dt><dd>a tensor of <code>int32</code>.</dd></dl>" in text
    assert "```pycon\n>>> f(1)\n[[1]\n [2]]\n```" in text


def test_tables_in_a_docstring_keep_their_lines(api_pages: ModuleType) -> None:
    text = "\n".join(api_pages.described("First.\n\nSecond\nline.\n\n  a   b\n  c   d"))
    assert "<p>Second\nline.</p>" in text
    assert '<pre class="docstring">  a   b\n  c   d</pre>' in text
