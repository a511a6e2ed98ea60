"""Libraries of compiled operations, which only TensorFlow itself can load."""

from __future__ import annotations

import os
from typing import Any

from stillflow import errors
from stillflow.graph.export import export


def _refuse(path: Any) -> None:
    """Raise an error for a library: missing, or built for TensorFlow.

    Raises:
      tf.errors.NotFoundError, tf.errors.UnimplementedError: always one of these.
    """
    name = os.fspath(path)
    if not os.path.exists(name):
        raise errors.not_found(f"{name}: cannot open shared object file: No such file or directory")
    raise errors.unimplemented(
        f"{name} holds operations compiled for TensorFlow, which Stillflow cannot run. Write them "
        "as op cards, or with tf.py_func and tf.custom_gradient."
    )


@export("load_op_library")
def load_op_library(library_filename: Any) -> Any:
    """Raise an error: libraries of operations are not supported.

    Args:
      library_filename: the library's path.

    Raises:
      tf.errors.NotFoundError: if it is not there.
      tf.errors.UnimplementedError: if it is.
    """
    _refuse(library_filename)


@export("load_file_system_library")
def load_file_system_library(library_filename: Any) -> None:
    """Raise an error: libraries of file systems are not supported; see `load_op_library`."""
    _refuse(library_filename)


@export("load_library")
def load_library(library_location: Any) -> None:
    """Raise an error for a library, or those of a folder; see `load_op_library`."""
    _refuse(library_location)
