"""Old build commands, unchanged: compilers, standards of C++, make, CMake, setup.py."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import stillflow as tf

from .building import SOURCES, need_compiler

SOURCE = os.path.join(SOURCES, "built.cc")
MAKEFILE = """
PYTHON = python
TF_CFLAGS := $(shell ${PYTHON} -c 'import tensorflow as tf; \\
  print(" ".join(tf.sysconfig.get_compile_flags()))')
TF_LFLAGS := $(shell ${PYTHON} -c 'import tensorflow as tf; \\
  print(" ".join(tf.sysconfig.get_link_flags()))')

built.so: built.cc
\t$(CXX) -std=c++11 -shared built.cc -o $@ -fPIC $(TF_CFLAGS) $(TF_LFLAGS) -DOPERATION=BuiltByMake
"""
CMAKE_LISTS = """
cmake_minimum_required(VERSION 3.5)
project(built CXX)
set(CMAKE_CXX_STANDARD 14)
execute_process(COMMAND python -c
  "import tensorflow as tf; print(tf.sysconfig.get_include()); print(tf.sysconfig.get_lib()); \\
print(tf.__cxx11_abi_flag__)"
  OUTPUT_VARIABLE ANSWERS OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REPLACE "\\n" ";" ANSWERS "${ANSWERS}")
list(GET ANSWERS 0 TF_INC)
list(GET ANSWERS 1 TF_LIB)
list(GET ANSWERS 2 TF_ABI)
find_library(TF_FRAMEWORK NAMES tensorflow_framework libtensorflow_framework.so.1
  PATHS "${TF_LIB}" NO_DEFAULT_PATH)
if(NOT TF_FRAMEWORK)
  message(FATAL_ERROR "no libtensorflow_framework in ${TF_LIB}")
endif()
add_library(built SHARED built.cc)
set_target_properties(built PROPERTIES PREFIX "")
target_include_directories(built PRIVATE "${TF_INC}")
target_compile_definitions(built PRIVATE _GLIBCXX_USE_CXX11_ABI=${TF_ABI} OPERATION=BuiltByCmake)
target_link_libraries(built "${TF_FRAMEWORK}")
"""
SETUP = """
import os
import setuptools
import tensorflow as tf

folders = [tf.sysconfig.get_include(), tf.sysconfig.get_include() + "/external/nsync/public"]
assert all(map(os.path.exists, folders)), folders
setuptools.setup(
    name="built",
    ext_modules=[
        setuptools.Extension(
            "built.kernels", sources=["built.cc"], language="c++", include_dirs=folders,
            libraries=["tensorflow_framework"], library_dirs=[tf.sysconfig.get_lib()],
            define_macros=[("OPERATION", "BuiltBySetup")],
            extra_compile_args=["-std=c++11", "-O0"] + tf.sysconfig.get_compile_flags(),
        )
    ],
)
"""
SITE = "import stillflow\nstillflow.install()\n"


def check(path: Path | str, name: str) -> None:
    """Run the operation of a library."""
    wrapper = getattr(tf.load_op_library(str(path)), name)
    with tf.Graph().as_default(), tf.Session() as session:
        y, told = wrapper([1.0, 2.0, 3.0], weights=[2, 5])
        assert y.shape == [3]
        numbers, text = session.run([y, told])
        assert numbers.tolist() == [2, 10, 6] and text == b"[3] of 2"
        assert session.run(wrapper([4, 5])[0]).tolist() == [4, 10]
        with pytest.raises(ValueError, match="Shape must be rank 1 but is rank 0"):
            wrapper(1.0)
        with pytest.raises(tf.errors.InvalidArgumentError, match="no weights for nothing"):
            session.run(wrapper([1.0], weights=[], name="nothing")[0])


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
@pytest.mark.parametrize("standard, abi", [(11, 0), (14, 1), (17, 0), (20, 1)])
def test_a_source_compiles_by_every_standard(
    compiler: str, standard: int, abi: int, tmp_path: Path
) -> None:
    if not shutil.which(compiler):
        pytest.skip(f"there is no {compiler}")
    name = f"Built{standard}By{compiler[0].upper()}"
    command = [
        compiler, f"-std=c++{standard}", "-shared", "-fPIC", "-O0", "-Wall", "-Werror", SOURCE,
        "-o", str(tmp_path / "built.so"), f"-DOPERATION={name}",
        *tf.sysconfig.get_compile_flags(), "-U_GLIBCXX_USE_CXX11_ABI",
        f"-D_GLIBCXX_USE_CXX11_ABI={abi}", *tf.sysconfig.get_link_flags(),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    check(tmp_path / "built.so", f"built{standard}_by_{compiler[0]}")


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make a folder with the source, where `python` serves tensorflow."""
    need_compiler()
    site, commands = tmp_path / "site", tmp_path / "bin"
    for folder in (site, commands):
        folder.mkdir()
    (site / "sitecustomize.py").write_text(SITE)
    python = commands / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(site), *filter(None, sys.path)]))
    monkeypatch.setenv("PATH", str(commands), prepend=os.pathsep)
    shutil.copy(SOURCE, tmp_path / "built.cc")
    return tmp_path


def run(folder: Path, *command: str) -> None:
    if not shutil.which(command[0]):
        pytest.skip(f"there is no {command[0]}")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]


def test_a_makefile_finds_the_flags(project: Path) -> None:
    (project / "Makefile").write_text(MAKEFILE)
    run(project, "make")
    check(project / "built.so", "built_by_make")


def test_a_cmake_project_finds_headers_and_library(project: Path) -> None:
    (project / "CMakeLists.txt").write_text(CMAKE_LISTS)
    run(project, "cmake", "-S", ".", "-B", "build")
    run(project, "cmake", "--build", "build")
    check(project / "build" / "built.so", "built_by_cmake")


def test_a_setup_script_builds_an_extension(project: Path) -> None:
    pytest.importorskip("setuptools")
    (project / "setup.py").write_text(SETUP)
    run(project, "python", "setup.py", "-q", "build_ext", "--build-lib", "out")
    (path,) = (project / "out" / "built").glob("kernels*")
    check(path, "built_by_setup")
