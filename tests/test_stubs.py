"""The stubs that the wheel carries: one per namespace, every public name in its place."""

from __future__ import annotations

import ast
import functools
import importlib.util
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import stillflow as tf
from stillflow._namespace import public_names
from stillflow.cli.stubbing.signatures import default_text
from stillflow.graph.card import find
from stillflow.ops import raw_ops

TOOL = Path(__file__).resolve().parent.parent / "tools" / "build_stubs.py"


@pytest.fixture(scope="module")
def build_stubs() -> ModuleType:
    spec = importlib.util.spec_from_file_location("build_stubs", TOOL)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def names(stub: str) -> set[str]:
    tree = ast.parse(stub)
    imported = {
        alias.asname
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname
    }
    defined = {node.name for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    return (
        imported
        | defined
        | {node.target.id for node in tree.body if isinstance(node, ast.AnnAssign)}
    )


def test_a_namespace_gets_a_stub_with_its_members_and_namespaces(build_stubs: ModuleType) -> None:
    files = build_stubs.stubs({"nn.relu": "ops.nn.relu:relu", "nn.rnn_cell.LSTMCell": "rnn:LSTM"})
    assert names(files["__init__.pyi"]) >= {"nn", "compat", "__stillflow_version__"}
    assert "def install(shadow: bool=True" in files["__init__.pyi"]
    assert names(files["nn/__init__.pyi"]) == {"relu", "rnn_cell"}
    assert "from stillflow.rnn import LSTM as LSTMCell" in files["nn/rnn_cell/__init__.pyi"]


def test_a_name_defined_in_the_namespace_itself_is_declared(build_stubs: ModuleType) -> None:
    files = build_stubs.stubs({"train.f": "train:f"})
    assert "f: Any" in files["train/__init__.pyi"]


def test_a_module_file_needs_no_stub(build_stubs: ModuleType) -> None:
    assert "errors/__init__.pyi" not in build_stubs.stubs({"errors.OpError": "errors:OpError"})


def test_every_public_name_is_in_a_stub(build_stubs: ModuleType) -> None:
    files = build_stubs.stubs(public_names())
    for name in public_names():
        space, _, leaf = name.rpartition(".")
        path = Path(*space.split("."), "__init__.pyi").as_posix() if space else "__init__.pyi"
        assert path not in files or leaf in names(files[path]), name
    assert names(files["compat/v1/__init__.pyi"]) < names(files["__init__.pyi"])


def written_out(stub: str) -> dict[str, str]:
    """Return the parameters of the functions and constructors of a stub, without annotations."""
    found = {}
    for node in ast.parse(stub).body:
        function = node.body[0] if isinstance(node, ast.ClassDef) else node
        if isinstance(function, ast.FunctionDef):
            for argument in ast.walk(function.args):
                if isinstance(argument, ast.arg):
                    argument.annotation = None
            found[node.name] = ast.unparse(function.args)
    return found


def as_written(function: Any) -> str:
    """Return the parameters of a function in that form; objects stand as "..."."""
    texts: list[str] = []
    for parameter in inspect.signature(function).parameters.values():
        text = "**" * (parameter.kind is parameter.VAR_KEYWORD) + parameter.name
        if parameter.default is not parameter.empty:
            text += "=" + default_text(parameter.default)
        if parameter.kind is parameter.KEYWORD_ONLY and "*" not in texts:
            texts.append("*")
        texts.append(text)
    return ", ".join(texts)


def test_raw_ops_have_the_arguments_and_outputs_of_their_cards(build_stubs: ModuleType) -> None:
    stub = build_stubs.stubs({})["raw_ops/__init__.pyi"]
    written = written_out(stub)
    assert sorted(x for x in written if not x.startswith("_")) == raw_ops.names()
    tree = ast.parse(stub).body
    returns = {x.name: ast.unparse(x.returns) for x in tree if isinstance(x, ast.FunctionDef)}
    fields = {x.name: len(x.body) for x in tree if isinstance(x, ast.ClassDef)}
    for name in raw_ops.names():
        assert written[name] == as_written(raw_ops.lookup(name)), name
        outputs = find(name).signature.outputs
        one = "list[_Tensor]" if outputs and outputs[0].is_list else "_Tensor"
        expected = one if outputs else "_Operation"
        assert returns[name] == (f"_{name}" if len(outputs) > 1 else expected), name
        assert fields.get(f"_{name}", 1) == max(len(outputs), 1), name


@pytest.mark.filterwarnings("ignore")  # names that warn when they are looked up
def test_signatures_that_derive_from_others_are_spelled_out(build_stubs: ModuleType) -> None:
    compared = set()
    for path, stub in build_stubs.stubs(build_stubs.read_table()).items():
        *spaces, _ = Path(path).parts
        namespace = functools.reduce(getattr, spaces, tf)
        for name, parameters in written_out(stub).items():
            found = getattr(namespace, name)
            function = found.__init__ if inspect.isclass(found) else found
            assert as_written(function) == parameters, (path, name)
            compared.add(".".join([*spaces, name]))
    assert {"layers.dense", "keras.layers.Conv2D", "compat.v2.math.reduce_sum", "sqrt"} <= compared
    assert len(compared) > 550
