"""Ragged tensors from values and row partitions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.static_value import static_value
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import zeros
from stillflow.ops.arrays.shape import shape
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.debugging.comparisons import (
    assert_equal,
    assert_less,
    assert_less_equal,
    assert_non_negative,
)
from stillflow.ops.debugging.ranks import assert_rank, assert_rank_at_least
from stillflow.ops.math.cast import cast
from stillflow.ops.math.counting import bincount
from stillflow.ops.math.cumulative import cumsum
from stillflow.ops.math.reductions import reduce_sum
from stillflow.ragged.segments import INDEX_TYPES, row_splits_of

if TYPE_CHECKING:
    from stillflow.ragged.tensor import RaggedTensor


Checks = Callable[[str], Iterator[Any]]


class Construction:
    """The factory methods of `tf.RaggedTensor`.

    They all take `values` (a tensor, or ragged), a `name` for the scope, and `validate`: whether
    a run checks that the arguments fit together. They raise TypeError or ValueError for
    arguments that are known not to.
    """

    row_splits: Any

    @classmethod
    def from_value_rowids(
        cls, values: Any, value_rowids: Any, nrows: Any = None, name: str | None = None,
        validate: bool = True,
    ) -> Any:  # fmt: skip
        """Put values in rows by the (ascending) number of each one's row, of `nrows` in all."""
        _check_bool(validate)
        with name_scope(name, "RaggedFromValueRowIds", [values, value_rowids, nrows]):
            values, rowids = cls._convert(values, value_rowids, "value_rowids")
            rows, known = _row_count(rowids, nrows)
            rowids.shape.assert_has_rank(1)
            rows.shape.assert_has_rank(0)
            values.shape[:1].assert_is_compatible_with(rowids.shape)

            def checks(message: str) -> Iterator[Any]:
                count, ids = cls._length(values), cls._length(rowids)
                yield assert_rank(rowids, 1, message=message)
                yield assert_rank(rows, 0, message=message)
                yield assert_equal(count, ids, message=message)
                yield assert_non_negative(rowids[:1], message=message)
                yield _ascending(rowids, message)
                yield assert_less(rowids[-1:], rows, message=message)

            if validate:
                rowids = cls._checked(values, rowids, "from_value_rowids", checks)
            ids_int32, rows_int32 = cast(rowids, dtypes.int32), cast(rows, dtypes.int32)
            lengths = bincount(
                ids_int32, minlength=rows_int32, maxlength=rows_int32, dtype=rowids.dtype
            )
            splits = row_splits_of(lengths)
            if known is not None:
                lengths.set_shape([known])
                splits.set_shape([known + 1])
            return cls(values, splits, lengths, rowids, rows, internal=True)  # type: ignore[call-arg]

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Put values in rows by where each row starts and the last one ends."""
        _check_bool(validate)
        if isinstance(row_splits, (list, tuple)) and not row_splits:
            raise ValueError("row_splits tensor may not be empty.")
        with name_scope(name, "RaggedFromRowSplits", [values, row_splits]):
            values, splits = cls._convert(values, row_splits, "row_splits")
            splits.shape.assert_has_rank(1)

            def checks(message: str) -> Iterator[Any]:
                count = cls._length(values, splits.dtype)
                yield assert_rank(splits, 1, message=message)
                yield _zero(splits[0], message)
                yield _ascending(splits, message)
                yield assert_equal(splits[-1], count, message=message)

            if validate:
                splits = cls._checked(values, splits, "from_row_splits", checks)
            return cls(values, splits, internal=True)  # type: ignore[call-arg]

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Put values in rows by the lengths of the rows."""
        _check_bool(validate)
        with name_scope(name, "RaggedFromRowLengths", [values, row_lengths]):
            values, lengths = cls._convert(values, row_lengths, "row_lengths")
            lengths.shape.assert_has_rank(1)

            def checks(message: str) -> Iterator[Any]:
                total, count = reduce_sum(lengths), cls._length(values, lengths.dtype)
                yield assert_rank(lengths, 1, message=message)
                yield assert_non_negative(lengths, message=message)
                yield assert_equal(total, count, message=message)

            if validate:
                lengths = cls._checked(values, lengths, "from_row_lengths", checks)
            limits = cumsum(lengths)
            splits = concat([[0], limits], axis=0)
            return cls(values, splits, lengths, internal=True)  # type: ignore[call-arg]

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Put values in rows by where each row starts."""
        _check_bool(validate)
        with name_scope(name, "RaggedFromRowStarts", [values, row_starts]):
            values, starts = cls._convert(values, row_starts, "row_starts")
            starts.shape.assert_has_rank(1)
            count = cls._length(values, starts.dtype)

            def checks(message: str) -> Iterator[Any]:
                yield assert_rank(starts, 1, message=message)
                yield _zero(starts[:1], message)
                yield _ascending(starts, message)
                yield assert_less_equal(starts[-1:], count, message=message)

            if validate:
                starts = cls._checked(values, starts, "from_row_starts", checks)
            splits = concat([starts, [count]], axis=0)
            return cls(values, splits, internal=True)  # type: ignore[call-arg]

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Put values in rows by where each row ends."""
        _check_bool(validate)
        with name_scope(name, "RaggedFromRowLimits", [values, row_limits]):
            values, limits = cls._convert(values, row_limits, "row_limits")
            limits.shape.assert_has_rank(1)

            def checks(message: str) -> Iterator[Any]:
                count = cls._length(values, limits.dtype)
                yield assert_rank(limits, 1, message=message)
                yield assert_non_negative(limits[:1], message=message)
                yield _ascending(limits, message)
                yield assert_equal(limits[-1:], count, message=message)

            if validate:
                limits = cls._checked(values, limits, "from_row_limits", checks)
            splits = concat([zeros([1], limits.dtype), limits], axis=0)
            return cls(values, splits, internal=True)  # type: ignore[call-arg]

    @classmethod
    def from_nested_value_rowids(
        cls, flat_values: Any, nested_value_rowids: Sequence[Any],
        nested_nrows: Sequence[Any] | None = None, name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:  # fmt: skip
        """Put values in rows of rows; see `from_value_rowids`."""
        _check_bool(validate)
        _check_list(nested_value_rowids, "nested_value_rowids")
        if nested_nrows is None:
            nested_nrows = [None] * len(nested_value_rowids)
        else:
            _check_list(nested_nrows, "nested_nrows")
            if len(nested_nrows) != len(nested_value_rowids):
                raise ValueError("nested_nrows must have the same length as nested_value_rowids")
        inputs = [flat_values, *nested_value_rowids, *nested_nrows]
        with name_scope(name, "RaggedFromNestedValueRowIds", inputs):
            result = flat_values
            for rowids, rows in reversed(list(zip(nested_value_rowids, nested_nrows))):
                result = cls.from_value_rowids(result, rowids, rows, validate=validate)
            return result

    @classmethod
    def from_nested_row_splits(
        cls, flat_values: Any, nested_row_splits: Sequence[Any], name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:  # fmt: skip
        """Put values in rows of rows; see `from_row_splits`."""
        _check_bool(validate)
        _check_list(nested_row_splits, "nested_row_splits")
        with name_scope(name, "RaggedFromNestedRowSplits", [flat_values, *nested_row_splits]):
            result = flat_values
            for splits in reversed(nested_row_splits):
                result = cls.from_row_splits(result, splits, validate=validate)
            return result

    @classmethod
    def from_nested_row_lengths(
        cls, flat_values: Any, nested_row_lengths: Sequence[Any], name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:  # fmt: skip
        """Put values in rows of rows; see `from_row_lengths`."""
        _check_bool(validate)
        _check_list(nested_row_lengths, "nested_row_lengths")
        with name_scope(name, "RaggedFromNestedRowlengths", [flat_values, *nested_row_lengths]):
            result = flat_values
            for lengths in reversed(nested_row_lengths):
                result = cls.from_row_lengths(result, lengths, validate=validate)
            return result

    # ---- shared parts

    @classmethod
    def _convert(cls, values: Any, partition: Any, name: str) -> tuple[Any, Tensor]:
        """Return the values and the row partition as tensors with consistent types."""
        if isinstance(values, cls):
            kind = values.row_splits.dtype
            if not isinstance(partition, Tensor):
                return values, convert_to_tensor(partition, kind, name=name)
            _check_index_type(partition, name)
            if partition.dtype != kind:
                raise ValueError(
                    f"dtype mismatch: {name} ({partition.dtype}) vs values.row_splits ({kind})"
                )
            return values, partition
        values = convert_to_tensor(values, name="values")
        if isinstance(partition, np.ndarray) and partition.dtype == np.int32:
            partition = convert_to_tensor(partition, name=name)
        else:
            partition = convert_to_tensor(partition, preferred_dtype=dtypes.int64, name=name)
        _check_index_type(partition, name)
        return values, partition

    @classmethod
    def _checked(cls, values: Any, partition: Tensor, method: str, checks: Checks) -> Tensor:
        """`partition`, which is there only once it is known to fit the values."""
        conditions = list(checks(f"Arguments to {method} do not form a valid RaggedTensor"))
        if not isinstance(values, cls):
            conditions.append(assert_rank_at_least(values, 1))
        return with_dependencies(conditions, partition)

    @classmethod
    def _length(cls, values: Any, out_type: Any = dtypes.int32) -> Tensor:
        """Return the number of rows of a tensor of either kind."""
        if isinstance(values, cls):
            return values.nrows(out_type=out_type)  # type: ignore[attr-defined]
        return shape(values, out_type=out_type)[0]


def _check_bool(validate: Any) -> None:
    if not isinstance(validate, bool):
        raise TypeError("validate must have type bool")


def _check_list(given: Any, name: str) -> None:
    if isinstance(given, Tensor):
        raise TypeError(f"{name} must be a list of Tensors")


def _check_index_type(partition: Tensor, name: str) -> None:
    if partition.dtype not in INDEX_TYPES:
        raise ValueError(f"{name} must have dtype int32 or int64")


def _row_count(rowids: Tensor, given: Any) -> tuple[Tensor, int | None]:
    """Return the number of rows, as a tensor and, where it is known, as a number."""
    if given is None:
        ids = static_value(rowids)
        if ids is None:
            return concat([rowids[-1:], [-1]], axis=0)[0] + 1, None
        known = int(ids[-1]) + 1 if ids.size else 0
        return convert_to_tensor(known, rowids.dtype, name="nrows"), known
    rows = convert_to_tensor(given, rowids.dtype, "nrows")
    value = static_value(rows)
    if value is None:
        return rows, None
    if value < 0:
        raise ValueError(f"Expected nrows >= 0; got {int(value)}")
    ids = static_value(rowids)
    if ids is not None and ids.size and value < ids[-1] + 1:
        raise ValueError(
            f"Expected nrows >= value_rowids[-1] + 1; got nrows={int(value)}, "
            f"value_rowids[-1]={int(ids[-1])}"
        )
    return rows, value


def _ascending(tensor: Tensor, message: str) -> Operation:
    return assert_non_negative(tensor[1:] - tensor[:-1], message=message)


def _zero(tensor: Tensor, message: str) -> Any:
    return assert_equal(tensor, constant(0, dtype=tensor.dtype), message=message)
