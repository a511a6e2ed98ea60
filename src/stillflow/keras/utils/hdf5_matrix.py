"""`tf.keras.utils.HDF5Matrix`: a data set of an HDF5 file instead of an array."""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.graph.export import export


@export("keras.utils.HDF5Matrix")
class HDF5Matrix:
    """Rows of a data set, read as they are asked for.

    Args:
      datapath: the file; it stays open.
      dataset: the name of the data set.
      start, end: the first row, and the one after the last.
      normalizer: called with rows, gives what is used instead.

    Raises:
      ImportError: if h5py is not installed.
    """

    refs: ClassVar[dict[str, Any]] = defaultdict(int)

    def __init__(
        self,
        datapath: str,
        dataset: str,
        start: int = 0,
        end: int | None = None,
        normalizer: Callable[[Any], Any] | None = None,
    ) -> None:
        if datapath not in self.refs:
            try:
                h5py = importlib.import_module("h5py")
            except ImportError:
                raise ImportError(
                    "The use of HDF5Matrix requires HDF5 and h5py installed."
                ) from None
            self.refs[datapath] = h5py.File(datapath, "r")
        self.data = self.refs[datapath][dataset]
        self.start = start
        self.end = self.data.shape[0] if end is None else end
        self.normalizer = normalizer

    def __len__(self) -> int:
        return int(self.end - self.start)

    def __getitem__(self, key: Any) -> Array:
        rows = self.data[self._inside(key)]
        return rows if self.normalizer is None else self.normalizer(rows)

    def _inside(self, key: Any) -> Any:
        """Return the rows of the data set that a key means."""
        if isinstance(key, slice):
            first = 0 if key.start is None else key.start
            stop = len(self) if key.stop is None else key.stop
            if stop + self.start > self.end:
                raise IndexError
            return slice(first + self.start, stop + self.start)
        if np.max(key) + self.start >= self.end:
            raise IndexError
        if isinstance(key, (int, np.integer)):
            return key + self.start
        return [int(row) + self.start for row in key]

    @property
    def shape(self) -> tuple[int, ...]:
        """[rows, ...]."""
        return (self.end - self.start, *self.data.shape[1:])

    @property
    def dtype(self) -> Any:
        """The type of the data set."""
        return self.data.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return int(self.data.ndim)

    @property
    def size(self) -> int:
        """The number of elements."""
        return int(np.prod(self.shape))
