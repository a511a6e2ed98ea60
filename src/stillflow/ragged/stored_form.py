"""Ragged tensors from sparse ones and from variants, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor, SparseTensorValue, is_sparse
from stillflow.ops.arrays.select import where
from stillflow.ops.debugging.asserts import Assert
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal, logical_and, not_equal
from stillflow.ops.math.reductions import reduce_all, reduce_any
from stillflow.ops.ragged.to_sparse import ragged_tensor_to_sparse_op
from stillflow.ops.ragged.variants import (
    ragged_tensor_from_variant_op,
    ragged_tensor_to_variant_op,
)

if TYPE_CHECKING:
    from stillflow.ragged.tensor import RaggedTensor


class StoredForm:
    """The methods of `tf.RaggedTensor` that have to do with sparse tensors and variants."""

    nested_row_splits: Any
    flat_values: Any

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = dtypes.int64
    ) -> RaggedTensor:
        """Return the rows of a sparse matrix whose elements stand at the start of their rows.

        Args:
          st_input: a `SparseTensor` of rank 2.
          name: of the scope.
          row_splits_dtype: of the splits, `tf.int32` or `tf.int64`.

        Raises:
          TypeError: if `st_input` is not sparse.
          ValueError: if it is not known to have rank 2.
        """
        kind = dtypes.as_dtype(row_splits_dtype)
        if not is_sparse(st_input):
            raise TypeError(f"Expected SparseTensor, got {type(st_input).__name__}")
        with name_scope(name, "RaggedFromSparse", [st_input]):
            stored = isinstance(st_input, SparseTensorValue)
            sparse = SparseTensor.from_value(st_input) if stored else st_input
            size, places = sparse.dense_shape.shape, sparse.indices.shape
            ranks = (
                None if size.ndims is None else size.dims[0].value,
                None if places.ndims is None else places.dims[1].value,
            )
            if 2 not in ranks:
                raise ValueError("rank(st_input) must be 2")
            with control_dependencies([_assert_without_gaps(sparse.indices)]):
                rowids = cast(sparse.indices[:, 0], kind)
                rows = cast(sparse.dense_shape[0], kind)
                return cls.from_value_rowids(  # type: ignore[attr-defined]
                    sparse.values, rowids, rows, validate=False
                )

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """Return a sparse tensor with the same elements, at the start of their rows."""
        with name_scope(name, "RaggedToSparse", [self]):
            parts = ragged_tensor_to_sparse_op(self.nested_row_splits, self.flat_values, name=name)
            return SparseTensor(*parts)

    @classmethod
    def _from_variant(
        cls, variant: Any, dtype: Any, output_ragged_rank: int,
        input_ragged_rank: int | None = None, name: str | None = None,
    ) -> RaggedTensor:  # fmt: skip
        """Return the ragged tensor in a variant, or with one row for each of several variants."""
        variant = convert_to_tensor(variant, name="variant", dtype=dtypes.variant)
        rank = variant.shape.ndims
        if None not in (rank, input_ragged_rank) and (
            output_ragged_rank != input_ragged_rank + rank
        ):
            raise ValueError(
                "output_ragged_rank must be equal to input_ragged_rank +variant.shape.ndims, "
                f"found variant.shape.ndims: {rank}, input_ragged_rank: {input_ragged_rank}, "
                f"output_ragged_rank: {output_ragged_rank}"
            )
        given = -1 if input_ragged_rank is None else input_ragged_rank
        with name_scope(name, "RaggedFromVariant", [variant, dtype, given, output_ragged_rank]):
            splits, values = ragged_tensor_from_variant_op(
                variant,
                input_ragged_rank=given,
                output_ragged_rank=output_ragged_rank,
                Tvalues=dtype,
                Tsplits=dtypes.int64,
                name=name,
            )
            return cls.from_nested_row_splits(values, splits, validate=False)  # type: ignore[attr-defined]

    def _to_variant(self, batched_input: bool = False, name: str | None = None) -> Tensor:
        """Return a variant that holds this tensor; if `batched_input`, one for each row."""
        with name_scope(name, "RaggedToVariant", [self, batched_input]):
            return ragged_tensor_to_variant_op(
                self.nested_row_splits, self.flat_values, batched_input=batched_input, name=name
            )


def _assert_without_gaps(indices: Tensor) -> Any:
    """Raise an error unless the elements of each row are adjacent."""
    rows, columns = indices[:, :-1], indices[:, -1]
    is_first = reduce_any(not_equal(rows[1:], rows[:-1]), axis=1)
    at_start = equal(columns[1:], 0)
    follows = equal(columns[1:], columns[:-1] + 1)
    adjacent = where(is_first, at_start, follows)
    first_at_start = reduce_all(equal(columns[:1], 0))
    message = ["SparseTensor is not right-ragged", "SparseTensor.indices =", indices]
    return Assert(logical_and(first_at_start, reduce_all(adjacent)), message)
