"""Lookup tables as a session keeps them: fixed ones, and those that change."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any

import numpy as np

from stillflow import errors
from stillflow.graph.dims import shape_text
from stillflow.graph.dtypes import DType
from stillflow.ops.small_steps import KINDS
from stillflow.util.texts import Numbering, address_of, any_texts_of, texts_of

Shape = tuple[int, ...]


invalid = errors.invalid_argument


def _array_of(items: list[Any], dtype: DType, shape: Shape) -> np.ndarray:
    if dtype.name == "string":
        array = np.empty(len(items), object)
        array[:] = items
    else:
        array = np.array(items, dtype.as_numpy_dtype)
    return array.reshape(shape)


class Table:
    """Values by keys.

    Args:
      name: its name in errors.
      key_dtype, value_dtype: types.
      key_shape, value_shape: of one key and one value: () or (n,).
    """

    def __init__(
        self, name: str, key_dtype: DType, value_dtype: DType, key_shape: Shape = (),
        value_shape: Shape = (),
    ) -> None:  # fmt: skip
        self.name, self.key_dtype, self.value_dtype = name, key_dtype, value_dtype
        self.key_shape, self.value_shape = key_shape, value_shape
        self._entries: dict[Any, Any] = {}
        self._lock = threading.Lock()

    def size(self) -> int:
        """Return the number of keys."""
        return len(self._entries)

    def check_keys(self, shape: Shape) -> None:
        """Raise an error unless the keys' shape ends in the table's key shape."""
        rank = len(self.key_shape)
        if shape[len(shape) - rank :] != self.key_shape or len(shape) < rank:
            raise invalid(
                f"Input key shape {shape_text(shape)} must end with the table's key shape "
                f"{shape_text(self.key_shape)}"
            )

    def _outer(self, shape: Shape) -> Shape:
        return shape[: len(shape) - len(self.key_shape)]

    def check_pairs(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Raise an error for values that do not fit the keys."""
        self.check_keys(keys.shape)
        expected = self._outer(keys.shape) + self.value_shape
        if values.shape != expected:
            raise invalid(
                f"Expected shape {shape_text(expected)} for value, got {shape_text(values.shape)}"
            )

    check_import = check_pairs

    def _keys(self, keys: np.ndarray) -> list[Any]:
        """Keys as dictionaries take them."""
        if not self.key_shape:
            return list(keys.reshape(-1).tolist())
        columns = keys.reshape(-1, *self.key_shape).T.tolist()
        return list(zip(*columns, strict=True))

    def _values(self, values: np.ndarray) -> list[Any]:
        rows: list[Any] = values.reshape(-1, *self.value_shape).tolist()
        return rows

    def find(self, keys: np.ndarray, default: np.ndarray) -> np.ndarray:
        """Return the values of keys; that of a key that is not there is `default`."""
        self.check_keys(keys.shape)
        if default.shape != self.value_shape:
            raise invalid(
                f"Expected shape {shape_text(self.value_shape)} for default value, got "
                f"{shape_text(default.shape)}"
            )
        with self._lock:
            found = self._found(self._keys(keys), default)
        return found.reshape(self._outer(keys.shape) + self.value_shape)

    def _found(self, keys: list[Any], default: np.ndarray) -> np.ndarray:
        get, missing = self._entries.get, default.tolist()
        found = [get(key, missing) for key in keys]
        if self.value_shape and self.value_dtype.name == "string":
            found = [item for row in found for item in row]
        return _array_of(found, self.value_dtype, (len(keys), *self.value_shape))

    def all_entries(self) -> tuple[np.ndarray, np.ndarray]:
        """All keys and values."""
        with self._lock:
            keys, values = list(self._entries), list(self._entries.values())
        if self.value_shape and self.value_dtype.name == "string":
            values = [item for row in values for item in row]
        count = len(keys)
        return (
            _array_of(keys, self.key_dtype, (count, *self.key_shape)),
            _array_of(values, self.value_dtype, (count, *self.value_shape)),
        )

    def insert(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Set the values of keys."""
        raise errors.unimplemented("Insert not supported by this table")

    def remove(self, keys: np.ndarray) -> None:
        """Forget keys."""
        raise errors.unimplemented("Remove not supported by this table")

    def replace(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Set the values of keys, and forget all others."""
        raise NotImplementedError


_ENOUGH = 4
_FEW = 128  # strings: a dictionary finds them as fast


class StaticTable(Table):
    """A table that is filled once."""

    def check_pairs(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Raise an error unless keys and values are vectors."""
        for name, given in (("Keys", keys), ("Values", values)):
            if given.ndim != 1:
                text = shape_text(given.shape)
                raise invalid(f"{name} must be a vector, but received shape{text}")
        if keys.size != values.size:
            raise invalid(f"Keys and values must have the same size {keys.size} vs {values.size}")

    check_import = check_pairs

    def remove(self, keys: np.ndarray) -> None:
        """Raise an error: keys cannot be removed."""
        message = "Remove not supported by InitializableLookupTable implementations"
        raise errors.unimplemented(message)

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._filled = False
        self._asked = 0  # for how many keys so far
        self._numbered: tuple[Numbering, np.ndarray] | None = None  # strings, and their values

    def size(self) -> int:
        """Return the number of keys."""
        return len(self._entries) if self._filled else 0

    def find(self, keys: np.ndarray, default: np.ndarray) -> np.ndarray:
        """Return the values of keys.

        Raises:
          FailedPreconditionError: before the table is filled.
        """
        if not self._filled:
            self.check_keys(keys.shape)
            raise errors.failed_precondition("Table not initialized.")
        found = self._found_at_once(keys, default)
        return super().find(keys, default) if found is None else found

    def _found_at_once(self, keys: np.ndarray, default: np.ndarray) -> np.ndarray | None:
        """Numbers by many strings, found by a loop in C; None where there is another way only.

        The strings of the table are numbered once it has been asked for so many that this pays.
        """
        kinds = (self.key_dtype.name == "string", self.value_dtype.name != "string")
        if not all(kinds) or keys.size <= _FEW or default.ndim:
            return None
        self._asked += keys.size
        if self._asked < len(self._entries) // _ENOUGH or (texts := texts_of(keys)) is None:
            return None
        numbering, values = self._in_numbers()
        places = numbering.places(texts)
        found = values[places]
        found[places < 0] = default
        return found.reshape(keys.shape)

    def _in_numbers(self) -> tuple[Numbering, np.ndarray]:
        with self._lock:
            if self._numbered is None:
                known, numbers = any_texts_of(list(self._entries)), list(self._entries.values())
                made = _array_of([*numbers, 0], self.value_dtype, (len(numbers) + 1,))
                self._numbered = Numbering(known), made
        return self._numbered

    def native_values(self) -> np.ndarray | None:
        """Return the `Table` of native/small_sparse.h, if this one has strings and numbers."""
        kind = KINDS.get(self.value_dtype.name)
        if kind is None or self.value_dtype.name == "string" or not self._filled:
            return None
        if self.key_dtype.name != "string" or self.key_shape or self.value_shape:
            return None
        numbering, values = self._in_numbers()
        return np.array([*numbering.known, address_of(values), kind], np.int64)

    def all_entries(self) -> tuple[np.ndarray, np.ndarray]:
        """All keys and values.

        Raises:
          AbortedError: before the table is filled.
        """
        if not self._filled:
            raise errors.aborted("HashTable is not initialized.")
        return super().all_entries()

    def replace(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Fill the table.

        Raises:
          InvalidArgumentError: if there are no entries.
        """
        if not keys.size:
            raise invalid("keys and values cannot be empty tensors.")
        self.fill(zip(self._keys(keys), self._values(values)), keys.size)

    @property
    def filled(self) -> bool:
        """True if the table was initialized."""
        return self._filled

    def fill(self, pairs: Iterable[tuple[Any, Any]], count: int) -> None:
        """Fill the table; nothing is done if it is filled already with as many entries.

        Raises:
          FailedPreconditionError: for other entries, or two values of one key.
        """
        with self._lock:
            if self._filled:
                if count != len(self._entries):
                    raise errors.failed_precondition(
                        "Table was already initialized with different data."
                    )
                return
            for key, value in pairs:
                before = self._entries.setdefault(key, value)
                if before != value:
                    raise errors.failed_precondition(
                        f"HashTable has different value for same key. Key {_shown(key)} has "
                        f"{_shown(before)} and trying to add value {_shown(value)}"
                    )
            self._filled = True


def _shown(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return f"{value:g}" if isinstance(value, float) else str(value)


class MutableTable(Table):
    """A table that changes."""

    def insert(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Set the values of keys."""
        with self._lock:
            self._entries.update(zip(self._keys(keys), self._values(values)))

    def remove(self, keys: np.ndarray) -> None:
        """Forget keys."""
        with self._lock:
            for key in self._keys(keys):
                self._entries.pop(key, None)

    def replace(self, keys: np.ndarray, values: np.ndarray) -> None:
        """Set the values of keys, and forget all others."""
        with self._lock:
            self._entries = dict(zip(self._keys(keys), self._values(values)))
