"""Base of lookup tables of every kind."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.train.tracking.resources import TrackableResource


def signature_mismatch(expected: Any, got: Any) -> TypeError:
    """Return the error for keys of another type."""
    return TypeError(f"Signature mismatch. Keys must be dtype {expected}, got {got}.")


@export("contrib.lookup.LookupInterface")
class LookupInterface(TrackableResource):
    """A table of values by keys, kept by the session.

    Args:
      key_dtype, value_dtype: types of keys and values.
    """

    def __init__(self, key_dtype: Any, value_dtype: Any) -> None:
        super().__init__()
        self._key_dtype = dtypes.as_dtype(key_dtype)
        self._value_dtype = dtypes.as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The type of keys."""
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The type of values."""
        return self._value_dtype

    @property
    def name(self) -> type[Any]:
        """The table's name."""
        return NotImplementedError

    def size(self, name: str | None = None) -> Any:
        """Return the number of elements, an int64 scalar tensor."""
        raise NotImplementedError

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the values of keys."""
        raise NotImplementedError
