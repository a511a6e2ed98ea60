"""Native kernels of random numbers; each gives None where the library is not built."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow import native
from stillflow.graph.lazy import torch

if TYPE_CHECKING:
    from stillflow.ops.random.philox import Philox

# ---- draws

# Draws by the loops in C; None where those were not built.
#
# Each function has the results of the one of its name in `draws.py`.

# In the order of native/random.c.
_WORDS, _FLOATS, _DOUBLES, _NORMALS, _TRUNCATED = range(5)
_FEW = 1 << 14  # fewer are drawn in less time than other threads need to begin


def words(stream: Philox, count: int, threads: int = 1) -> np.ndarray | None:
    """`count` uint32."""
    return drawn(stream, _WORDS, np.uint32, count, threads)


def words64(stream: Philox, count: int, threads: int = 1) -> np.ndarray | None:
    """`count` uint64, each of two words, of which the lower half comes first."""
    pairs = words(stream, 2 * count, threads)
    return None if pairs is None else pairs.view(np.uint64)


def uniform_float(
    stream: Philox, count: int, mantissa: int = 23, threads: int = 1
) -> np.ndarray | None:
    """`count` float32 in [0, 1), of the lowest `mantissa` bits of each word."""
    return drawn(stream, _FLOATS, np.float32, count, threads, mantissa)


def uniform_double(stream: Philox, count: int, threads: int = 1) -> np.ndarray | None:
    """`count` float64 in [0, 1)."""
    return drawn(stream, _DOUBLES, np.float64, count, threads)


def normal_float(stream: Philox, count: int, threads: int = 1) -> np.ndarray | None:
    """`count` standard normal float32."""
    return drawn(stream, _NORMALS, np.float32, count, threads)


def truncated_normal_float(stream: Philox, count: int, threads: int = 1) -> np.ndarray | None:
    """`count` standard normal float32 within two deviations."""
    return drawn(stream, _TRUNCATED, np.float32, count, threads)


def drawn(
    stream: Philox, kind: int, dtype: Any, count: int, threads: int, bits: int = 0
) -> np.ndarray | None:
    """Return draws of a kind by the loop in C."""
    library = native.library()
    if library is None:
        return None
    result = np.empty(count, dtype)
    draw = library.draw_few if count <= _FEW else library.draw_many
    draw(stream.key, stream.low, stream.high, kind, bits, count, result.ctypes.data, threads)
    return result


# ---- candidate sampling

# Candidate sampling by the loop in C; None where it was not built.
#
# The results are those of `range_samplers.py`, up to the last bits of exponentials and logarithms
# of double precision, which NumPy computes in its own ways.

# In the order of native/candidates.c.
UNIFORM, LOG_UNIFORM, FIXED = range(3)

_POINTER, _INT, _DOUBLE = ctypes.c_void_p, ctypes.c_int64, ctypes.c_double


class _Sampler(ctypes.Structure):
    _fields_ = [
        ("kind", _INT), ("range", _INT), ("log_range", _DOUBLE), ("keep", _POINTER),
        ("other", _POINTER), ("weights", _POINTER), ("total", _DOUBLE),
    ]  # fmt: skip


class CandidateLoop:
    """A sampler as the loop takes it.

    Args:
      kind: `UNIFORM`, `LOG_UNIFORM` or `FIXED`.
      range: the number of classes.
      log_range: of a log-uniform sampler, the logarithm of `range` + 1.
      tables: of a fixed one: how often buckets keep their numbers, float32 [range], the other
        numbers, int64 [range], and the weights, float32 [range].
      total: the sum of the weights.
    """

    def __init__(
        self, kind: int, range: int, log_range: float = 0.0,
        tables: tuple[np.ndarray, ...] = (), total: float = 0.0,
    ) -> None:  # fmt: skip
        self._tables = tuple(map(np.ascontiguousarray, tables))  # has to live as long as the loop
        places: list[int | None] = [table.ctypes.data for table in self._tables]
        self._sampler = _Sampler(kind, range, log_range, *(places or 3 * [None]), total)
        self._address = ctypes.addressof(self._sampler)

    def sample(
        self, stream: Philox, count: int, unique: bool, true_classes: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Return sampled classes, int64 [count], and their expected counts.

        Args:
          stream: where the words come from.
          count: how many classes to sample.
          unique: whether they are all different.
          true_classes: int64 [n], contiguous.

        Returns:
          The classes, what is expected of the true ones, float32 [n], and of those sampled,
          float32 [count]; None without the loop, or where it does not find as many classes.
        """
        library = native.library()
        if library is None:
            return None
        sampled, expected = np.empty(count, np.int64), np.empty(count, np.float32)
        true_expected = np.empty(len(true_classes), np.float32)
        failed = library.sample_classes(
            self._address, stream.key, stream.low, stream.high, count, unique,
            true_classes.ctypes.data, len(true_classes), sampled.ctypes.data,
            true_expected.ctypes.data, expected.ctypes.data,
        )  # fmt: skip
        return None if failed else (sampled, true_expected, expected)


# ---- gamma and Poisson distributions

# Draws from gamma and Poisson distributions by native loops; None where they are not built.
#
# Each function has the results of the one of its name in `gamma.py` or `poisson.py`; in double
# precision up to the last bits of logarithms and powers, which NumPy computes in its own ways.


def gamma(stream: Philox, alpha: np.ndarray, samples: int, threads: int) -> np.ndarray | None:
    """Draws from gamma distributions."""
    library = native.library()
    if library is None:
        return None
    alpha, result = np.ascontiguousarray(alpha), np.empty((samples, len(alpha)))
    library.draw_gammas(
        *_position(stream), alpha.ctypes.data, len(alpha), samples, result.ctypes.data, threads
    )
    return result


def poisson(
    stream: Philox, rate: np.ndarray, samples: int, largest: float, threads: int
) -> np.ndarray | None:
    """Draws from Poisson distributions."""
    library = native.library()
    if library is None or not (rate <= largest).all():  # such a loop may last for ever
        return None
    rate, result = np.ascontiguousarray(rate), np.empty((samples, len(rate)))
    library.draw_poissons(
        *_position(stream), rate.ctypes.data, len(rate), samples, largest, result.ctypes.data,
        threads,
    )  # fmt: skip
    return result


def _position(stream: Philox) -> tuple[int, int, int]:
    return stream.key, stream.low, stream.high


# ---- shuffling

# Shuffling by the loop in C, which swaps elements one after another.

_WIDTHS = (1, 2, 4, 8)


def permutation(stream: Philox, size: int) -> np.ndarray | None:
    """Return the result of `permutation.py` for 2 to 2**31 - 1 elements; None without a loop."""
    library = native.library()
    if library is None:
        return None
    order = np.arange(size)
    _shuffle(library, stream, size, order.itemsize, order.ctypes.data)
    return order


def takes_shuffle(value: Any) -> bool:
    """Return True if a tensor's rows are elements that `shuffled` can swap."""
    return (
        native.library() is not None
        and value.is_cpu
        and value.is_contiguous()
        and value.numel() == len(value)
        and value.element_size() in _WIDTHS
    )


def shuffled(value: Any, stream: Philox) -> torch.Tensor:
    """Return a copy of a tensor that it `takes`, of 2 to 2**31 - 1 elements, in random order."""
    result = value.clone()
    _shuffle(native.library(), stream, len(result), result.element_size(), result.data_ptr())
    return result


def _shuffle(library: Any, stream: Philox, size: int, width: int, address: int) -> None:
    library.shuffle_elements(stream.key, stream.low, stream.high, size, width, address)
