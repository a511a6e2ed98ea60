"""Datasets of the names of files that match patterns: MatchingFilesDataset."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any, ClassVar

from stillflow import errors
from stillflow.files import gfile
from stillflow.files.filesystem import file_system
from stillflow.files.matching import fixed_part, full_match
from stillflow.graph import dtypes
from stillflow.graph.arrays import string_scalar
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.pipeline import Context, Dataset, Elements, dataset_op
from stillflow.ops.data.walk import Element, State, Walk

matching_files_dataset_op = dataset_op(
    "MatchingFilesDataset(patterns: string) -> handle: variant\nflags: stateful",
    effect="reads files", at_most={"patterns": 1},
)  # fmt: skip


def _text(path: bytes) -> str:
    return path.decode(errors="surrogateescape")


class _Matching(Walk):
    """Names of files by patterns of `gfile.glob` in turn, in each folder in the order of bytes."""

    inputs = ()
    numbers: ClassVar[dict[str, str]] = {"next_pattern": "current_pattern_index"}

    def __init__(self, patterns: Sequence[bytes]) -> None:
        self.patterns = patterns
        self.next_pattern = 0
        self.pattern = b""
        self.found_any = False
        self.waiting: list[tuple[bytes, bool]] = []  # a heap of paths, and whether they are folders

    def __next__(self) -> Element:
        while self.waiting or self.next_pattern < len(self.patterns):
            if not self.waiting:
                self._begin_pattern()
                continue
            path, is_folder = heapq.heappop(self.waiting)
            if not is_folder:
                self.found_any = True
                return (string_scalar(path),)
            self._look_into(path)
        if not self.found_any:
            raise errors.not_found("Don't find any matched files")
        raise StopIteration

    def _begin_pattern(self) -> None:
        pattern = self.patterns[self.next_pattern]
        fixed = fixed_part(_text(pattern)).encode(errors="surrogateescape")
        folder = fixed.rpartition(b"/")[0] or (b"/" if fixed.startswith(b"/") else b"")
        self.pattern = pattern if folder else b"./" + pattern
        self._look_into(folder or b".")
        self.next_pattern += 1

    def _look_into(self, folder: bytes) -> None:
        """Read folders until a file comes first.

        As in TensorFlow, NotFoundError if a folder no longer exists and all others are empty.
        """
        heapq.heappush(self.waiting, (folder, True))
        missing: errors.OpError | None = None
        while self.waiting and self.waiting[0][1]:
            path = heapq.heappop(self.waiting)[0]
            if missing is None:
                try:
                    self._add_children(path)
                except errors.NotFoundError as error:
                    missing = error
        if missing is not None and not self.waiting:
            raise missing

    def _add_children(self, folder: bytes) -> None:
        pattern, start = _text(self.pattern), _text(folder)
        fixed = fixed_part(pattern)
        for child in file_system(start).children(start):
            path = f"{start.rstrip('/')}/{child}"
            if not path.startswith(fixed):
                continue
            is_folder = gfile.is_directory_v2(path)
            if is_folder or full_match(pattern, path):
                item = path.encode(errors="surrogateescape"), is_folder
                heapq.heappush(self.waiting, item)

    def save(self, state: State) -> None:
        super().save(state)
        self.put(state, "current_pattern", self.pattern)
        self.put(state, "hasMatch", int(self.found_any))
        self.put(state, "isWindows", 0)
        if self.waiting:
            self.put(state, "queue_size", len(self.waiting))
        for index, (path, is_folder) in enumerate(sorted(self.waiting)):
            self.put(state, f"path_{index}", path)
            self.put(state, f"path_status_{index}", int(is_folder))

    def restore(self, state: State) -> None:
        super().restore(state)
        self.pattern = _bytes(self.get(state, "current_pattern"))
        self.found_any = bool(self.integer(state, "hasMatch"))
        self.waiting = [
            (_bytes(self.get(state, f"path_{index}")),
             bool(self.integer(state, f"path_status_{index}")))
            for index in range(self.integer_or_zero(state, "queue_size"))
        ]  # fmt: skip


def _bytes(value: Any) -> bytes:
    return value if isinstance(value, bytes) else value.item()


@matching_files_dataset_op.kernel
def matching_files_dataset_kernel(node: Node) -> Kernel:
    def run(patterns: Any) -> Dataset:
        given = patterns.reshape(-1).tolist()

        def make(context: Context, prefix: str) -> Elements:
            return _Matching(given)

        return Dataset("MatchingFiles", [dtypes.string], [()], make)

    return run
