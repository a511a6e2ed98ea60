"""`python -m stillflow build-op`: one command from a source to a library."""

from __future__ import annotations

import shutil

import pytest

import stillflow as tf
from stillflow import cli
from stillflow.cli import build_op

SOURCE = """
#include "tensorflow/core/framework/op.h"
#include "tensorflow/core/framework/op_kernel.h"
using namespace tensorflow;
REGISTER_OP("BuiltByCommand").Input("x: float").Output("y: float");
class BuiltByCommand : public OpKernel {
 public:
  using OpKernel::OpKernel;
  void Compute(OpKernelContext* context) override {
    Tensor* y = nullptr;
    OP_REQUIRES_OK(context, context->allocate_output(0, TensorShape({}), &y));
    y->scalar<float>()() = context->input(0).scalar<float>()() + ADDED;
  }
};
REGISTER_KERNEL_BUILDER(Name("BuiltByCommand").Device(DEVICE_CPU), BuiltByCommand);
"""
needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler"
)


@needs_compiler
def test_a_source_becomes_a_library_that_loads(tmp_path) -> None:
    source, target = tmp_path / "op.cc", tmp_path / "op.so"
    source.write_text(SOURCE)
    assert cli.main(["build-op", str(source), "-o", str(target), "-DADDED=3", "-O0"]) == 0
    ops = tf.load_op_library(str(target))
    with tf.Session() as session:
        assert session.run(ops.built_by_command(2.0)) == 5


@needs_compiler
def test_errors_are_the_compilers_first_ones_with_hints(tmp_path, capfd) -> None:
    source = tmp_path / "op.cc"
    source.write_text('#include "tensorflow/core/no_such.h"\nint f() { return undeclared; }\n')
    assert build_op.main([str(source), "-o", str(tmp_path / "op.so")])
    told = capfd.readouterr().err
    assert "error: tensorflow/core/no_such.h: No such file" in told
    assert "hint: Stillflow has no header tensorflow/core/no_such.h." in told
    assert not (tmp_path / "op.so").exists()


def test_a_missing_file_and_a_missing_compiler_are_named(tmp_path, capsys, monkeypatch) -> None:
    assert build_op.main([str(tmp_path / "none.cc")]) == 2
    assert "there is no file" in capsys.readouterr().err
    source = tmp_path / "op.cc"
    source.touch()
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    assert build_op.main([str(source)]) == 1
    assert "$CXX can name one" in capsys.readouterr().err


def test_cuda_files_are_compiled_first_and_linked(tmp_path, capsys, monkeypatch) -> None:
    monkeypatch.setenv("CXX", "c++")
    monkeypatch.setenv("NVCC", "nvcc")
    sources = [tmp_path / "op.cc", tmp_path / "op.cu.cc"]
    for source in sources:
        source.touch()
    assert build_op.main([*map(str, sources), "--print", "-arch=sm_90"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith("nvcc -c -x cu") and "-arch=sm_90" in first
    assert second.startswith("c++ -shared") and "0.o" not in first.split("-o")[0]
    assert f"-o {tmp_path / 'op.so'}" in second


@pytest.mark.parametrize(
    "told, hint",
    [
        ("fatal error: Eigen/Dense: No such file or directory", "stillflow[ops]"),
        ("error: #error CUB requires at least C++17", "-std=c++17"),
        ("nvcc fatal   : Unsupported gpu architecture 'compute_35'", "dropped compute_35"),
        ('error: identifier "__shfl_xor" is undefined', "__shfl_xor_sync"),
        ("op.cc:3: undefined reference to `tensorflow::Foo()'", "missing"),
        ("fatal error: cuda_runtime.h: No such file or directory", "CUDA_HOME"),
    ],
)
def test_known_errors_have_hints(told: str, hint: str) -> None:
    (found,) = build_op.hints(told)
    assert hint in found


def test_other_errors_have_none() -> None:
    assert build_op.hints("op.cc:3:1: error: expected ';'") == []
