"""``StringIO`` and ``cStringIO``, which took bytes and text alike, and ``io``."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from io import *
from io import BytesIO as BytesIO
from typing import Any


class StringIO:  # type: ignore[no-redef]
    """A file in memory: of text, until bytes are written into it.

    Args:
      initial_value: bytes or text that it begins with.
      newline: what ends lines of text.
    """

    def __init__(self, initial_value: Any = None, newline: str | None = "\n") -> None:
        self._file: Any
        if isinstance(initial_value, (bytes, bytearray, memoryview)):
            self._file = io.BytesIO(initial_value)
        else:
            self._file = io.StringIO(initial_value or "", newline)

    def write(self, data: Any) -> int:
        """Write bytes or text; the first bytes make all that is written bytes."""
        of_text = isinstance(self._file, io.StringIO)
        if isinstance(data, str):
            return self._file.write(data if of_text else data.encode())
        if of_text:
            self._turn_into_bytes()
        return self._file.write(data)

    def _turn_into_bytes(self) -> None:
        text = self._file.getvalue()
        at = len(text[: self._file.tell()].encode())
        self._file = io.BytesIO(text.encode())
        self._file.seek(at)

    def writelines(self, lines: Iterable[Any]) -> None:
        """Write one after the other."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        if name == "_file":  # of a copy that is not set up yet
            raise AttributeError(name)
        return getattr(self._file, name)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._file)

    def __next__(self) -> Any:
        return next(self._file)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *exception: Any) -> None:
        self._file.close()
