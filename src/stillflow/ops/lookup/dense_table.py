"""A lookup table laid out in buckets, which is how checkpoints hold it."""

from __future__ import annotations

from itertools import repeat
from operator import itemgetter
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.dims import shape_text
from stillflow.ops.lookup.tables import Shape, Table, invalid
from stillflow.util.string_hashes import murmur64

_WORD = (1 << 64) - 1
_SEED = 0xDECAFCAFFE


def _hash_one(item: Any) -> int:
    return murmur64(item, _SEED) if isinstance(item, bytes) else int(item) & _WORD


def _hash(key: Any) -> int:
    if not isinstance(key, tuple):
        return _hash_one(key)
    if len(key) == 1:
        return _hash_one(key[0])
    result = 0
    for item in key:
        mixed = _hash_one(item) + 0x9E3779B97F4A7800 + (result << 10) + (result >> 4)
        result ^= mixed & _WORD
    return result & _WORD


class DenseTable(Table):
    """Open addressing with quadratic probing, in a number of buckets that is a power of 2.

    Args:
      empty_key, deleted_key: what fills a bucket that has no key, or no longer.
      buckets: how many there are at first.
      max_load_factor: the share of buckets that may be taken.
      name, key_dtype, ...: as of `Table`.

    Raises:
      InvalidArgumentError: for keys that do not go together, or another number.
    """

    def __init__(
        self, name: str, key_dtype: Any, value_dtype: Any, value_shape: Shape,
        empty_key: np.ndarray, deleted_key: np.ndarray | None, buckets: int,
        max_load_factor: float,
    ) -> None:  # fmt: skip
        super().__init__(name, key_dtype, value_dtype, empty_key.shape, value_shape)
        if not 0 < max_load_factor < 1:
            raise invalid(f"max_load_factor must be between 0 and 1, got: {max_load_factor:g}")
        if len(value_shape) > 1:
            raise invalid(
                f"Empty value must be a scalar or a vector, got shape {shape_text(value_shape)}"
            )
        if empty_key.ndim > 1:
            raise invalid(
                f"Empty key must be a scalar or a vector, got shape {shape_text(empty_key.shape)}"
            )
        self._max_load = max_load_factor
        self._empty = self._keys(empty_key)[0]
        self._deleted = self._deleted_from(deleted_key)
        self._allocate(buckets)

    def _deleted_from(self, deleted_key: np.ndarray | None) -> Any:
        if deleted_key is None:
            return None
        if deleted_key.shape != self.key_shape:
            raise invalid(
                "Empty and deleted keys must have same shape, got shapes: "
                f"{shape_text(self.key_shape)} and {shape_text(deleted_key.shape)}"
            )
        deleted = self._keys(deleted_key)[0]
        if deleted == self._empty:
            raise invalid("Empty and deleted keys cannot be equal")
        return deleted

    def _allocate(self, count: int) -> None:
        if count < 4 or count & (count - 1):
            raise invalid(f"Number of buckets must be at least 4 and a power of 2, got: {count}")
        # A bucket holds a key and its value, or one of the two marks and a value left over.
        self._bucket_keys: list[Any] = [self._empty] * count
        self._bucket_values = self._blank(count)
        self._places: dict[Any, int] = {}

    def _blank(self, count: int) -> np.ndarray:
        shape = (count, *self.value_shape)
        if self.value_dtype.name in ("string", "variant"):
            return np.full(shape, b"" if self.value_dtype.name == "string" else None, object)
        return np.zeros(shape, self.value_dtype.as_numpy_dtype)

    def size(self) -> int:
        """Return the number of keys."""
        return len(self._places)

    def _check_key(self, key: Any) -> None:
        if key == self._empty:
            raise invalid("Using the empty_key as a table key is not allowed")
        if self._deleted is not None and key == self._deleted:
            raise invalid("Using the deleted_key as a table key is not allowed")

    def _check_batch(self, keys: np.ndarray) -> None:
        count = 1 if keys.ndim == 0 else keys.shape[0]
        if keys.size != count * int(np.prod(self.key_shape, dtype=int)):
            expected = (count, *self.key_shape)
            raise invalid(f"Expected key shape {shape_text(expected)} got {shape_text(keys.shape)}")

    def find(self, keys: np.ndarray, default: np.ndarray) -> np.ndarray:
        """Return the values of keys.

        Raises:
          InvalidArgumentError: for the empty or the deleted key.
        """
        self.check_keys(keys.shape)
        self._check_batch(keys)
        return super().find(keys, default)

    def _found(self, keys: list[Any], default: np.ndarray) -> np.ndarray:
        places = np.fromiter(map(self._places.get, keys, repeat(-1)), np.intp, len(keys))
        missing = np.flatnonzero(places < 0)
        for number in missing.tolist():
            self._check_key(keys[number])
        values = self._bucket_values[places]
        values[missing] = default
        return values

    def _place(self, key: Any) -> int:
        """Return the bucket of a key, which gets one if it has none."""
        place = self._places.get(key)
        if place is None:
            self._check_key(key)
            place = self._places[key] = self._free_place(key)
            self._bucket_keys[place] = key
        return place

    def _free_place(self, key: Any) -> int:
        mask = len(self._bucket_keys) - 1
        place, free = _hash(key) & mask, (self._empty, self._deleted)
        for probe in range(1, mask + 2):
            if self._bucket_keys[place] in free:
                return place
            place = (place + probe) & mask
        raise errors.internal("Internal error in MutableDenseHashTable insert")

    def _grow(self, count: int) -> None:
        buckets = len(self._bucket_keys)
        while count > buckets * self._max_load:
            buckets *= 2
        if buckets == len(self._bucket_keys):
            return
        old, values = sorted(self._places.items(), key=itemgetter(1)), self._bucket_values
        self._allocate(buckets)
        places = [self._place(key) for key, _ in old]
        self._bucket_values[places] = values[[place for _, place in old]]

    def insert(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Set the values of keys.

        Raises:
          InvalidArgumentError: for the empty or the deleted key.
        """
        self._check_batch(keys)
        wanted, values = self._keys(keys), self._rows(values)
        with self._lock:
            self._grow(len(self._places) + len(wanted))
            places: list[int | None] = list(map(self._places.get, wanted))
            try:
                for number, place in enumerate(places):
                    if place is None:
                        places[number] = self._place(wanted[number])
            finally:  # pairs before an invalid key are stored
                count = places.index(None) if None in places else len(places)
                stored = [place for place in places[:count] if place is not None]
                self._bucket_values[stored] = values[:count]

    def _rows(self, values: np.ndarray) -> np.ndarray:
        return values.reshape(-1, *self.value_shape)

    def remove(self, keys: np.ndarray) -> None:
        """Forget keys.

        Raises:
          InvalidArgumentError: for the empty or the deleted key.
        """
        self._check_batch(keys)
        with self._lock:
            for key in self._keys(keys):
                self._check_key(key)
                place = self._places.pop(key, None)
                if place is not None:
                    self._bucket_keys[place] = self._deleted

    def check_import(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Raise an error for values that do not fit the keys; scalars have an axis in both."""
        self.check_keys(keys.shape)
        inner = max(len(self.key_shape), 1)
        expected = keys.shape[: keys.ndim - inner] + (self.value_shape or (1,))
        if values.shape != expected:
            raise invalid(
                f"Expected shape {shape_text(expected)} for value, got {shape_text(values.shape)}"
            )

    def replace(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Replace the content by buckets."""
        with self._lock:
            self._bucket_keys, self._bucket_values = self._keys(keys), self._rows(values).copy()
            marks = (self._empty, self._deleted)
            self._places = {
                key: place for place, key in enumerate(self._bucket_keys) if key not in marks
            }

    def all_entries(self) -> tuple[np.ndarray, np.ndarray]:
        """All buckets: keys and values, as matrices."""
        with self._lock:
            keys, values = list(self._bucket_keys), self._bucket_values.copy()
        return _matrix(keys, self.key_dtype, self.key_shape), values.reshape(len(keys), -1)


def _matrix(rows: list[Any], dtype: Any, shape: Shape) -> np.ndarray:
    if dtype.name != "string":
        return np.array(rows, dtype.as_numpy_dtype).reshape(len(rows), -1)
    items = [item for row in rows for item in row] if shape else rows
    matrix = np.empty(len(items), object)
    matrix[:] = items
    return matrix.reshape(len(rows), -1)
