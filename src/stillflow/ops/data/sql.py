"""SqlDataset: the results of a query of an SQLite database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from stillflow import errors
from stillflow.graph import dtypes
from stillflow.graph.arrays import string_scalar
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.data.pipeline import (
    TYPED,
    Context,
    Dataset,
    component_dims,
    dataset_op,
    invalid,
    scalar,
)
from stillflow.ops.data.walk import Element, Walk

sql_dataset_op = dataset_op(
    "SqlDataset(driver_name: string, data_source_name: string, query: string) -> "
    f"handle: variant{TYPED}\nflags: stateful",
    effect="reads files",
)


class _Rows(Walk):
    """The rows that a query gives."""

    inputs = ()
    numbers: ClassVar[dict[str, str]] = {"next_row": "next_calls"}
    flags: ClassVar[dict[str, str]] = {"ended": "end_of_sequence"}

    def __init__(self, context: Context, source: str, query: str, types: list[Any]) -> None:
        self.context = context
        self.source = source
        self.query = query
        self.types = types
        self.next_row = 0
        self.ended = False
        self.connection: sqlite3.Connection | None = None
        self.rows: Iterator[tuple[Any, ...]] | None = None

    def __next__(self) -> Element:
        if self.ended:
            raise StopIteration
        try:
            if self.rows is None:
                self.rows = self._open()
            row = next(self.rows)
        except StopIteration:
            self.ended = True
            self.close()
            raise
        except sqlite3.Error as error:
            self.close()
            raise _failure(error) from error
        self.next_row += 1
        pairs = zip(row, self.types, strict=True)
        return tuple([_component(value, dtype) for value, dtype in pairs])

    def _open(self) -> Iterator[tuple[Any, ...]]:
        try:
            connection = sqlite3.connect(self.source, check_same_thread=False)
        except sqlite3.Error as error:
            message = f"Sqlite::Open({self.source}) failed: {error}"
            raise errors.unknown(message) from error
        self.connection = connection
        self.context.on_close(self)
        connection.text_factory = bytes
        cursor = connection.execute(self.query)
        width = len(cursor.description or ())
        if width != len(self.types):
            self.close()
            raise invalid(
                f"The number of columns in query ({width}) must match the number of elements in "
                f"output_types ({len(self.types)})."
            )
        for _ in range(self.next_row):
            next(cursor, None)
        return cursor

    def close(self) -> None:
        """Close the database."""
        connection, self.connection, self.rows = self.connection, None, None
        if connection is not None:
            connection.close()


def _failure(error: sqlite3.Error) -> errors.OpError:
    kind: Any = errors.UnavailableError if "locked" in str(error) else errors.UnknownError
    return kind(None, None, str(error))


def _number(value: Any) -> float:
    """Return a value as SQLite converts it: 0 for texts that are no number."""
    if value is None:
        return 0
    if isinstance(value, bytes):
        try:
            return float(value)
        except ValueError:
            return 0
    return value


def _component(value: Any, dtype: Any) -> Any:
    if dtype == dtypes.string:
        if value is None:
            return string_scalar(b"")
        return string_scalar(value if isinstance(value, bytes) else str(value).encode())
    if dtype == dtypes.bool:
        return torch.tensor(int(_number(value)) != 0)
    if dtype.is_floating:
        return torch.tensor(float(_number(value)), dtype=getattr(torch, dtype.torch_name))
    whole = np.array(int(_number(value)), np.int64).astype(dtype.as_numpy_dtype)  # wraps around
    return torch.from_numpy(whole)


_KINDS = (
    dtypes.string, dtypes.int8, dtypes.int16, dtypes.int32, dtypes.int64, dtypes.uint8,
    dtypes.uint16, dtypes.bool, dtypes.float64,
)  # fmt: skip


@sql_dataset_op.kernel
def sql_dataset_kernel(node: Node) -> Kernel:
    types, shapes = list(node.output_types), component_dims(node)
    for dtype in types:
        if dtype not in _KINDS:
            raise invalid(
                "Each element of `output_types_` must be one of: DT_STRING, DT_INT8, DT_INT16, "
                "DT_INT32, DT_INT64, DT_UINT8, DT_UINT16, DT_BOOL, DT_DOUBLE "
            )
    if any(shape != () for shape in shapes):
        raise invalid("Each element of `output_shapes_` must be a scalar.")

    def run(driver: Any, source: Any, query: Any) -> Dataset:
        if scalar(driver) != b"sqlite":
            raise invalid(
                "The database type, "
                f"{scalar(driver).decode(errors='replace')}, is not supported by SqlDataset. The "
                "set of supported databases is: {'sqlite'}."
            )
        where, text = scalar(source).decode(), scalar(query).decode()
        return Dataset("Sql", types, shapes, lambda context, _: _Rows(context, where, text, types))

    return run
