"""Compile operations written in C++ or CUDA into a library for ``tf.load_op_library``.

Hints follow the compiler's errors: known incompatibilities of old sources with new compilers.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence

from stillflow.cli import COMMANDS
from stillflow.platform.sysconfig import get_compile_flags, get_link_flags

_CUDA = (".cu", ".cu.cc", ".cu.cpp")
_MOST_ERRORS = 8
_HINTS: tuple[tuple[str, str], ...] = (
    (
        r"fatal error: '?((?:tensorflow|third_party)/[\w./-]+)'?(?: file not found|: No such)",
        "Stillflow has no header {0}. docs/custom_operations.md lists the supported API.",
    ),
    (
        r"fatal error: '?((?:Eigen|unsupported)/[\w./-]+)'?(?: file not found|: No such)",
        'Install Eigen: pip install "stillflow[ops]".',
    ),
    (
        r"mini_eigen\.h|class Eigen::TensorMap<[^>]*>[^']*' has no member",
        'These sources use more of Eigen than is here: pip install "stillflow[ops]".',
    ),
    (
        r"fatal error: '?cuda(?:_runtime)?\.h",
        "The CUDA toolkit is not among the include folders: set CUDA_HOME, or add -I.",
    ),
    (
        r"CUB requires at least C\+\+17|libcu\+\+ requires at least C\+\+17",
        "The CUB of this CUDA toolkit needs C++17: add -std=c++17.",
    ),
    (
        r"[Uu]nsupported gpu architecture '(\w+)'|Unknown option '-gencode.*(compute_\d+)",
        "This nvcc has dropped {0}: name an architecture of your GPU, such as -arch=native.",
    ),
    (
        r"identifier \"(__shfl\w*|__ballot|__any|__all)\" is undefined",
        "{0} is gone since CUDA 9: use {0}_sync with the mask 0xffffffff as its first argument.",
    ),
    (
        r"ISO C\+\+17 does not allow|'(?:auto_ptr|random_shuffle|bind2nd|unary_function)' is not a",
        "These sources are of before C++17: add -std=c++14.",
    ),
    (
        r"undefined (?:reference to|symbol:?) [`']?tensorflow::",
        "A source file is missing, or the function is not part of the supported API.",
    ),
)


def main(arguments: list[str]) -> int:
    """Compile and link; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m stillflow build-op",
        description=f"{COMMANDS['build-op']}. Other options go to the compiler: -D, -I, -l, -O3.",
    )
    parser.add_argument("sources", nargs="+", help="files of C++ (.cc, .cpp) or CUDA (.cu, .cu.cc)")
    parser.add_argument("-o", dest="output", help="the library; by default named as the first file")
    parser.add_argument("--print", action="store_true", help="print the commands, run nothing")
    options, flags = parser.parse_known_args(arguments)
    missing = [source for source in options.sources if not os.path.isfile(source)]
    if missing:
        print(f"build-op: there is no file {missing[0]}", file=sys.stderr)
        return 2
    output = options.output or f"{options.sources[0].partition('.')[0]}.so"
    with tempfile.TemporaryDirectory() as folder:
        try:
            commands = _commands(options.sources, output, flags, folder)
        except FileNotFoundError as error:
            print(f"build-op: {error}", file=sys.stderr)
            return 1
        for command in commands:
            if options.print:
                print(shlex.join(command))
                continue
            status = _run(command)
            if status:
                return status
    return 0


def _commands(
    sources: Sequence[str], output: str, flags: Sequence[str], folder: str
) -> list[list[str]]:
    """Return the commands that compile files of CUDA, and then all others with their objects.

    FileNotFoundError without a compiler.
    """
    commands, rest = [], []
    for number, source in enumerate(sources):
        if not source.endswith(_CUDA):
            rest.append(source)
            continue
        target = os.path.join(folder, f"{number}.o")
        commands.append(
            [_tool("NVCC", "nvcc"), "-c", "-x", "cu", source, "-o", target, *get_compile_flags(),
             "-DGOOGLE_CUDA=1", "--expt-relaxed-constexpr", "-Xcompiler", "-fPIC", "-O2", *flags]
        )  # fmt: skip
        rest.append(target)
    with_cuda = ["-DGOOGLE_CUDA=1", *_cuda_flags()] if commands else []
    commands.append(
        [_tool("CXX", "c++", "g++", "clang++"), "-shared", "-fPIC", "-O2", *rest, "-o", output,
         *get_compile_flags(), *with_cuda, *flags, *get_link_flags(),
         *(["-lcudart"] if with_cuda else [])]
    )  # fmt: skip
    return commands


def _tool(variable: str, *names: str) -> str:
    if os.environ.get(variable):
        return os.environ[variable]
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        raise FileNotFoundError(
            f"no compiler: none of {', '.join(names)} is installed; ${variable} can name one"
        )
    return found


def _cuda_flags() -> list[str]:
    home = os.environ.get("CUDA_HOME") or "/usr/local/cuda"
    return [f"-I{home}/include", f"-L{home}/lib64"] if os.path.isdir(home) else []


def _run(command: Sequence[str]) -> int:
    """Run a compiler; show its first errors, and what to do about those that are known."""
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    told = done.stdout + done.stderr
    if done.returncode == 0:
        return 0
    lines = told.splitlines()
    errors = [line for line in lines if re.search(r"\berror\b|undefined reference", line)]
    print(shlex.join(command), file=sys.stderr)
    for line in errors[:_MOST_ERRORS] or lines[-_MOST_ERRORS:]:
        print(f"  {line}", file=sys.stderr)
    if len(errors) > _MOST_ERRORS:
        print(f"  ... and {len(errors) - _MOST_ERRORS} more errors", file=sys.stderr)
    for hint in hints(told):
        print(f"hint: {hint}", file=sys.stderr)
    return done.returncode


def hints(told: str) -> list[str]:
    """Return what to do about the known errors in a compiler's output."""
    found = []
    for pattern, hint in _HINTS:
        match = re.search(pattern, told)
        if match:
            groups = [group for group in match.groups() if group]
            found.append(hint.format(*groups))
    return found
