"""Ops on whole files: ReadFile, WriteFile, MatchingFiles."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files import gfile
from stillflow.files.failures import os_errors
from stillflow.files.filesystem import open_file
from stillflow.files.matching import matching
from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.dims import shape_text
from stillflow.graph.export import export
from stillflow.graph.node import Node
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.io.stored import path_in
from stillflow.ops.strings.kernels import strings_of

read_file_op = op(
    "ReadFile(filename: string) -> contents: string", effect="reads files", differentiable=False
)
write_file_op = op(
    """
    WriteFile(filename: string, contents: string)
    flags: stateful
""",
    effect="writes files",
    differentiable=False,
)
matching_files_op = op(
    "MatchingFiles(pattern: string) -> filenames: string",
    effect="reads files",
    differentiable=False,
)


def _scalar(value: Any, what: str) -> None:
    if value.ndim:
        raise errors.invalid_argument(
            f"{what} tensor must be scalar, but had shape: {shape_text(value.shape)}"
        )


@read_file_op.shape
def read_file_shape(node: Node) -> OutputDims:
    if not node.planning:
        dims_lib.with_rank(node.dims(0), 0)
    return ()


@read_file_op.kernel
def read_file_kernel(node: Node) -> Kernel:
    def read(filename: Any) -> Any:
        _scalar(filename, "Input filename")
        path = path_in(filename)
        with open_file(path) as file, os_errors(path):
            return strings_of([file.read()], ())

    return read


@write_file_op.shape
def write_file_shape(node: Node) -> OutputDims:
    if not node.planning:
        dims_lib.with_rank(node.dims(0), 0)
        dims_lib.with_rank(node.dims(1), 0)
    return []


@write_file_op.kernel
def write_file_kernel(node: Node) -> Kernel:
    def write(filename: Any, contents: Any) -> None:
        _scalar(filename, "Input filename")
        _scalar(contents, "Contents")
        path = path_in(filename)
        gfile.recursive_create_dir_v2(path.rpartition("/")[0])
        with open_file(path, "wb") as file, os_errors(path):
            file.write(contents[()])
            file.flush()

    return write


@matching_files_op.shape
def matching_files_shape(node: Node) -> OutputDims:
    if not node.planning:
        dims_lib.with_rank_at_most(node.dims(0), 1)
    return (None,)


@matching_files_op.kernel
def matching_files_kernel(node: Node) -> Kernel:
    def match(pattern: Any) -> Array:
        if pattern.ndim > 1:
            raise errors.invalid_argument(
                "Input patterns tensor must be scalar or vector, but had shape: "
                f"{shape_text(pattern.shape)}"
            )
        names = [name for each in pattern.reshape(-1) for name in matching(path_in(np.array(each)))]
        found = sorted(name.encode(errors="surrogateescape") for name in names)
        return strings_of(found, (len(found),))

    return match


@export("io.read_file", "read_file")
def read_file(filename: Any, name: str | None = None) -> Tensor:
    """Return the contents of a file.

    Args:
      filename: a string.
      name: of the operation.

    Returns:
      A string.

    Example:
      >>> with tf.gfile.GFile("note.txt", "w") as file: file.write("text")
      >>> tf.Session().run(tf.read_file("note.txt"))
      b'text'
    """
    return read_file_op(filename, name=name)


@export("io.write_file", "write_file")
def write_file(filename: Any, contents: Any, name: str | None = None) -> Operation:
    """Return the operation that writes a file, and makes the directories that it is in.

    Args:
      filename: a string.
      contents: a string.
      name: of the operation.
    """
    return write_file_op(filename, contents, name=name)


@export("io.matching_files", "matching_files")
def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """Return the names of the files that match, sorted.

    Args:
      pattern: a pattern or a vector of them, as `tf.io.gfile.glob` takes them.
      name: of the operation.

    Returns:
      Strings, a vector.
    """
    return matching_files_op(pattern, name=name)
