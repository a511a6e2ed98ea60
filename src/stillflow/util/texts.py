"""Many byte strings at once, where loops in C find them and make them: without Python in between.

An array of objects holds addresses; the objects' layout is internal to Python, and differs between
its builds. So the layout is given to the loops, and used only after they have read and made a
string correctly.
"""

from __future__ import annotations

import ctypes
import functools
import sys
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from stillflow import native

FEW = 8  # strings: Python itself is as fast
_Byte: Any = ctypes.c_char
_address = ctypes.addressof


class Texts:
    """Addresses of byte strings, for native loops.

    Args:
      addresses, sizes: int64 [n].
      owner: the object that keeps the bytes alive.

    Attributes:
      pointers: the arguments of native loops: both arrays' addresses, and the number of strings.
    """

    def __init__(self, addresses: np.ndarray, sizes: np.ndarray, owner: Any) -> None:
        self.addresses, self.sizes, self._owner = addresses, sizes, owner
        self.pointers = address_of(addresses), address_of(sizes), len(sizes)

    def __len__(self) -> int:
        return len(self.sizes)


def address_of(array: np.ndarray) -> int:
    """Return the address of a contiguous array's first element."""
    try:
        return _address(_Byte.from_buffer(array))  # in a seventh of the time
    except (TypeError, ValueError):  # an array that is read only or empty, or holds times
        return int(array.ctypes.data)


def library() -> SimpleNamespace | None:
    """Return the native loops, if they are built and know this Python's strings."""
    loops = native.library()
    return loops if loops is not None and _is_known(loops) else None


def texts_of(strings: np.ndarray | Sequence[bytes]) -> Texts | None:
    """Return the addresses of strings in row-major order; None if not all are `bytes`."""
    loops = library()
    return None if loops is None else _found(loops, strings)


def any_texts_of(strings: np.ndarray | Sequence[bytes]) -> Texts:
    """Return the addresses of strings on any Python, of copies if necessary."""
    found = texts_of(strings)
    if found is not None:
        return found
    strings = list(strings)
    sizes = np.fromiter(map(len, strings), np.int64, len(strings))
    text = np.frombuffer(b"".join([*strings, b"\0"]), np.uint8)  # never empty
    return Texts(np.cumsum(sizes) - sizes + address_of(text), sizes, text)


def strings_at(texts: Texts, shape: tuple[int, ...]) -> np.ndarray:
    """Return new strings with these bytes, as objects of a shape; MemoryError without memory."""
    result = np.empty(len(texts), object)
    _known_library().make_strings(*texts.pointers, address_of(result))
    return result.reshape(shape)


def strings_by(loop: str, strings: np.ndarray, *how: int) -> np.ndarray | None:
    """Return what a loop makes of each string, as objects of their shape; errors as above.

    None without the loops, if it does not make all, or if Python is as fast.
    """
    texts = texts_of(strings) if strings.size > FEW else None
    if texts is None:
        return None
    result = np.empty(strings.shape, object)
    made = getattr(_known_library(), loop)(*texts.pointers, *how, address_of(result))
    return result if made == len(texts) else None


def joined_rows(texts: Texts, rows: int, separator: bytes) -> np.ndarray:
    """Return the strings of each row joined by a separator: objects [rows]; errors as above."""
    result = np.empty(rows, object)
    texts_at, sizes_at, count = texts.pointers
    columns = count // rows if rows else 0
    _known_library().join_texts(
        texts_at, sizes_at, rows, columns, separator, len(separator), address_of(result)
    )
    return result


def parts_of(
    texts: Texts, delimiters: bytes, skip_empty: bool, none_of_nothing: bool
) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the parts of strings between any of the bytes of `delimiters`, at least one.

    An empty string has no part if `none_of_nothing`. Returns int64 [parts, 2], the number of its
    string and its own in it; the parts, objects [parts]; how many the string with most has.
    MemoryError if there is none for them.
    """
    loops, counts = _known_library(), np.empty(len(texts), np.int64)
    is_delimiter = np.zeros(256, np.uint8)
    is_delimiter[list(delimiters)] = 1
    how = (address_of(is_delimiter), skip_empty, none_of_nothing)
    loops.count_parts(*texts.pointers, *how, address_of(counts))
    total = int(counts.sum())
    indices, parts = np.empty((total, 2), np.int64), np.empty(total, object)
    loops.split_texts(*texts.pointers, *how, address_of(indices), address_of(parts))
    return indices, parts, int(counts.max(initial=0))


class Numbering:
    """Texts that are numbered in the order in which they come first.

    Args:
      texts: all of them.
    """

    def __init__(self, texts: Texts) -> None:
        count = len(texts)
        self._texts, self._slots = texts, np.empty(2 << count.bit_length(), np.int64)
        self.numbers, firsts = np.empty((2, count), np.int64)
        slots = address_of(self._slots), len(self._slots)
        found = _known_library().number_texts(
            *texts.pointers, *slots, address_of(self.numbers), address_of(firsts)
        )
        self.firsts, self.known = firsts[:found], (*texts.pointers[:2], *slots)

    def places(self, texts: Texts) -> np.ndarray:
        """Return the index of each string's first occurrence, int64 [n].

        -1 for repeated strings.
        """
        result = np.empty(len(texts), np.int64)
        _known_library().find_numbers(*self.known, *texts.pointers, address_of(result))
        return result


def _known_library() -> SimpleNamespace:
    loops = native.library()
    assert loops is not None, "texts are found by the loops only"
    return loops


def _found(loops: SimpleNamespace, strings: np.ndarray | Sequence[bytes]) -> Texts | None:
    if not isinstance(strings, np.ndarray):
        objects = np.empty(len(strings), object)
        objects[:] = strings
        strings = objects
    if not strings.dtype.hasobject:
        return None
    objects = strings.flatten()  # keeps them alive if other threads replace them
    addresses, sizes = np.empty((2, objects.size), np.int64)
    found = loops.find_texts(
        address_of(objects), objects.size, address_of(addresses), address_of(sizes)
    )
    return Texts(addresses, sizes, objects) if found == objects.size else None


_known: list[Any] = []  # the loops that were told, and whether they read and make strings rightly


def _is_known(loops: SimpleNamespace) -> bool:
    if not _known or _known[0] is not loops:
        _known[:] = loops, _tell(loops)
    return bool(_known[1])


@functools.cache
def _layout() -> tuple[int, int, int] | None:
    """Return the offsets of type, size and bytes in a byte string; None if unknown."""
    has_lock = getattr(sys, "_is_gil_enabled", lambda: True)()
    if sys.implementation.name != "cpython" or not has_lock or ctypes.sizeof(ctypes.c_void_p) != 8:
        return None
    head = object.__basicsize__
    return head - ctypes.sizeof(ctypes.c_void_p), head, bytes.__basicsize__ - 1


def _tell(loops: SimpleNamespace) -> bool:
    layout = _layout()
    if layout is None:
        return False
    api = ctypes.pythonapi
    makers = (api.PyBytes_FromStringAndSize, api.Py_IncRef, api.Py_DecRef)
    functions = (ctypes.cast(function, ctypes.c_void_p) for function in makers)
    loops.know_strings(id(bytes), *layout, *functions)
    sample = np.array([b"", b"a", bytes(range(256))], object)
    found = _found(loops, sample)
    if found is None or found.sizes.tolist() != [0, 1, 256]:
        return False
    made = np.empty(3, object)
    loops.make_strings(*found.pointers, address_of(made))
    return bool(made.tolist() == sample.tolist())
