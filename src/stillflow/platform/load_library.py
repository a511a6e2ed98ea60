"""Libraries of operations written in C++, compiled with the headers that `tf.sysconfig` names."""

from __future__ import annotations

import os
from typing import Any, NoReturn

from stillflow import errors
from stillflow.graph.export import export


@export("load_op_library")
def load_op_library(library_filename: Any) -> Any:
    """Load a library of operations.

    The library's code runs in this process, as any program does. A graph or a model that was loaded
    from a file never loads one.

    Args:
      library_filename: the library's path.

    Returns:
      A module with a function for each operation that the library registers.

    Raises:
      tf.errors.NotFoundError: if the file is missing, or the system cannot load it.
      tf.errors.UnimplementedError: if it was compiled for TensorFlow itself. Compile its sources
        again, with `python -m stillflow build-op` or with the flags of `tf.sysconfig`.
      tf.errors.AlreadyExistsError: if it registers an operation of a name that is taken.
    """
    from stillflow.ops.custom.library import load

    return load(library_filename).module


def _unsupported(path: Any, holds: str) -> NoReturn:
    name = os.fspath(path)
    if not os.path.exists(name):
        raise errors.not_found(f"{name}: cannot open shared object file: No such file or directory")
    raise errors.unimplemented(
        f"{name}: Stillflow cannot load {holds}; a library of operations is loaded by "
        "tf.load_op_library"
    )


@export("load_file_system_library")
def load_file_system_library(library_filename: Any) -> None:
    """Raise an error: libraries of file systems are not supported.

    Raises:
      tf.errors.NotFoundError: if the library is missing.
      tf.errors.UnimplementedError: if it exists.
    """
    _unsupported(library_filename, "libraries that add a file system")


@export("load_library")
def load_library(library_location: Any) -> None:
    """Raise an error: libraries of kernels for TensorFlow are not supported.

    Raises:
      tf.errors.NotFoundError: if the library or folder is missing.
      tf.errors.UnimplementedError: if it exists.
    """
    _unsupported(library_location, "libraries of kernels without operations")
