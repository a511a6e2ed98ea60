"""Values of ragged tensors: `tf.ragged.RaggedTensorValue`, made of numpy arrays."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import Any

import numpy as np

from stillflow.graph.export import export

_ARRAY = (np.ndarray, np.generic)


@export("ragged.RaggedTensorValue")
class RaggedTensorValue:
    """Values in rows of different lengths.

    Attributes:
      values: the values of all rows, one row after the other: an array, or ragged themselves.
      row_splits: where each row starts, and where the last one ends: int32 or int64 [rows + 1].
    """

    def __init__(self, values: Any, row_splits: Any) -> None:
        """Put values in rows.

        Raises:
          TypeError: if one of the two is of another kind.
          ValueError: if the rows of ragged `values` have splits of another type.
        """
        is_vector = isinstance(row_splits, _ARRAY) and row_splits.ndim == 1
        kind = row_splits.dtype if is_vector else None
        if kind not in (np.int32, np.int64):
            raise TypeError("row_splits must be a 1D int32 or int64 numpy array")
        if not isinstance(values, (RaggedTensorValue, *_ARRAY)):
            raise TypeError("values must be a numpy array or a RaggedTensorValue")
        if getattr(values, "row_splits", row_splits).dtype != kind:
            raise ValueError("row_splits and values.row_splits must have the same dtype")
        self._values, self._row_splits = values, row_splits

    @property
    def values(self) -> Any:
        return self._values

    @property
    def row_splits(self) -> np.ndarray:
        return self._row_splits

    @property
    def dtype(self) -> np.dtype:
        """The numpy type of the values."""
        return self._values.dtype

    @property
    def flat_values(self) -> Any:
        """The innermost values, an array."""
        inner = self._values
        return inner.flat_values if isinstance(inner, RaggedTensorValue) else inner

    @property
    def nested_row_splits(self) -> tuple[np.ndarray, ...]:
        """The splits of all ragged dimensions, from the outermost on."""
        inner = self._values
        rest = inner.nested_row_splits if isinstance(inner, RaggedTensorValue) else ()
        return (self._row_splits, *rest)

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return len(self.nested_row_splits)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """The sizes of all dimensions, None for ragged ones."""
        return (len(self._row_splits) - 1, None, *self._values.shape[1:])

    def to_list(self) -> list[Any]:
        """Return the rows as nested lists."""
        inner = self._values
        items = inner.to_list() if isinstance(inner, RaggedTensorValue) else inner.tolist()
        return [items[start:end] for start, end in pairwise(self._row_splits)]

    def __str__(self) -> str:
        return f"<tf.RaggedTensorValue {self.to_list()}>"

    def __repr__(self) -> str:
        return f"tf.RaggedTensorValue(values={self._values!r}, row_splits={self._row_splits!r})"


def nested_value(flat_values: Any, nested_row_splits: Any) -> RaggedTensorValue:
    """Return the value of innermost values and their splits, from the outermost on."""
    return reduce(RaggedTensorValue, reversed(tuple(nested_row_splits)), flat_values)
