"""The distribution ``tensorflow`` 1.15.5, for those who look at its metadata."""

from __future__ import annotations

import importlib.metadata
from pathlib import PurePosixPath
from typing import Any


class TensorFlowDistribution(importlib.metadata.Distribution):
    """A distribution with a name and a version, and no files."""

    def __init__(self, name: str) -> None:
        self._name = name

    def read_text(self, filename: str) -> str | None:
        """Return the metadata, None for any other file."""
        if filename != "METADATA":
            return None
        import stillflow

        return f"Metadata-Version: 2.1\nName: {self._name}\nVersion: {stillflow.__version__}\n"

    def locate_file(self, path: Any) -> Any:
        """Return a path as it is: there are no files."""
        return PurePosixPath(path)
