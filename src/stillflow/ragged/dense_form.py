"""Ragged tensors from dense ones, and back with padding."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.arrays.broadcast import broadcast_to
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import fill, ones, zeros
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.masks import boolean_mask, sequence_mask, to_integers
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import expand_dims, rank, reshape, shape
from stillflow.ops.arrays.stack import stack
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.math.binary import maximum, minimum
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal, logical_not
from stillflow.ops.math.cumulative import cumprod, cumsum
from stillflow.ops.math.reductions import reduce_all, reduce_max, reduce_sum

if TYPE_CHECKING:
    from stillflow.ragged.tensor import RaggedTensor


class DenseForm:
    """The methods of `tf.RaggedTensor` that have to do with dense tensors."""

    values: Any
    row_splits: Any
    dtype: Any

    @classmethod
    def from_tensor(
        cls, tensor: Any, lengths: Any = None, padding: Any = None, ragged_rank: int = 1,
        name: str | None = None, row_splits_dtype: Any = dtypes.int64,
    ) -> RaggedTensor:  # fmt: skip
        """Make dimensions of a dense tensor ragged.

        Args:
          tensor: of rank `ragged_rank + 1` or more.
          lengths: how much of each row is kept: integers [rows]; or a list of them, one for each
            ragged dimension from the outermost on.
          padding: a value that is left out at the end of rows, instead of `lengths`.
          ragged_rank: how many dimensions to make ragged, from the second one on.
          name: of the scope.
          row_splits_dtype: of the splits, `tf.int32` or `tf.int64`.

        Raises:
          TypeError: if `ragged_rank` is no int.
          ValueError: if it is not positive, or both `lengths` and `padding` are given.
        """
        kind = dtypes.as_dtype(row_splits_dtype)
        if lengths is not None and padding is not None:
            raise ValueError("Specify lengths or padding, but not both")
        if not isinstance(ragged_rank, int):
            raise TypeError(f"ragged_rank expected int, got {ragged_rank!r}")
        if ragged_rank <= 0:
            raise ValueError(f"ragged_rank must be greater than 0; got {ragged_rank}")
        with name_scope(name, "RaggedFromTensor", [tensor, lengths, padding]):
            tensor = convert_to_tensor(tensor, name="tensor")
            tensor.shape.with_rank_at_least(ragged_rank + 1)
            size = shape(tensor, out_type=kind)
            columns = size[1]
            if ragged_rank > 1:
                return cls._several_dimensions(tensor, size, lengths, padding, ragged_rank, kind)
            if padding is not None:
                lengths = _lengths_without(padding, tensor, columns, kind)
            if _is_nested(lengths):
                return cls._nested_rows(tensor, lengths)
            if lengths is None:
                rows = _whole_rows(tensor, size, columns)
            else:
                rows = _cut_rows(tensor, lengths, columns, kind)
            return cls.from_row_splits(*rows, validate=False)  # type: ignore[attr-defined]

    @classmethod
    def _several_dimensions(
        cls, tensor: Any, size: Any, lengths: Any, padding: Any, ragged_rank: int, kind: Any
    ) -> RaggedTensor:
        """Return the innermost ragged dimension first; the outer ones are uniform."""
        outer_rows = reshape(tensor, concat([constant([-1], kind), size[ragged_rank:]], axis=0))
        values = cls.from_tensor(outer_rows, lengths, padding, row_splits_dtype=kind)
        rows_in = cumprod(size)

        def uniform(axis: int) -> Tensor:
            return range_(0, rows_in[axis - 1] + 1) * size[axis]

        splits = [*map(uniform, range(1, ragged_rank))]
        return cls.from_nested_row_splits(values, splits, validate=False)  # type: ignore[attr-defined]

    @classmethod
    def _nested_rows(cls, tensor: Any, lengths: Any) -> RaggedTensor:
        tensor.shape.with_rank_at_least(len(lengths) + 1)
        marks = ones([reduce_sum(lengths[-1])], dtype=dtypes.bool)
        mask = cls.from_nested_row_lengths(marks, lengths, validate=False)  # type: ignore[attr-defined]
        kept = boolean_mask(tensor, mask.to_tensor(default_value=False))
        return cls.from_nested_row_lengths(kept, lengths, validate=False)  # type: ignore[attr-defined]

    def to_tensor(self, default_value: Any = None, name: str | None = None) -> Tensor:
        """Return a dense tensor as wide as the longest row.

        Args:
          default_value: padding after the end of rows, by default zero; of a shape that can be
            broadcast to that of a value.
          name: of the scope.
        """
        with name_scope(name, "RaggedToTensor", [self, default_value]):
            if default_value is not None:
                default_value = convert_to_tensor(
                    default_value, name="default_value", dtype=self.dtype
                )
            values = self.values
            if isinstance(values, DenseForm):
                values = values.to_tensor(default_value)
            if default_value is not None:
                default_value = _fitting(default_value, values)
            splits, kind = self.row_splits, self.row_splits.dtype
            lengths = [splits[1:] - splits[:-1]]
            rows = shape(splits, out_type=kind)[0] - 1
            columns = maximum(reduce_max(lengths), 0)
            values_shape = shape(values, out_type=kind)
            value_shape, count = values_shape[1:], values_shape[0]
            if default_value is None:
                default_value = zeros(value_shape, dtype=values.dtype)
            default_value.shape.assert_is_compatible_with(values.shape[1:])
            default_value.set_shape(values.shape[1:])
            starts, limits = expand_dims(splits[:-1], 1), expand_dims(splits[1:], 1)
            places = expand_dims(range_(0, columns), 0)
            with_default = concat([values, stack([default_value])], axis=0)
            index = starts + places
            inside = index < limits
            outside = fill(stack([rows, columns]), count)
            return gather(with_default, where(inside, index, outside))


def _is_nested(lengths: Any) -> bool:
    is_list = isinstance(lengths, (list, tuple)) and len(lengths) > 0
    return is_list and not isinstance(lengths[0], (int, float))


def _whole_rows(tensor: Any, size: Any, columns: Any) -> tuple[Tensor, Tensor]:
    """Return the elements of all rows, and the splits."""
    rows = size[0]
    count, splits = rows * columns, range_(rows + 1) * columns
    return reshape(tensor, concat([[count], size[2:]], axis=0)), splits


def _cut_rows(tensor: Any, lengths: Any, columns: Any, kind: Any) -> tuple[Tensor, Tensor]:
    """Return the elements at the start of each row, and the splits."""
    given = to_integers(lengths, "lengths", kind)
    given.shape.assert_has_rank(1)
    kept = maximum(minimum(given, columns), 0)
    ends = cumsum(kept)
    splits = concat([zeros([1], kind), ends], axis=0)
    return boolean_mask(tensor, sequence_mask(kept, maxlen=columns)), splits


def _lengths_without(padding: Any, tensor: Tensor, columns: Tensor, kind: Any) -> Tensor:
    """Return the lengths of rows up to the last element that is no padding."""
    padding = convert_to_tensor(padding, name="padding", dtype=tensor.dtype)
    row_shape, value_shape = tensor.shape[:2], tensor.shape[2:]
    padding.shape.assert_is_compatible_with(value_shape)
    equal_items, depth = equal(padding, tensor), rank(tensor)
    everywhere = partial(reduce_all, equal_items, axis=range_(2, depth))
    is_padding = cond(depth > 2, everywhere, lambda: equal_items)
    is_padding.set_shape(TensorShape([None, None]).merge_with(row_shape))
    kept = cast(logical_not(is_padding), kind)
    numbers = expand_dims(range_(1, columns + 1), 0)
    return reduce_max(kept * numbers, axis=1)


def _fitting(default: Tensor, values: Tensor) -> Tensor:
    """Return the default value in the shape of one of the values."""
    wanted, given = values.shape.ndims, default.shape.ndims
    if wanted is not None:
        default.shape.with_rank_at_most(wanted - 1)
    if wanted is None or given is None or wanted != given + 1:
        default = broadcast_to(default, shape(values)[1:])
    default.shape.assert_is_compatible_with(values.shape[1:])
    return default
