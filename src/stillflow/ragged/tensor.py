"""Tensors with rows of different lengths: `tf.RaggedTensor`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, dimension_at_index
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.masks import positive_axis
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.arrays.stack import stack
from stillflow.ops.math.binary import maximum
from stillflow.ops.math.cast import cast
from stillflow.ops.math.reductions import reduce_max
from stillflow.ragged.construction import Construction
from stillflow.ragged.dense_form import DenseForm
from stillflow.ragged.segments import INDEX_TYPES, row_splits_to_segment_ids
from stillflow.ragged.stored_form import StoredForm
from stillflow.ragged.value import nested_value

if TYPE_CHECKING:
    from stillflow.ragged.spec import RaggedTensorSpec


@export("RaggedTensor")
class RaggedTensor(Construction, DenseForm, StoredForm, CompositeTensor):
    """Values in rows of different lengths.

    Make one with `tf.ragged.constant`, or from values and a row partition, with
    `tf.RaggedTensor.from_row_splits` and similar methods.
    """

    def __init__(
        self,
        values: Any,
        row_splits: Any,
        cached_row_lengths: Any = None,
        cached_value_rowids: Any = None,
        cached_nrows: Any = None,
        internal: bool = False,
    ) -> None:
        """Put values in rows; only the factory methods may.

        Args:
          values: the values of all rows, one row after the other: a tensor, or ragged.
          row_splits: where each row starts, and where the last one ends: [rows + 1].
          cached_row_lengths, cached_value_rowids, cached_nrows: other known parts.
          internal: whether the caller knows that these fit together.

        Raises:
          TypeError: if something is no tensor.
          ValueError: if types or ranks are not what they should be.
        """
        if not internal:
            raise ValueError(
                "RaggedTensor constructor is private; please use one of the factory methods "
                "instead (e.g., RaggedTensor.from_row_lengths())"
            )
        if not isinstance(row_splits, Tensor):
            raise TypeError(f"Row-partitioning argument must be a Tensor, got {row_splits!r}")
        if not isinstance(values, (RaggedTensor, Tensor)):
            raise TypeError(f"values must be a Tensor or RaggedTensor, got {values!r}")
        if row_splits.dtype not in INDEX_TYPES:
            raise ValueError("Row-partitioning argument must be int32 or int64")
        row_splits.shape.assert_has_rank(1)
        values.shape.with_rank_at_least(1)
        row_splits.set_shape([None])
        if isinstance(values, RaggedTensor):
            assert row_splits.dtype == values.row_splits.dtype
        for cached in (cached_row_lengths, cached_value_rowids, cached_nrows):
            if cached is not None and not isinstance(cached, Tensor):
                raise TypeError("Cached value must be a Tensor or None.")
            if cached is not None and cached.dtype not in INDEX_TYPES:
                raise TypeError("Cached value must be int32 or int64.")
        self._values = values
        self._row_splits = row_splits
        self._cached_row_lengths = cached_row_lengths
        self._cached_value_rowids = cached_value_rowids
        self._cached_nrows = cached_nrows

    # ---- its parts

    @property
    def values(self) -> Any:
        """The values of all rows, one row after the other: a tensor, or ragged."""
        return self._values

    @property
    def row_splits(self) -> Tensor:
        """The start of each row in `values`, and the end of the last one."""
        return self._row_splits

    @property
    def flat_values(self) -> Tensor:
        """The innermost values, a tensor."""
        inner = self._values
        return inner.flat_values if isinstance(inner, RaggedTensor) else inner

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The splits of all ragged dimensions, from the outermost on."""
        return tuple(level._row_splits for level in self._levels())

    def _levels(self) -> list[RaggedTensor]:
        """Return this tensor and its ragged values, from the outermost on."""
        inner = self._values
        return [self, *(inner._levels() if isinstance(inner, RaggedTensor) else ())]

    @property
    def dtype(self) -> DType:
        return self._values.dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape; ragged dimensions have no size."""
        rows = dimension_at_index(self._row_splits.shape, 0) - 1
        return TensorShape([rows, None]).concatenate(self._values.shape[1:])

    @property
    def ragged_rank(self) -> int:
        """The number of ragged dimensions."""
        return len(self._levels())

    # ---- Rows

    def value_rowids(self, name: str | None = None) -> Tensor:
        """Return the row number of each of `values`."""
        if self._cached_value_rowids is not None:
            return self._cached_value_rowids
        with name_scope(name, "RaggedValueRowIds", [self]):
            return row_splits_to_segment_ids(self._row_splits)

    def nested_value_rowids(self, name: str | None = None) -> tuple[Tensor, ...]:
        """Return the `value_rowids` of all ragged dimensions, from the outermost on."""
        with name_scope(name, "RaggedNestedValueRowIds", [self]):
            return tuple([level.value_rowids() for level in self._levels()])

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """Return the number of rows, by default in the type of `row_splits`."""
        kind = dtypes.as_dtype(self._row_splits.dtype if out_type is None else out_type)
        known = self._cached_nrows
        if known is None:
            with name_scope(name, "RaggedNRows", [self]):
                return shape_of(self._row_splits, out_type=kind)[0] - 1
        return cast(known, kind)

    def row_starts(self, name: str | None = None) -> Tensor:
        """Return the start of each row in `values`."""
        with name_scope(name, "RaggedRowStarts", [self]):
            return self._row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Tensor:
        """Return the end of each row in `values`."""
        with name_scope(name, "RaggedRowLimits", [self]):
            return self._row_splits[1:]

    @overload
    def row_lengths(self, axis: Literal[1] = ..., name: str | None = ...) -> Tensor: ...
    @overload
    def row_lengths(self, axis: int, name: str | None = ...) -> Tensor | RaggedTensor: ...
    def row_lengths(self, axis: int = 1, name: str | None = None) -> Tensor | RaggedTensor:
        """Return the lengths of the rows along an axis.

        Args:
          axis: a Python int.
          name: of the scope.

        Returns:
          A tensor of the type of `row_splits`, ragged for the third axis on.
        """
        if self._cached_row_lengths is not None:
            return self._cached_row_lengths
        with name_scope(name, "RaggedRowLengths", [self]):
            axis = positive_axis(axis, self.shape.ndims)
            if axis == 0:
                return self.nrows()
            if axis == 1:
                return self._row_splits[1:] - self._row_splits[:-1]
            if isinstance(self._values, RaggedTensor):
                return self.with_values(self._values.row_lengths(axis - 1))
            kind = self._row_splits.dtype
            size = shape_of(self._values, out_type=kind)
            return self.with_values(ones(size[: axis - 1], kind) * size[axis - 1])

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """Return the lengths of the rows in all ragged dimensions, from the outermost on."""
        with name_scope(name, "RaggedNestedRowLengths", [self]):
            return tuple([level.row_lengths() for level in self._levels()])

    def bounding_shape(
        self, axis: Any = None, name: str | None = None, out_type: Any = None
    ) -> Tensor:
        """Return the shape of the smallest dense tensor that has room for this one.

        Args:
          axis: a Python int or a tensor, if only some sizes are wanted.
          name: of the scope.
          out_type: of the result, by default the type of `row_splits`.
        """
        out_type = self._row_splits.dtype if out_type is None else dtypes.as_dtype(out_type)
        with name_scope(name, "RaggedBoundingBox", [self, axis]):
            if isinstance(axis, int) and axis == 0:
                return shape_of(self._row_splits, out_type=out_type)[0] - 1
            if isinstance(axis, int) and axis == 1:
                return maximum(reduce_max(self.row_lengths()), 0)
            splits_shape = shape_of(self._row_splits, out_type=out_type)
            inner = shape_of(self.flat_values, out_type=out_type)
            rows = splits_shape[0] - 1
            widths = [
                maximum(reduce_max(splits[1:] - splits[:-1]), 0)
                for splits in self.nested_row_splits
            ]
            ragged = stack([rows, *widths])
            box = concat([ragged, inner[1:]], axis=0)
            return box if axis is None else gather(box, axis)

    # ---- The same rows with something else

    def with_values(self, new_values: Any) -> RaggedTensor:
        """Other values in the same rows.

        Raises:
          ValueError: if there cannot be as many, or their splits are of another type.
        """
        new_values.shape.with_rank_at_least(1)
        self._values.shape[:1].assert_is_compatible_with(new_values.shape[:1])
        if isinstance(new_values, RaggedTensor) and new_values.row_splits.dtype != (
            self._row_splits.dtype
        ):
            raise ValueError(
                "self and new_values have mismatched row_splits dtypes; use "
                "RaggedTensor.with_row_splits_dtype() to convert them to compatible dtypes."
            )
        return RaggedTensor(
            new_values,
            self._row_splits,
            self._cached_row_lengths,
            self._cached_value_rowids,
            self._cached_nrows,
            internal=True,
        )

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """Other innermost values in the same rows."""
        inner = self._values
        if isinstance(inner, RaggedTensor):
            new_values = inner.with_flat_values(new_values)
        return self.with_values(new_values)

    def with_row_splits_dtype(self, dtype: Any) -> RaggedTensor:
        """Return the same with all splits in another type, `tf.int32` or `tf.int64`."""
        dtype = dtypes.as_dtype(dtype)
        if dtype not in INDEX_TYPES:
            raise ValueError("dtype must be int32 or int64")
        if self._row_splits.dtype == dtype:
            return self
        row_splits = cast(self._row_splits, dtype)
        inner = self._values
        values = inner.with_row_splits_dtype(dtype) if isinstance(inner, RaggedTensor) else inner
        lengths, rowids = self._cached_row_lengths, self._cached_value_rowids
        lengths = None if lengths is None else cast(lengths, dtype)
        if rowids is not None:
            rowids = cast(cast(rowids, dtype), dtype)  # TF asks twice, the second time in vain
        return RaggedTensor(values, row_splits, lengths, rowids, self._cached_nrows, internal=True)

    # ---- How it is seen by others

    def __getitem__(self, key: Any) -> Tensor | RaggedTensor:
        """Rows, and parts of rows; `key` as for tensors, but no index within ragged rows."""
        from stillflow.ragged.indexing import item

        return item(self, key)

    def __repr__(self) -> str:
        if self._is_eager():
            return f"<tf.RaggedTensor {self.to_list()}>"
        return f"tf.RaggedTensor(values={self._values}, row_splits={self._row_splits})"

    def to_list(self) -> list[Any]:
        """Return the rows as nested lists, where they are known: inside of `tf.py_function`.

        Raises:
          ValueError: if the values are there only in a run.
        """
        if not self._is_eager():
            raise ValueError(
                "RaggedTensor.to_list() is only supported in eager mode; in graph mode, evaluate "
                "the RaggedTensor first and then use RaggedTensorValue.to_list()."
            )
        flat: Any = self.flat_values
        splits: Any = self.nested_row_splits
        value = nested_value(flat.numpy(), [part.numpy() for part in splits])
        return value.to_list()

    def consumers(self) -> list[Any]:
        """Return the operations that take one of the parts as an input."""
        return self._consumers()

    def _as_graph_element(self) -> Tensor:
        return self.flat_values

    def _is_eager(self) -> bool:
        parts = (self.flat_values, *self.nested_row_splits)
        return all(hasattr(part, "numpy") for part in parts)

    @property
    def _type_spec(self) -> RaggedTensorSpec:
        from stillflow.ragged.spec import RaggedTensorSpec

        return RaggedTensorSpec(self.shape, self.dtype, self.ragged_rank, self._row_splits.dtype)

    def _shape_invariant_to_type_spec(self, shape: Any) -> RaggedTensorSpec:
        from stillflow.ragged.spec import RaggedTensorSpec

        return RaggedTensorSpec(shape, self.dtype, self.ragged_rank, self._row_splits.dtype)
