"""`python -m stillflow stubs`: stub files of `tensorflow`, complete and true to run time."""

from __future__ import annotations

import ast
import functools
import inspect
import keyword
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import stillflow as tf
from stillflow import cli
from stillflow._namespace import public_names
from stillflow.cli import stubs
from stillflow.cli.stubbing import messages
from stillflow.cli.stubbing.signatures import default_text, signature

# Programs of TensorFlow 1.x with types that each run returns.
TYPED = """\
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.contrib import rnn
from tensorflow.core.framework import attr_value_pb2, node_def_pb2, types_pb2
from tensorflow.core.protobuf import config_pb2
from tensorflow.python.framework import ops
from typing_extensions import assert_type

x = tf.placeholder(tf.float32, [None, 3])
loss = tf.reduce_mean(tf.square(tf.layers.dense(x, 1) - 1.0))
train = tf.train.AdamOptimizer(0.1).minimize(loss, global_step=tf.train.create_global_step())
assert_type(x, tf.Tensor)
assert_type(tf.layers.dense(x, 1), tf.Tensor)
assert_type(train, tf.Operation)
assert_type(tf.global_variables_initializer(), tf.Operation)
cell: rnn.RNNCell = rnn.LSTMCell(3)
assert_type(ops.get_default_graph(), tf.Graph)
assert_type(tf.raw_ops.Relu(features=[1.0]), tf.Tensor)
assert_type(tf.raw_ops.Svd(input=[[1.0]]).s, tf.Tensor)
assert_type(tf.raw_ops.ShapeN(input=[[1.0]]), list[tf.Tensor])
assert_type(tf.raw_ops.NoOp(), tf.Operation)
assert_type(tf.contrib.quantization.quantize_v2([1.0], 0.0, 1.0, tf.quint8).output, tf.Tensor)
assert_type(tf.nn.softmax(x), tf.Tensor)
assert_type(tf.sqrt(x), tf.Tensor)

graph = tf.GraphDef.FromString(b"")
assert_type(graph, tf.GraphDef)
for node in graph.node:
    assert_type(node, node_def_pb2.NodeDef)
    assert_type(node.op, str)
    assert_type(node.input[0], str)
    assert_type(node.attr["T"], attr_value_pb2.AttrValue)
    assert_type(node.attr["T"].type, int)
config = tf.ConfigProto(allow_soft_placement=True, device_count={"GPU": np.int64(0)})
config.gpu_options.allow_growth = True
config.graph_options.optimizer_options.global_jit_level = tf.OptimizerOptions.ON_1
assert_type(config.gpu_options, config_pb2.GPUOptions)
values = tf.train.Feature(int64_list=tf.train.Int64List(value=[np.int64(1)]))
example = tf.train.Example(features=tf.train.Features(feature={"x": values}))
assert_type(example.features.feature["x"].int64_list.value[0], int)
assert_type(example.SerializeToString(), bytes)
assert_type(tf.Summary(value=[tf.Summary.Value(tag="loss")]).value[0].tag, str)
assert_type(types_pb2.DT_FLOAT, int)
assert_type(types_pb2.DataType.Name(1), str)
with tf.Session() as session:
    assert_type(session, tf.Session)
    session.run(train)
    assert_type(session.run(loss, {x: [[1.0, 2.0, 3.0]]}), "np.ndarray[Any, Any]")
    assert_type(session.run([loss, train]), list[Any])
    assert_type(session.run((loss, train)), tuple[Any, ...])
    assert_type(session.run({"loss": loss}), dict[Any, Any])
"""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project") / "typings"
    command = [sys.executable, "-m", "stillflow", "stubs", "--out", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"stub files in {folder / 'tensorflow'}" in done.stdout
    return folder


def path_of(folder: Path, module: str) -> Path:
    return folder.joinpath(*module.split("."), "__init__.pyi")


class Stub:
    """The definitions and imports of a stub file."""

    def __init__(self, folder: Path, module: str) -> None:
        self.folder = folder
        self.defined: dict[str, list[ast.stmt]] = {}
        self.imported: dict[str, tuple[str, str]] = {}
        self.stars: list[str] = []
        for node in ast.parse(path_of(folder, module).read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if alias.name == "*":
                        self.stars.append(node.module)
                    else:
                        self.imported[alias.asname or alias.name] = (node.module, alias.name)
            elif isinstance(node, (ast.ClassDef, ast.FunctionDef)):
                self.defined.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                self.imported[node.targets[0].id] = (module, node.value.id)
            elif isinstance(node, ast.AnnAssign):
                self.defined.setdefault(node.target.id, []).append(node)

    def find(self, name: str) -> list[ast.stmt] | None:
        """Return the definitions of a name, through imports; None if it has none."""
        if name in self.defined:
            return self.defined[name]
        if name in self.imported:
            module, public = self.imported[name]
            if path_of(self.folder, f"{module}.{public}").is_file():
                return []
            return stub(self.folder, module).find(public)
        found = (stub(self.folder, module).find(name) for module in self.stars)
        return next((x for x in found if x is not None), None)


@functools.cache
def stub(folder: Path, module: str) -> Stub:
    return Stub(folder, module)


def at_run_time(parameters: list[inspect.Parameter]) -> list[tuple[str, str]]:
    return [
        (x.name, "" if x.default is x.empty else default_text(x.default)) for x in parameters
    ]  # fmt: skip


def as_written(arguments: ast.arguments) -> list[tuple[str, str]]:
    plain = [*arguments.posonlyargs, *arguments.args]
    missing = len(plain) - len(arguments.defaults)
    texts = ["" for _ in range(missing)] + [text_of(x) for x in arguments.defaults]
    found = list(zip((x.arg for x in plain), texts, strict=True))
    found += [(arguments.vararg.arg, "")] if arguments.vararg else []
    keywords = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    found += [(x.arg, "" if default is None else text_of(default)) for x, default in keywords]
    return found + ([(arguments.kwarg.arg, "")] if arguments.kwarg else [])


def text_of(default: ast.expr) -> str:
    return "..." if ast.unparse(default) == "..." else default_text(ast.literal_eval(default))


def value_of(name: str) -> Any:
    return functools.reduce(getattr, name.split("."), tf)


def test_every_file_is_python_with_the_sign(written: Path) -> None:
    files = list(written.rglob("*.pyi"))
    assert len(files) > 2000
    for file in files:
        text = file.read_text(encoding="utf-8")
        ast.parse(text)
        assert text.startswith(stubs._SIGN)
        assert "Callable[_t.Any" not in text, file  # parameters are a list or "..."


def test_every_public_name_is_found(written: Path) -> None:
    for name in public_names():
        space, _, leaf = name.rpartition(".")
        module = f"tensorflow.{space}".rstrip(".")
        assert stub(written, module).find(leaf) is not None, name
        if not space.startswith("compat"):
            module = f"tensorflow.compat.v1.{space}".rstrip(".")
            assert stub(written, module).find(leaf) is not None, name


@pytest.mark.filterwarnings("ignore")  # names that warn when they are looked up
def test_signatures_of_functions_are_those_of_run_time(written: Path) -> None:
    compared = 0
    for name in public_names():
        value = value_of(name)
        space, _, leaf = name.rpartition(".")
        nodes = stub(written, f"tensorflow.{space}".rstrip(".")).find(leaf)
        if inspect.isfunction(value):
            assert len(nodes) == 1 and isinstance(nodes[0], ast.FunctionDef), name
            assert as_written(nodes[0].args) == at_run_time(signature(value)), name
            compared += 1
    assert compared > 3000


@pytest.mark.filterwarnings("ignore")
def test_methods_of_classes_are_those_of_run_time(written: Path) -> None:
    compared = 0
    for name in public_names():
        kind = value_of(name)
        space, _, leaf = name.rpartition(".")
        if not inspect.isclass(kind):
            continue
        (node,) = stub(written, f"tensorflow.{space}".rstrip(".")).find(leaf)
        methods = {
            x.name: x for x in node.body if isinstance(x, ast.FunctionDef) and not x.decorator_list
        }
        for method, function in vars(kind).items():
            if inspect.isfunction(function) and not method.startswith("_"):
                expected = at_run_time(signature(function))
                if method in methods:  # not an overloaded one
                    assert as_written(methods[method].args) == expected, (name, method)
                    compared += 1
    assert compared > 500


@pytest.mark.parametrize(
    ("module", "name", "kind"),
    [
        ("tensorflow.python.framework.ops", "get_default_graph", ast.FunctionDef),
        ("tensorflow.python.ops.array_ops", "concat", ast.FunctionDef),
        ("tensorflow.contrib.slim", "conv2d", ast.FunctionDef),
        ("tensorflow.compat.v1.keras.layers", "Dense", ast.ClassDef),
        ("tensorflow.core.framework.graph_pb2", "GraphDef", ast.ClassDef),
        ("tensorflow.core.framework.types_pb2", "DT_FLOAT", ast.AnnAssign),
    ],
)
def test_modules_below_the_public_ones_are_found(
    written: Path, module: str, name: str, kind: type
) -> None:
    (node, *_) = stub(written, module).find(name)
    assert isinstance(node, kind)


def methods_of_messages(written: Path) -> set[str]:
    (base,) = stub(written, messages.PROTOBUF).find("Message")
    methods = {x.name for x in base.body if isinstance(x, ast.FunctionDef)}
    return methods | {"DESCRIPTOR", "Extensions"}  # no message has extensions


def test_messages_have_the_fields_of_run_time(written: Path) -> None:
    compared = 0
    for module, contents in messages.files().items():
        for name, value in contents.items():
            if messages.is_message(value):
                (node,) = stub(written, module).find(name)
                held = {
                    x.target.id if isinstance(x, ast.AnnAssign) else x.name
                    for x in node.body
                    if isinstance(x, (ast.AnnAssign, ast.FunctionDef, ast.ClassDef))
                }
                maps = {x.name for x in value.DESCRIPTOR.nested_types if x.GetOptions().map_entry}
                shown = {x for x in dir(value) if not x.startswith("_")} - maps
                shown = {x for x in shown if not x.endswith("_FIELD_NUMBER")}
                missing = shown - held - methods_of_messages(written)
                assert not {x for x in missing if not keyword.iskeyword(x)}, (module, name)
                compared += 1
    assert compared > 300


def test_the_base_of_messages_has_the_methods_of_run_time(written: Path) -> None:
    (base,) = stub(written, messages.PROTOBUF).find("Message")
    methods = {x.name for x in base.body if isinstance(x, ast.FunctionDef)}
    assert {
        x for x in dir(tf.GraphDef) if x[0].isupper() and callable(getattr(tf.GraphDef, x))
    } <= (methods)


def test_a_run_returns_the_structure_of_its_fetches(written: Path) -> None:
    (node,) = stub(written, "tensorflow").find("Session")
    runs = [x for x in node.body if isinstance(x, ast.FunctionDef) and x.name == "run"]
    returns = {ast.unparse(x.args.args[1].annotation): ast.unparse(x.returns) for x in runs}
    assert returns == {
        "_tf.Operation": "None",
        "_tf.Tensor": "_np.ndarray[_t.Any, _t.Any]",
        "_b.list[_t.Any]": "_b.list[_t.Any]",
        "_b.tuple[_t.Any, ...]": "_b.tuple[_t.Any, ...]",
        "_b.dict[_t.Any, _t.Any]": "_b.dict[_t.Any, _t.Any]",
        "_t.Any": "_t.Any",
    }


def test_mypy_knows_the_types_of_a_program(written: Path, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    program = tmp_path / "program.py"
    program.write_text(TYPED)
    (tmp_path / "mypy.ini").write_text(f"[mypy]\nmypy_path = {written}\n")
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("Success"), done.stdout + done.stderr


def test_a_folder_of_the_users_own_stays(tmp_path: Path, capsys) -> None:
    own = tmp_path / "tensorflow"
    own.mkdir()
    (own / "__init__.pyi").write_text("x: int\n")
    assert cli.main(["stubs", "--out", str(tmp_path)]) == 1
    assert "was not written by this command" in capsys.readouterr().err
    assert (own / "__init__.pyi").read_text() == "x: int\n"


def test_stubs_replace_earlier_ones(tmp_path: Path) -> None:
    stubs._write(
        {"tensorflow/__init__.pyi": stubs._SIGN, "tensorflow/old/__init__.pyi": ""},
        tmp_path / "tensorflow",
    )
    assert stubs._in_the_way(tmp_path / "tensorflow") is None
    stubs._write({"tensorflow/__init__.pyi": stubs._SIGN}, tmp_path / "tensorflow")
    assert [x.name for x in (tmp_path / "tensorflow").iterdir()] == ["__init__.pyi"]
    assert [x.name for x in tmp_path.iterdir()] == ["tensorflow"]


def test_an_installed_package_of_stubs_is_named_as_checkers_expect(
    written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
) -> None:
    texts = {
        file.relative_to(written).as_posix(): file.read_text(encoding="utf-8")
        for file in (written / "tensorflow" / "raw_ops").rglob("*.pyi")
    }
    texts["tensorflow/__init__.pyi"] = f"{stubs._SIGN}\nclass Tensor: ...\n"
    monkeypatch.setattr("stillflow.cli.stubbing.modules.Stubs.files", lambda self: texts)
    monkeypatch.setattr("stillflow.cli.stubs.sysconfig.get_path", lambda name: str(tmp_path))
    assert cli.main(["stubs", "--installed"]) == 0
    package = tmp_path / "tensorflow-stubs"
    assert f"{len(texts)} stub files in {package}" in capsys.readouterr().out
    assert (package / "raw_ops" / "__init__.pyi").is_file()
    assert cli.main(["stubs", "--installed"]) == 0  # replaces its own
    assert [x.name for x in tmp_path.iterdir()] == ["tensorflow-stubs"]
