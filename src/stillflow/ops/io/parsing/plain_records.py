"""Lines of delimited fields that are written plainly, read by a loop in C.

Most lines of most files are plain: no quotes in fields, no missing fields, numbers of a few digits.
The caller has another implementation for the others, which raises the errors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow import native
from stillflow.graph import dtypes
from stillflow.graph.lazy import torch
from stillflow.util.texts import FEW, Texts, address_of, library, strings_at

_KINDS = {dtypes.string: 0, dtypes.int32: 1, dtypes.int64: 2, dtypes.float32: 3, dtypes.float64: 3}


class PlainRecords:
    """Reader of plain lines.

    Args:
      types: of the columns.
      delimiter: one byte.
      quotes: whether quotes hold fields together.
      na_value: text of a missing field; lines that may contain it are not plain.
    """

    def __init__(
        self, types: Sequence[Any], delimiter: bytes, quotes: bool, na_value: bytes = b""
    ) -> None:
        self._types, self._delimiter, self._quotes = list(types), delimiter[0], quotes
        self._kinds = np.array([_KINDS[dtype] for dtype in types], np.uint8)
        self._texts = [place for place, dtype in enumerate(types) if dtype == dtypes.string]
        self._numbers = [
            (dtype, np.array([place for place, each in enumerate(types) if each == dtype]))
            for dtype in dict.fromkeys(types) if dtype != dtypes.string
        ]  # fmt: skip
        self._reads = not na_value and delimiter not in b'0123456789.e-\n\r"'

    def columns(self, lines: Sequence[bytes]) -> list[Any] | None:
        """Return for each column a vector of its fields; None if a line is not plain."""
        found = self._read(lines)
        if found is None:
            return None
        text, values, bounds = found
        result: list[Any] = [None] * len(self._types)
        for place in self._texts:
            result[place] = _strings(text, bounds[:, place])
        for dtype, places in self._numbers:
            made = _as_type(values[:, places].T, dtype)
            for place, numbers in zip(places.tolist(), made, strict=True):
                result[place] = numbers
        return result

    def one(self, line: bytes) -> list[Any] | None:
        """Return the fields of one line, each without dimensions; None if it is not plain."""
        found = self._read((line,))
        if found is None:
            return None
        _, values, bounds = found
        result: list[Any] = [None] * len(self._types)
        for place in self._texts:
            begin, end = bounds[0, place].tolist()
            result[place] = np.array(line[begin:end], object)
        for dtype, places in self._numbers:
            numbers = _as_type(values[0, places], dtype).unbind()
            for place, number in zip(places.tolist(), numbers, strict=True):
                result[place] = number
        return result

    def _read(self, lines: Sequence[bytes]) -> tuple[bytes, np.ndarray, np.ndarray] | None:
        loops = native.library()
        if loops is None or not self._reads or not lines:
            return None
        count, columns = len(lines), len(self._types)
        text = lines[0] if count == 1 else b"".join(lines)
        ends = np.array([0, len(text)]) if count == 1 else np.cumsum([0, *map(len, lines)])
        values = np.empty((count, columns), np.int64)
        bounds = np.empty((count, columns, 2), np.int64)
        read = loops.read_records(
            text,
            address_of(ends),
            count,
            self._delimiter,
            self._quotes,
            address_of(self._kinds),
            columns,
            address_of(values),
            address_of(bounds),
        )
        return (text, values, bounds) if read == count else None


def _strings(text: bytes, bounds: np.ndarray) -> np.ndarray:
    """Return the strings between bounds [n, 2] in a text, as objects."""
    if len(bounds) > FEW and library() is not None:
        starts, ends = np.ascontiguousarray(bounds.T)
        data = np.frombuffer(text, np.uint8)
        return strings_at(Texts(starts + address_of(data), ends - starts, text), (len(bounds),))
    column = np.empty(len(bounds), object)
    column[:] = [text[begin:end] for begin, end in bounds.tolist()]
    return column


def _as_type(values: np.ndarray, dtype: Any) -> torch.Tensor:
    """Return fields as numbers of a type, from int64 or bits of doubles."""
    values = np.ascontiguousarray(values)
    if dtype.is_floating:
        values = values.view(np.float64)
    return torch.from_numpy(values).to(getattr(torch, dtype.torch_name))
