"""Plain functions that exported sources have instead of fast ones with buffers, threads, files."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from stillflow.ops.nn import native_kernels as layer_loops
from stillflow.ops.queues.attempts import Attempts
from stillflow.ops.random import device_philox, distributions, philox, sharding, threads
from stillflow.ops.random import native_kernels as random_loops
from stillflow.ops.strings import unicode_text
from stillflow.ops.training import native_kernels as training_loops
from stillflow.ops.variables.buffer import Buffer
from stillflow.platform import native_level, tf_logging
from stillflow.util import texts

_MASK = 0xFFFFFFFF


def fill_blocks(stream: Any, first: int, step: int, columns: Any) -> None:
    """Write blocks of a Philox stream to columns: uint32 arrays."""
    places = np.arange(len(columns[0]), dtype=np.uint64) * np.uint64(step) + np.uint64(first)
    for column, words in zip(columns, gather_blocks(stream, places), strict=True):
        column[...] = words


def gather_blocks(stream: Any, blocks: Any) -> Any:
    """Return any blocks of a Philox stream: uint64 [n], from its position on, to uint32 [4, n]."""
    low = blocks + np.uint64(stream.low)
    high = np.uint64(stream.high) + (low < blocks).astype(np.uint64)
    half, mask = np.uint64(32), np.uint64(_MASK)
    first, second, third, fourth = low & mask, low >> half, high & mask, high >> half
    key, other = stream.key & _MASK, stream.key >> 32
    for _ in range(10):
        left, right = first * np.uint64(0xD2511F53), third * np.uint64(0xCD9E8D57)
        first, third = (
            (right >> half) ^ second ^ np.uint64(key),
            (left >> half) ^ fourth ^ np.uint64(other),
        )
        second, fourth = right & mask, left & mask
        key, other = (key + 0x9E3779B9) & _MASK, (other + 0xBB67AE85) & _MASK
    return np.stack([first, second, third, fourth]).astype(np.uint32)


def in_pieces(total: int, size: int, threads: int, work: Callable[[int, int], None]) -> None:
    """Call `work(start, stop)` for consecutive pieces of range(total)."""
    for start in range(0, total, size):
        work(start, min(start + size, total))


def _script_table() -> Callable[[], Any]:
    name = unicode_text.__name__.rpartition(".")[0]
    text = files(name).joinpath("unicode_scripts.txt").read_text(encoding="ascii")

    @cache
    def script_table() -> Any:
        """Return the scripts of all code points."""
        lines = text.splitlines()
        pairs = [pair.split(":") for line in lines if line[0] != "#" for pair in line.split()]
        lengths, scripts = np.array(pairs, np.int64).T
        return np.repeat(scripts.astype(np.int16), lengths)

    return script_table


class Variable:
    """A variable's memory, as updates take it."""

    is_resource = reshaped = False
    lock = contextlib.nullcontext()

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def _value(self) -> Any:
        return self.tensor.detach()

    def _set_value(self, value: Any) -> None:
        self.tensor.data = value.detach().clone()

    value = property(_value, _set_value)

    def read(self) -> Any:
        """Return the current value, without its gradient."""
        return self.tensor.detach()


class OneAtATime:
    """Attempts that succeed at once or never: no thread but this one puts and takes."""

    lock = contextlib.nullcontext()
    putting: Any = ()
    taking: Any = ()

    def submit(self, attempt: Any, pending: Any, waits: Any) -> None:
        """Execute an attempt; RuntimeError if it would have to wait."""
        if not attempt.run():
            raise RuntimeError(f"{attempt.kind} would wait for ever")
        if attempt.error is not None:
            raise attempt.error

    def add_line(self) -> None:
        """Return no line, as none waits."""

    def remove_line(self, line: Any) -> None:
        """Remove no line."""

    def cancel_putting(self) -> None:
        """Fail no attempt, as none waits."""

    def _flush(self) -> None:
        """Execute no attempt, as none waits."""


def submit(attempts: Any, attempt: Any, pending: Any, waits: Any) -> None:
    """Execute an attempt."""
    attempts.submit(attempt, pending, waits)


def warn(message: str, *parts: Any) -> None:
    """Warn as a logger does."""
    warnings.warn(message % parts, stacklevel=2)


def nothing(*_: Any, **__: Any) -> None:
    """Return the result of a loop in C that was not built."""
    return None  # noqa: RET501 a source's callers see that it is all there is


def false(*_: Any, **__: Any) -> bool:
    """Tell that a loop in C has not run, or that a device is none."""
    return False


def true(*_: Any) -> bool:
    """Tell that a message is wanted."""
    return True


def no_text(*_: Any) -> str:
    """Return no words before a message."""
    return ""


def address_of(array: Any) -> int:
    """Return the address of an array's first element, for a loop in C that was not built."""
    return int(array.ctypes.data)


def one() -> int:
    """Return the number of threads."""
    return 1


PLAIN: dict[Any, Any] = {
    Attempts: OneAtATime,
    Attempts.submit: submit,
    Buffer: Variable,
    DecodeError: ValueError,
    philox.fill_blocks: fill_blocks,
    philox.gather_blocks: gather_blocks,
    threads.in_pieces: in_pieces,
    unicode_text.script_table: _script_table(),
    device_philox.kernel: nothing,
    distributions.is_accelerator: false,
    layer_loops.max_pool_gradient: nothing,
    random_loops.CandidateLoop: nothing,
    random_loops.drawn: nothing,
    sharding.host_threads: one,
    texts.address_of: address_of,
    native_level.prefix: no_text,
    native_level.wanted: true,
    tf_logging.warning: warn,
    training_loops.run: false,
}
