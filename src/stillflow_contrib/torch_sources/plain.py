"""Plain functions that exported sources have instead of fast ones with buffers, threads, files."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.ops.nn import native_kernels as layer_loops
from stillflow.ops.random import device_philox, distributions, philox, sharding, threads
from stillflow.ops.random import native_kernels as random_loops
from stillflow.ops.strings import unicode_text
from stillflow.ops.training import native_kernels as training_loops
from stillflow.ops.variables.buffer import Buffer
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


def nothing(*_: Any, **__: Any) -> None:
    """Return the result of a loop in C that was not built."""
    return None  # noqa: RET501 a source's callers see that it is all there is


def false(*_: Any, **__: Any) -> bool:
    """Tell that a loop in C has not run, or that a device is none."""
    return False


def as_dtype(value: Any) -> Any:
    """Return a type, which is one already."""
    return value


def cpp_name(dtype: Any) -> str:
    """Return the name of a type in messages of errors."""
    return str(dtype.name)


def address_of(array: Any) -> int:
    """Return the address of an array's first element, for a loop in C that was not built."""
    return int(array.ctypes.data)


def one() -> int:
    """Return the number of threads."""
    return 1


PLAIN: dict[Any, Any] = {
    Buffer: Variable,
    philox.fill_blocks: fill_blocks,
    philox.gather_blocks: gather_blocks,
    threads.in_pieces: in_pieces,
    unicode_text.script_table: _script_table(),
    dtypes.as_dtype: as_dtype,
    dtypes.cpp_name: cpp_name,
    device_philox.kernel: nothing,
    distributions.is_accelerator: false,
    layer_loops.max_pool_gradient: nothing,
    random_loops.CandidateLoop: nothing,
    random_loops.drawn: nothing,
    sharding.host_threads: one,
    texts.address_of: address_of,
    training_loops.run: false,
}
