"""Libraries: those that load, those that do not, and what graphs say without them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

import pytest

import stillflow as tf
from stillflow.ops.custom import interface

from .building import SOURCES, compiled, compiler, library, need_compiler


def test_the_same_path_gives_the_same_module() -> None:
    path = compiled(tf, "guide")
    ops = tf.load_op_library(path)
    assert tf.load_op_library(path) is ops
    assert sys.modules[ops.__name__] is ops
    assert [op.name for op in ops.OP_LIST.op][:2] == ["KeepOne", "AddLists"]


def test_a_copy_of_a_library_adds_nothing(tmp_path) -> None:
    ops = library(tf, "guide")
    copy = tf.load_op_library(shutil.copy(compiled(tf, "guide"), tmp_path / "copy.so"))
    with tf.Session() as session:
        assert session.run(copy.keep_one([1, 2])).tolist() == [1, 0]
    assert copy is ops
    assert sys.modules[ops.__name__] is ops


def built(tmp_path, text: str, name: str = "op") -> str:
    need_compiler()
    source, target = tmp_path / f"{name}.cc", tmp_path / f"{name}.so"
    source.write_text(text)
    command = ["c++", "-shared", "-fPIC", "-O0", str(source), "-o", str(target)]
    subprocess.run([*command, *tf.sysconfig.get_compile_flags()], check=True)
    return str(target)


def test_a_program_lists_the_operations_that_it_registers(tmp_path) -> None:
    need_compiler()
    program = str(tmp_path / "program")
    source = os.path.join(SOURCES, "registry.cc")
    command = [compiler(), "-O0", "-std=c++11", source, "-o", program]
    flags = [*tf.sysconfig.get_compile_flags(), *tf.sysconfig.get_link_flags(), "-pthread"]
    subprocess.run(command + flags, check=True)
    done = subprocess.run([program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        "Op<name=FirstListed; signature= -> ; attr=n:int >= 2 = 3; is_stateful=true>",
        "Op<name=SecondListed; signature=x:T -> y:float; attr=T:{int32, float}>",
    ]


def test_another_signature_of_a_known_name_is_an_error(tmp_path) -> None:
    path = built(
        tmp_path,
        '#include "tensorflow/core/framework/op.h"\nREGISTER_OP("MatMul").Input("a: float");',
    )
    with pytest.raises(tf.errors.AlreadyExistsError, match="Op with name MatMul"):
        tf.load_op_library(path)


def test_a_library_for_tensorflow_is_recognised_before_its_code_runs(tmp_path) -> None:
    path = built(
        tmp_path,
        "namespace tensorflow { struct OpKernel { OpKernel(); }; OpKernel::OpKernel() {} }\n"
        "static int crash = *(volatile int*)0;",
    )
    with pytest.raises(tf.errors.UnimplementedError, match=r"op\.so holds.*build-op"):
        tf.load_op_library(path)


def test_another_library_has_no_operations(tmp_path) -> None:
    path = built(tmp_path, "static int crash = *(volatile int*)0; int f() { return 1; }")
    with pytest.raises(tf.errors.InvalidArgumentError, match="registers no operations"):
        tf.load_op_library(path)


def test_a_library_of_another_version_is_to_be_compiled_again(tmp_path, monkeypatch) -> None:
    path = shutil.copy(compiled(tf, "text"), tmp_path / "old.so")
    monkeypatch.setattr(interface, "VERSION", 99)
    with pytest.raises(tf.errors.FailedPreconditionError, match="another version of Stillflow"):
        tf.load_op_library(path)


@pytest.mark.parametrize("content", [b"", b"no library at all", b"\x7fELF stillflow_op_library"])
def test_files_that_are_no_libraries_are_not_found(content, tmp_path) -> None:
    path = tmp_path / "ops.so"
    path.write_bytes(content)
    with pytest.raises(tf.errors.NotFoundError, match=r"ops\.so"):
        tf.load_op_library(str(path))
    with pytest.raises(tf.errors.NotFoundError, match="No such file or directory"):
        tf.load_op_library(str(tmp_path / "none.so"))


PROGRAM = """
import sys
import stillflow as tf
graph = tf.GraphDef.FromString(open(sys.argv[1], "rb").read())
try:
    tf.import_graph_def(graph, name="")
except tf.errors.NotFoundError as error:
    assert "tf.load_op_library" in error.message and "KeepOne" in error.message, error.message
    print("missing")
tf.load_op_library(sys.argv[2])
tf.import_graph_def(graph, name="")
print(tf.Session().run("y:0", {"x:0": [1, 2, 3]}).tolist())
"""


def test_a_frozen_graph_names_the_missing_operation_until_its_library_is_loaded(tmp_path) -> None:
    ops = library(tf, "guide")
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None], name="x")
        ops.keep_one(x, place=1, name="y")
    path = tmp_path / "graph.pb"
    path.write_bytes(graph.as_graph_def().SerializeToString())
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), compiled(tf, "guide")],
        capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.stdout.splitlines() == ["missing", "[0.0, 2.0, 0.0]"], done.stderr


def test_a_saved_model_runs(tmp_path) -> None:
    ops = library(tf, "state")
    folder = str(tmp_path / "model")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None])
        y, runs = ops.running_sum(x)
        tf.saved_model.simple_save(session, folder, {"x": x}, {"y": y, "runs": runs})
    predict = tf.contrib.predictor.from_saved_model(folder)
    assert predict({"x": [1, 2]})["y"].tolist() == [1, 2]
    again = predict({"x": [1, 2]})
    assert (again["y"].tolist(), int(again["runs"])) == ([2, 4], 2)
