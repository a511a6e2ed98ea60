"""Records of many files in random order, read by threads that run ahead."""

from __future__ import annotations

import contextlib
import random
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.files.matching import matching
from stillflow.files.records import TFRecordCompressionType, TFRecordOptions
from stillflow.graph.api import name_scope
from stillflow.graph.card import op
from stillflow.graph.node import Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.arrays.concat import split
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.io.readers.records import tf_records
from stillflow.ops.queues.attempts import Attempt, Attempts

_AT_ONCE = 16  # records that a thread hands over together

record_input_op = op(
    """
    RecordInput() -> records: string
    file_pattern: string
    file_random_seed: int = 301
    file_shuffle_shift_ratio: float = 0
    file_buffer_size: int = 10000
    file_parallelism: int = 16
    batch_size: int = 32
    compression_type: string = ""
    flags: stateful
    """,
    effect="reads files",
    differentiable=False,
)


class _Take(Attempt):
    __slots__ = ("buffer",)

    def __init__(self, buffer: _Buffer, count: int) -> None:
        super().__init__("Dequeue", count)
        self.buffer = buffer

    def run(self) -> bool | None:
        buffer, before = self.buffer, self.left
        while self.left and buffer.error is None and buffer.has_enough():
            self.taken.append(buffer.records.pop())
            self.left -= 1
        buffer.changed.notify_all()
        if self.left and buffer.error is not None:
            return self.finish(buffer.error)
        if not self.left:
            return self.finish()
        return None if self.left < before else False


class _Buffer:
    """Buffer of records between the reading threads and the consumers.

    In an epoch every record comes once; the next epoch begins when none is left.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.attempts = Attempts()
        self.changed = threading.Condition(self.attempts.lock)
        self.records: list[bytes] = []
        self.error: errors.OpError | None = None
        self.stopped = False
        self._size = size
        self._ends = False  # all files of the epoch are read
        self._added = 0  # records in this epoch
        self._random = random.Random(seed)

    def has_enough(self) -> bool:
        """Return True if the buffer is full enough to be shuffled."""
        return len(self.records) >= (1 if self._ends else max(1, self._size // 2))

    def add(self, records: list[bytes]) -> bool:
        """Mixes records in, as room comes; gives False if it was stopped."""
        with self.attempts.lock:
            while records:
                self.changed.wait_for(lambda: self.stopped or len(self.records) < self._size)
                if self.stopped:
                    return False
                while records and len(self.records) < self._size:
                    self._mix_in(records.pop())
                self.attempts._flush()
        return True

    def _mix_in(self, record: bytes) -> None:
        place = self._random.randrange(len(self.records) + 1)
        self.records.append(record)
        self.records[place], self.records[-1] = self.records[-1], self.records[place]
        self._added += 1

    def end_epoch(self) -> bool:
        """Wait until all records are taken; give False if it was stopped or there are none."""
        with self.attempts.lock:
            self._size = max(1, min(self._size, self._added))
            self._ends = True
            self.attempts._flush()
            self.changed.wait_for(lambda: self.stopped or not self.records)
            self._ends, self._added = False, 0
            return not self.stopped

    def fail(self, error: errors.OpError) -> None:
        """Stop all threads and consumers with an error."""
        with self.attempts.lock:
            self.error = self.error or error
            self.stopped = True
            self.attempts._flush()
            self.changed.notify_all()

    def stop(self) -> None:
        """Stop the reading threads."""
        with self.attempts.lock:
            self.stopped = True
            self.changed.notify_all()


class _Files:
    """Files of an epoch, in their order.

    `pattern` may be several, separated by commas; `shift` is the part by which files are rotated.
    """

    def __init__(self, pattern: str, seed: int, shift: float, threads: int, kind: str) -> None:
        self._pattern, self._seed, self._shift = pattern, seed, shift
        self._threads, self._read = threads, tf_records(kind)

    def _of_epoch(self, epoch: int) -> list[str]:
        names: list[str] = []
        for pattern in self._pattern.split(","):
            with contextlib.suppress(errors.NotFoundError, errors.FailedPreconditionError):
                names += sorted(matching(pattern))
        if not names:
            raise errors.not_found(f"Found no files at {self._pattern}")
        random.Random(f"{self._seed} {epoch}").shuffle(names)
        start = int(self._shift * len(names)) if 0 <= self._shift < 1 else 0
        return names[start:] + names[:start]

    def read(self, buffer: _Buffer) -> None:
        """Read one epoch after the other until the buffer is stopped."""
        epoch = 0
        while True:
            epoch += 1
            try:
                names = self._of_epoch(epoch)
            except errors.OpError as error:
                buffer.fail(error)
                return
            parts = [names[i :: self._threads] for i in range(self._threads)]
            threads = [
                threading.Thread(target=self._read_some, args=(part, buffer), daemon=True)
                for part in parts if part
            ]  # fmt: skip
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            if not buffer.end_epoch():
                return

    def _read_some(self, names: list[str], buffer: _Buffer) -> None:
        try:
            for records in self._batches(names):
                if not buffer.add(records):
                    return
        except errors.OpError as error:
            buffer.fail(error)

    def _batches(self, names: list[str]) -> Iterator[list[bytes]]:
        records: list[bytes] = []
        for name in names:
            for found in self._read(name.encode()):
                if found is not None:
                    records.append(found[1])
                if len(records) >= _AT_ONCE:
                    yield records
                    records = []
        yield records


class RecordYielder:
    """Records of files for ever, in random order; see `_Files` and `_Buffer`."""

    def __init__(self, files: _Files, buffer: _Buffer) -> None:
        self._files, self._buffer = files, buffer
        self._lock = threading.Lock()
        self._started = False
        # The threads know the buffer only, and end when nobody can take from it any more.
        weakref.finalize(self, buffer.stop)

    def take(self, count: int, waits: Any) -> list[bytes]:
        """Return the next records.

        Raises:
          NotFoundError: there are no files.
          tf.errors.OpError: a file cannot be read, or the wait was cancelled.
        """
        with self._lock:
            if not self._started:
                self._started = True
                threading.Thread(target=self._files.read, args=(self._buffer,), daemon=True).start()
        attempt, attempts = _Take(self._buffer, count), self._buffer.attempts
        attempts.submit(attempt, attempts.taking, waits)
        return attempt.taken

    def close_session(self) -> None:
        """Stop the threads at the session's end."""
        self._buffer.stop()


def _yielder(node: Node) -> RecordYielder:
    files = _Files(
        node.file_pattern.decode(), node.file_random_seed, node.file_shuffle_shift_ratio,
        max(1, node.file_parallelism), node.compression_type.decode(),
    )  # fmt: skip
    return RecordYielder(files, _Buffer(max(1, node.file_buffer_size), node.file_random_seed))


@record_input_op.shape
def record_input_shape(node: Node) -> OutputDims:
    return None


@record_input_op.kernel
def record_input_kernel(node: Any) -> Kernel:
    yielder, waits, count = node.own_state(lambda: _yielder(node)), node.waits(), node.batch_size

    def run() -> np.ndarray:
        records = np.empty(count, object)
        records[:] = yielder.take(count, waits)
        return records

    return run


class RecordInput:
    """Reader of TFRecord files' records in random order, endlessly.

    Args:
      file_pattern: patterns, separated by commas.
      batch_size: how many records come at once.
      buffer_size: among how many they are mixed.
      parallelism: how many threads read.
      shift_ratio: by which part of the files they are rotated.
      seed: of the order.
      name: of the operation.
      batches: how many batches come at once; None for one, as one tensor.
      compression_type: a `TFRecordCompressionType`.
    """

    def __init__(
        self, file_pattern: str, batch_size: int = 1, buffer_size: int = 1, parallelism: int = 1,
        shift_ratio: float = 0, seed: int = 0, name: str | None = None,
        batches: int | None = None, compression_type: Any = None,
    ) -> None:  # fmt: skip
        if compression_type is None:
            compression_type = TFRecordCompressionType.NONE
        options = TFRecordOptions(compression_type)
        self._count = batch_size * (1 if batches is None else batches)
        self._batches, self._name = batches, name
        self._attributes = {
            "file_pattern": file_pattern, "file_random_seed": seed,
            "file_shuffle_shift_ratio": shift_ratio, "file_buffer_size": buffer_size,
            "file_parallelism": parallelism,
            "compression_type": TFRecordOptions.get_compression_type_string(options),
        }  # fmt: skip

    def get_yield_op(self) -> Tensor | list[list[Tensor]]:
        """Return the next records: a string tensor, or a list of scalars for each of `batches`."""
        records = record_input_op(**self._attributes, batch_size=self._count, name=self._name)
        if self._batches is None:
            return records
        with name_scope(self._name):
            single = [reshape(record, []) for record in split(records, self._count, 0)]
            return [single[i :: self._batches] for i in range(self._batches)]
