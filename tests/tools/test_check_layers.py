"""The check of layers: which imports it counts, and the hooks that connect layers."""

from __future__ import annotations

import ast
import importlib
import re
import sys
from pathlib import Path

import pytest

from stillflow._hooks import PROVIDERS, Hook

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def check_layers(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    yield importlib.import_module("check_layers")
    del sys.modules["check_layers"]


def _package(tmp_path, **texts):
    for name, text in texts.items():
        path = tmp_path / "stillflow" / f"{name.replace('__', '/')}.py"
        for folder in (path.parent, tmp_path / "stillflow"):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "__init__.py").touch()
        path.write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("from stillflow.ops import math", "top"),
        ("import stillflow.ops.math", "top"),
        ("from ..ops import math", "top"),
        ("def f():\n    from stillflow.ops.math import add", "function"),
        ("card = import_module('stillflow.ops.math')", "string"),
        ("card: Any = LazyModule('stillflow.ops.math')", "string"),
        ("TABLE = {'add': 'stillflow.ops.math:add'}", "string"),
        ("f'stillflow.ops.math.{name}'", "string"),
    ],
)
def test_every_kind_of_import_of_a_higher_layer_counts(check_layers, tmp_path, text, kind):
    source = _package(tmp_path, graph__cards=text, ops__math="")
    edges = list(check_layers.upward(check_layers.imports(source)))
    assert edges == [("stillflow.graph.cards", "stillflow.ops.math", kind)]


def test_imports_of_lower_layers_and_for_type_checkers_do_not_count(check_layers, tmp_path):
    below = "from stillflow.graph import cards"
    types = "if TYPE_CHECKING:\n    from stillflow.ops import math"
    source = _package(tmp_path, ops__math=below, graph__cards=types)
    assert list(check_layers.upward(check_layers.imports(source))) == []


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("import stillflow as tf", "top"),
        ("from stillflow import __version__", "top"),
        ("from .. import concat", "top"),
        ("def f():\n    import stillflow", "function"),
        ("tf = importlib.import_module('stillflow')", "string"),
        ("tf: Any = LazyModule('stillflow')", "string"),
    ],
)
def test_the_public_api_is_used_from_keras_on(check_layers, tmp_path, text, kind):
    source = _package(tmp_path, nn__losses=text, keras__losses=text)
    graph = check_layers.imports(source)
    assert list(check_layers.api_imports(graph)) == [("stillflow.nn.losses", "stillflow", kind)]
    assert list(check_layers.upward(graph)) == []


def test_a_module_below_keras_is_no_public_api(check_layers, tmp_path):
    text = "from stillflow import nest, nn\nimport stillflow.nest"
    source = _package(tmp_path, image__sizes=text, nn__losses="", nest__flat="")
    assert list(check_layers.api_imports(check_layers.imports(source))) == []


def test_an_import_of_the_public_api_below_keras_fails_and_cannot_be_listed(
    check_layers, tmp_path, monkeypatch, capsys
):
    source = _package(tmp_path, nn__losses="def f():\n    import stillflow as tf", nest__flat="")
    (tmp_path / "allowed.txt").write_text("largest cycle: 0\nstillflow.nn.losses -> stillflow\n")
    monkeypatch.setattr(check_layers, "ALLOWED", tmp_path / "allowed.txt")
    monkeypatch.setattr(check_layers, "imports", lambda read=check_layers.imports: read(source))
    assert check_layers.main(["--shrink"]) == 1
    assert "stillflow.nn.losses imports the public API (function)" in capsys.readouterr().out


def test_a_lazy_module_is_one_that_type_checkers_see(check_layers):
    plain = "    from stillflow.ops import math"
    lazy = 'LazyModule("stillflow.ops.math")'
    typed = f"if TYPE_CHECKING:\n{plain}\nelse:\n    math = {lazy}"
    untyped = f"math: Any = {lazy}\ndef f():\n    return {lazy}.add"
    assert list(check_layers.untyped_lazy_modules(ast.parse(typed))) == []
    assert list(check_layers.untyped_lazy_modules(ast.parse(untyped))) == [1, 3]


def test_a_cycle_through_functions_and_strings_is_found(check_layers, tmp_path):
    source = _package(
        tmp_path,
        ops__a="from stillflow.ops import b",
        ops__b="def f():\n    from stillflow.ops import c",
        ops__c="a = LazyModule('stillflow.ops.a')",
        ops__d="from stillflow.ops import a",
    )
    cycle = check_layers.largest_cycle(check_layers.imports(source))
    assert cycle == ["stillflow.ops.a", "stillflow.ops.b", "stillflow.ops.c"]


def test_a_module_without_a_layer_is_named(check_layers, tmp_path):
    source = _package(tmp_path, fresh__thing="from stillflow import graph", graph__cards="")
    with pytest.raises(KeyError, match=r"stillflow\.fresh\.thing is in no layer"):
        list(check_layers.upward(check_layers.imports(source)))


def _declared_hooks():
    """Yield the hooks of the package: name -> the module and the variable that hold it."""
    for path in sorted((ROOT / "src").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if not re.search(r"\bHook\(", text):
            continue
        module = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
        for node in ast.parse(text).body:
            if isinstance(node, ast.AnnAssign) and "Hook(" in ast.unparse(node.value or node):
                yield module, node.target.id


def test_every_hook_has_a_provider_which_fills_it():
    names = set()
    for module, variable in _declared_hooks():
        hook = getattr(importlib.import_module(module), variable)
        assert hook.name == f"{module}.{variable}".removeprefix("stillflow.")
        assert hook.value is not None
        names.add(hook.name)
    assert names == set(PROVIDERS)


def test_a_hook_imports_its_provider_on_first_use_only(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setitem(PROVIDERS, "some.hook", "provider_of_hook")
    hook: Hook[int] = Hook("some.hook")
    (tmp_path / "provider_of_hook.py").write_text("import hooks_here\nhooks_here.hook.provide(7)\n")
    monkeypatch.setitem(sys.modules, "hooks_here", type(sys)("hooks_here"))
    sys.modules["hooks_here"].hook = hook
    assert "provider_of_hook" not in sys.modules
    assert (hook.value, hook.value) == (7, 7)
    del sys.modules["provider_of_hook"]
    assert hook.value == 7
    with pytest.raises(AttributeError, match="other"):
        _ = hook.other
