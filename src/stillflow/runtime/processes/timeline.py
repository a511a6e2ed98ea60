"""Rank 0's timeline of collective operations, in the format of Chrome's trace viewer."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from typing import Any, TextIO


class Timeline:
    """A file of events: one row for each tensor, with its negotiation and its operation.

    Args:
      path: the file; "" for none yet.
      marks: whether it has a mark where the next operations are called.
    """

    def __init__(self, path: str = "", marks: bool = False) -> None:
        self._file: TextIO | None = None
        self._marks = False
        self._rows: dict[str, int] = {}
        self._open: dict[str, int] = {}  # events that have begun, by row
        self._lock = threading.Lock()
        self._start = time.monotonic()
        if path:
            self.start(path, marks)

    def start(self, path: str, marks: bool = False) -> None:
        """Begin to write; a file that was being written is finished first."""
        self.stop()
        with self._lock:
            self._marks = marks
            self._rows.clear()
            self._open.clear()
            self._file = open(path, "w", encoding="utf-8")  # noqa: SIM115
            self._file.write("[\n")

    def stop(self) -> None:
        """Finish the file, if there is one."""
        with self._lock:
            if self._file is not None:
                self._file.write("{}]\n")
                self._file.close()
                self._file = None

    def begin(self, name: str, event: str) -> None:
        """Note that something begins for a tensor."""
        with self._lock:
            self._event(name, "B", name=event)

    def end(self, name: str) -> None:
        """Note that it ends."""
        with self._lock:
            self._event(name, "E")

    def run(self, names: Sequence[str], kind: str) -> None:
        """Note that a batch of tensors is reduced, gathered or broadcast."""
        with self._lock:
            if self._file is not None and self._marks:
                self._write({"ph": "i", "name": "CYCLE_START", "ts": self._now(), "s": "g"})
        for name in names:
            self.begin(name, kind.upper())

    def ran(self, names: Sequence[str]) -> None:
        """Note that a batch is done."""
        for name in names:
            self.end(name)

    def _event(self, tensor: str, phase: str, **more: Any) -> None:
        if self._file is None:
            return
        row = self._rows.get(tensor)
        if row is None:
            if phase == "E":  # began before the file did
                return
            row = self._rows[tensor] = len(self._rows) + 1
            self._write({"name": "process_name", "ph": "M", "pid": row, "args": {"name": tensor}})
        depth = self._open.get(tensor, 0) + (1 if phase == "B" else -1)
        if depth < 0:
            return
        self._open[tensor] = depth
        self._write({"ph": phase, "ts": self._now(), "pid": row, **more})

    def _now(self) -> int:
        return int((time.monotonic() - self._start) * 1e6)  # microseconds

    def _write(self, event: dict[str, Any]) -> None:
        assert self._file is not None
        self._file.write(json.dumps(event) + ",\n")
        self._file.flush()
