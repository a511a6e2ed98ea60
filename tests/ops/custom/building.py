"""Libraries of operations for tests: each source is compiled once and kept by its content.

Golden programs compile with TensorFlow's own headers where they are recorded, so this module also
runs on Python 3.7.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "sources")


def compiler():
    """Return the C++ compiler, or None."""
    return os.environ.get("CXX") or next(
        filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None
    )


def need_compiler():
    """Skip a test where nothing can compile C++."""
    if compiler() is None:
        import pytest

        pytest.skip("there is no C++ compiler")


def compiled(tf, name, *flags):
    """Compile a source of this folder by the flags of `tf.sysconfig`; returns the library's path.

    Args:
      tf: TensorFlow, or what serves its name.
      name: the source, without its ending.
      flags: more flags for the compiler.
    """
    need_compiler()
    flags = ["-O0", "-DNDEBUG", "-std=c++14"] + list(flags)
    return compiled_of(tf, name, [os.path.join(SOURCES, name + ".cc")], flags)


def compiled_of(tf, name, sources, flags):
    """Compile any sources into a library; returns its path."""
    options = ["-shared", "-fPIC", "-O2", "-w", "-std=c++11"] + list(flags)
    options += tf.sysconfig.get_compile_flags()
    key = _key(sources, options, tf.sysconfig.get_include())
    target = os.path.join(_cache(), name + "-" + key + ".so")
    if not os.path.exists(target):
        unfinished = target + "." + str(os.getpid())
        command = [compiler()] + options + list(sources) + ["-o", unfinished]
        command += tf.sysconfig.get_link_flags()
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise AssertionError(" ".join(command) + "\n" + done.stdout)
        os.replace(unfinished, target)
    return target


def library(tf, name):
    """Return the module of the operations of a source."""
    return tf.load_op_library(compiled(tf, name))


def _cache():
    folder = os.path.join(tempfile.gettempdir(), "stillflow-custom-ops-" + _user())
    if not os.path.isdir(folder):
        os.makedirs(folder, 0o700, exist_ok=True)
    return folder


def _user():
    return str(os.getuid()) if hasattr(os, "getuid") else "tests"


def _key(sources, options, include):
    """Return a checksum of all that a library is made of."""
    made = hashlib.sha256(repr((sys.version_info[0], options)).encode())
    ours = os.path.join(include, "stillflow")
    headers = sorted(os.listdir(ours)) if os.path.isdir(ours) else []
    for path in list(sources) + [os.path.join(ours, header) for header in headers]:
        with open(path, "rb") as file:
            made.update(file.read())
    return made.hexdigest()[:16]
