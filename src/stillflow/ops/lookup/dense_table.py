"""A lookup table laid out in buckets, which is how checkpoints hold it."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow import errors
from stillflow.ops.io.stored import shape_text
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
        blank: Any = b"" if self.value_dtype.name == "string" else 0
        if self.value_shape:
            blank = [blank] * self.value_shape[0]
        self._bucket_keys: list[Any] = [self._empty] * count
        self._bucket_values: list[Any] = [blank] * count
        self._places: dict[Any, int] = {}

    def size(self) -> int:
        """The number of keys."""
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
        """The values of keys.

        Raises:
          InvalidArgumentError: for the empty or the deleted key.
        """
        self.check_keys(keys.shape)
        self._check_batch(keys)
        with self._lock:
            for key in self._keys(keys):
                self._check_key(key)
            values = self._bucket_values
            self._entries = {key: values[place] for key, place in self._places.items()}
        return super().find(keys, default)

    def _put(self, key: Any, value: Any) -> None:
        place = self._places.get(key)
        if place is None:
            place = self._free_place(key)
            self._places[key] = place
            self._bucket_keys[place] = key
        self._bucket_values[place] = value

    def _free_place(self, key: Any) -> int:
        mask = len(self._bucket_keys) - 1
        place, free = _hash(key) & mask, (self._empty, self._deleted)
        for probe in range(1, mask + 2):
            if self._bucket_keys[place] in free:
                return place
            place = (place + probe) & mask
        raise errors.InternalError(None, None, "Internal error in MutableDenseHashTable insert")

    def _grow(self, count: int) -> None:
        buckets = len(self._bucket_keys)
        while count > buckets * self._max_load:
            buckets *= 2
        if buckets == len(self._bucket_keys):
            return
        old = [(key, value) for key, value in zip(self._bucket_keys, self._bucket_values)
               if key in self._places]  # fmt: skip
        self._allocate(buckets)
        for key, value in old:
            self._put(key, value)

    def insert(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Sets the values of keys.

        Raises:
          InvalidArgumentError: for the empty or the deleted key.
        """
        self._check_batch(keys)
        pairs = list(zip(self._keys(keys), self._values(values)))
        with self._lock:
            self._grow(len(self._places) + len(pairs))
            for key, value in pairs:
                self._check_key(key)
                self._put(key, value)

    def remove(self, keys: np.ndarray) -> None:
        """Forgets keys.

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
        """Refuses values that do not fit the keys, both with an axis for scalars."""
        self.check_keys(keys.shape)
        inner = max(len(self.key_shape), 1)
        expected = keys.shape[: keys.ndim - inner] + (self.value_shape or (1,))
        if values.shape != expected:
            raise invalid(
                f"Expected shape {shape_text(expected)} for value, got {shape_text(values.shape)}"
            )

    def replace(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Takes over buckets."""
        with self._lock:
            self._bucket_keys, self._bucket_values = self._keys(keys), self._values(values)
            marks = (self._empty, self._deleted)
            self._places = {
                key: place for place, key in enumerate(self._bucket_keys) if key not in marks
            }

    def all_entries(self) -> tuple[np.ndarray, np.ndarray]:
        """All buckets: keys and values, as matrices."""
        with self._lock:
            keys, values = list(self._bucket_keys), list(self._bucket_values)
        return (
            _matrix(keys, self.key_dtype, self.key_shape),
            _matrix(values, self.value_dtype, self.value_shape),
        )


def _matrix(rows: list[Any], dtype: Any, shape: Shape) -> np.ndarray:
    if dtype.name != "string":
        return np.array(rows, dtype.as_numpy_dtype).reshape(len(rows), -1)
    items = [item for row in rows for item in row] if shape else rows
    matrix = np.empty(len(items), object)
    matrix[:] = items
    return matrix.reshape(len(rows), -1)
