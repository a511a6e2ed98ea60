"""tf.resource_loader: files next to a program or in this package."""

from __future__ import annotations

import inspect
import os
import sys

from stillflow._export import export

_ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@export("resource_loader.load_resource")
def load_resource(path: str) -> bytes:
    """Return the contents of a file of this package.

    Args:
      path: relative to the package.

    Raises:
      OSError: it cannot be read.
    """
    with open(os.path.abspath(os.path.join(_ROOT, path)), "rb") as file:
        return file.read()


@export("resource_loader.get_data_files_path")
def get_data_files_path() -> str:
    """Return the folder of the file that calls this function."""
    return os.path.dirname(inspect.getfile(sys._getframe(1)))


@export("resource_loader.get_root_dir_with_all_resources")
def get_root_dir_with_all_resources() -> str:
    """Return the topmost folder inside of Bazel's runfiles, without these the caller's own."""
    folder = os.path.dirname(inspect.getfile(sys._getframe(1)))
    inside, candidate = "", folder
    while ".runfiles" not in os.path.basename(candidate):
        parent = os.path.dirname(candidate)
        if parent == candidate:
            return folder
        inside, candidate = candidate, parent
    return inside or folder


@export("resource_loader.get_path_to_datafile")
def get_path_to_datafile(path: str) -> str:
    """Return a path that is given relative to the folder of the file that calls this function."""
    return os.path.join(os.path.dirname(inspect.getfile(sys._getframe(1))), path)


@export("resource_loader.readahead_file_path")
def readahead_file_path(path: str, readahead: str = "128M") -> str:
    """Return the path; files are read as the program reads them."""
    return path
