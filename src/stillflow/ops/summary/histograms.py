"""Summaries of histograms: counted in C where that is there and knows the type, else in buckets."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow import errors, native
from stillflow.graph.lazy import torch
from stillflow.ops.summary import buckets
from stillflow.ops.summary.encoding import HISTOGRAM, message, value
from stillflow.ops.summary.kernels import in_numpy

_ROOM = 128  # as in native/histogram.c


def counts_fast(dtype: Any) -> bool:
    """Return True if a native loop supports this type: it is about as fast as reading."""
    return dtype in (np.float32, np.float16) and native.library() is not None


def histogram_summary(tag: bytes, values: Any, name: str) -> bytes:
    """Return a serialized `Summary` of how numbers are spread.

    InvalidArgumentError, for the operation `name`, if one of them is not finite.
    """
    vector = in_numpy(values).reshape(-1)
    if counts_fast(vector.dtype):
        (content,) = TaggedHistograms([tag])([torch.from_numpy(vector)])
    else:
        counted = buckets.histogram(vector)
        content = b"" if counted is None else value(tag, message(HISTOGRAM, counted))
    if not content:
        raise not_finite(vector[np.isfinite(vector).argmin()], name)
    return content


def not_finite(number: Any, name: str) -> errors.InvalidArgumentError:
    """Return the error for an infinite number or NaN, which no histogram can show."""
    what = "Nan" if np.isnan(number) else "Infinity"
    return errors.InvalidArgumentError(None, None, f"{what} in summary histogram for: {name}")


class _Places(ctypes.Structure):
    """`Places` of native/histogram.c."""

    _fields_ = [
        ("table", ctypes.c_void_p),
        ("limits", ctypes.c_void_p),
        ("places", ctypes.c_int64),
        ("minus_zero", ctypes.c_int64),
    ]


@functools.cache
def _places() -> Any:
    places, limits = buckets.places(), buckets.bucket_limits()
    return ctypes.byref(
        _Places(places.table.ctypes.data, limits.ctypes.data, places.count, places.positive + 1)
    )


class _Shown(ctypes.Structure):
    """`Shown` of native/histogram.c."""

    _fields_ = [
        ("values", ctypes.c_void_p),
        ("size", ctypes.c_int64),
        ("tag", ctypes.c_char_p),
        ("tag_size", ctypes.c_int64),
    ]


class TaggedHistograms:
    """Histograms that one call counts, on several threads, under tags that stay the same.

    The call's memory is allocated at the beginning: after a step that has used much memory every
    allocation takes longer than to count a hundred numbers.

    Args:
      tags: any bytes.
    """

    def __init__(self, tags: Sequence[bytes]) -> None:
        room = sum(_ROOM + 16 * buckets.places().count + len(tag) for tag in tags)
        self._shown = (_Shown * len(tags))(*(_Shown(None, 0, tag, len(tag)) for tag in tags))
        self._each = list(self._shown)
        self._out = ctypes.create_string_buffer(room)
        self._ends = (ctypes.c_int64 * len(tags))()
        self._lock = threading.Lock()

    def __call__(self, values: Sequence[Any]) -> list[bytes]:
        """Return serialized `Summary` messages of the tags; empty where a number is not finite.

        Tensors are float32 or float16, on the host. MemoryError if memory does not suffice.
        """
        vectors = [each if _is_ready(each) else each.float().contiguous() for each in values]
        with self._lock:
            for shown, vector in zip(self._each, vectors):
                shown.values, shown.size = vector.data_ptr(), vector.numel()
            places, threads = _places(), torch.get_num_threads()
            return self._messages(
                lambda library: library.histogram_summaries(
                    self._shown, len(vectors), places, self._out, self._ends, threads
                )
            )

    def of_counts(self, counted: Any) -> list[bytes]:
        """Return the same for the counts of `DeviceHistograms`.

        Args:
          counted: what it gives, in the memory of the host.

        Raises:
          MemoryError: if there is not enough.
        """
        with self._lock:
            return self._messages(
                lambda library: library.counted_summaries(
                    self._shown,
                    len(self._each),
                    counted.data_ptr(),
                    _places(),
                    self._out,
                    self._ends,
                )
            )

    def _messages(self, write: Callable[[Any], int]) -> list[bytes]:
        """Return the output of a library function, which reports missing memory."""
        library = native.library()
        assert library is not None
        if write(library):
            raise MemoryError("no memory to count histograms")
        ends = self._ends[:]
        content = ctypes.string_at(self._out, ends[-1])
        return [content[start:end] for start, end in zip([0, *ends], ends)]


def _is_ready(tensor: Any) -> bool:
    return tensor.dtype is torch.float32 and tensor.is_contiguous()
