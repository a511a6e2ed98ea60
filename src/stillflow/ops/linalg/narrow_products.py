"""Products of float32 matrices with 2 to 15 columns, such as a classifier's last layer, in C.

MKL and oneDNN fill vectors of 16 numbers badly with fewer columns: of ten they take three to four
times as long as of sixteen.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from stillflow import native
from stillflow.graph.lazy import torch
from stillflow.ops import native_calls

COLUMNS = range(2, 16)
_LEAST, _MANY = 1 << 12, 1 << 20  # numbers of the left matrix: for a call, for several threads


@cache
def is_faster() -> bool:
    """Return True on processors with AVX-512, if the native loops are built."""
    return native.library() is not None and torch.backends.cpu.get_cpu_capability() == "AVX512"


def multiply(a: Any, b: Any) -> Any:
    """Return the product of two float32 matrices in the processor's memory, of any strides."""
    (rows, depth), columns = a.shape, b.shape[1]
    size = rows * depth
    if size < _LEAST or b.shape[0] != depth or columns not in COLUMNS or native_calls.compiling():
        return torch.mm(a, b)
    library: Any = native.library()
    out = a.new_empty(rows, columns)
    sizes = native_calls.int64s((rows, depth, columns, *a.stride(), *b.stride()))
    threads = torch.get_num_threads() if size >= _MANY else 1
    failed = library.multiply_narrow(a.data_ptr(), b.data_ptr(), sizes, out.data_ptr(), threads)
    return torch.mm(a, b) if failed else out
