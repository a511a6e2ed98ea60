"""Messages of `.proto` files that TensorFlow's Python package does not have."""

from __future__ import annotations

from collections.abc import Mapping
from threading import RLock
from typing import Any

from stillflow import protos
from stillflow.protos.classes import file_names
from stillflow.protos.schema import Table


class OtherFiles:
    """The files of a table, built with TensorFlow's messages when they are asked for.

    Where a program brings modules of these files, those stay as they are.

    Args:
      name: of the table, in this package.
    """

    def __init__(self, name: str) -> None:
        self._table = Table((name,))
        self._files: dict[str, Mapping[str, Any]] = {}
        self._lock = RLock()

    def __contains__(self, path: str) -> bool:
        return path in self._table.sections

    def __call__(self, path: str) -> Mapping[str, Any]:
        """Return the contents of a file, as those of a generated module."""
        with self._lock:
            if path not in self._files:
                for each in self._table.imports[path]:
                    if each in self._table.sections:
                        self(each)
                data = self._table.descriptor(path).SerializeToString()
                self._files[path] = file_names(protos.add(data))
            return self._files[path]


serving_file = OtherFiles("serving.txt")  # of servers, which share gRPC's health service
distributed_file = OtherFiles("distributed.txt")
