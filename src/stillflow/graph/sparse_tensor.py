"""Tensors of which only some elements are stored: `tf.SparseTensor`."""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.static_value import constant_value_as_shape
from stillflow.graph.tensor_like import TensorLike
from stillflow.graph.tensor_shape import Dimension, TensorShape

if TYPE_CHECKING:
    from stillflow.graph.composite_specs import SparseTensorSpec
    from stillflow.graph.dtypes import DType
    from stillflow.graph.graph import Graph

SparseTensorValue = collections.namedtuple(
    "SparseTensorValue", ["indices", "values", "dense_shape"]
)
export("SparseTensorValue")(SparseTensorValue)


@export("SparseTensor", "sparse.SparseTensor")
class SparseTensor(TensorLike, CompositeTensor):
    """The elements of a tensor that are given, all others being zero.

    Attributes:
      indices: where they stand: int64, shape `[n, rank]`, usually in row-major order.
      values: what they are: shape `[n]`.
      dense_shape: the shape of the whole tensor: int64, shape `[rank]`.

    Raises:
      ValueError: if the three do not fit together.

    Example:
      >>> x = tf.SparseTensor(indices=[[0, 1], [1, 2]], values=[5, 6], dense_shape=[2, 3])
      >>> print(tf.Session().run(tf.sparse.to_dense(x)))
      [[0 5 0]
       [0 0 6]]
    """

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        with name_scope(None, "SparseTensor", [indices, values, dense_shape]):
            self._indices = convert_to_tensor(indices, name="indices", dtype=dtypes.int64)
            self._values = convert_to_tensor(values, name="values")
            self._dense_shape = convert_to_tensor(
                dense_shape, name="dense_shape", dtype=dtypes.int64
            )
        rows, columns = _known(self._indices.shape.with_rank(2))
        (count,) = _known(self._values.shape.with_rank(1))
        (rank,) = _known(self._dense_shape.shape.with_rank(1))
        rows.merge_with(count)
        columns.merge_with(rank)

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """Return the sparse tensor with the parts of another one or of a `SparseTensorValue`."""
        if not is_sparse(sparse_tensor_value):
            raise TypeError(f"Neither a SparseTensor nor SparseTensorValue: {sparse_tensor_value}.")
        return SparseTensor(
            indices=sparse_tensor_value.indices,
            values=sparse_tensor_value.values,
            dense_shape=sparse_tensor_value.dense_shape,
        )

    @property
    def indices(self) -> Tensor:
        return self._indices

    @property
    def values(self) -> Tensor:
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The static shape of the whole tensor, as far as `dense_shape` is known."""
        return constant_value_as_shape(self._dense_shape)

    def get_shape(self) -> TensorShape:
        """See `shape`."""
        return self.shape

    @property
    def op(self) -> Operation:
        """The operation that gives `values`."""
        return self._values.op

    @property
    def dtype(self) -> DType:
        return self._values.dtype

    @property
    def graph(self) -> Graph:
        return self._indices.graph

    def consumers(self) -> list[Operation]:
        """Return the operations that take one of the parts as an input."""
        parts = (self._indices, self._values, self._dense_shape)
        return list(dict.fromkeys(op for part in parts for op in part.consumers()))

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Run the graph up to this tensor and return a `SparseTensorValue`."""
        session = self.graph._session_for(session, "evaluate tensor")
        parts = [self._indices, self._values, self._dense_shape]
        return SparseTensorValue(*session.run(parts, feed_dict))

    @property
    def _type_spec(self) -> SparseTensorSpec:
        from stillflow.graph.composite_specs import spec_of_sparse

        return spec_of_sparse(self)

    def _shape_invariant_to_type_spec(self, shape: Any) -> SparseTensorSpec:
        from stillflow.graph.composite_specs import spec_of_sparse

        return spec_of_sparse(self, shape)

    @staticmethod
    def _override_operator(operator: str, func: Any) -> None:
        setattr(SparseTensor, operator, func)

    def __str__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices!s}, values={self._values!s}, "
            f"dense_shape={self._dense_shape!s})"
        )


@export("convert_to_tensor_or_sparse_tensor")
def convert_to_tensor_or_sparse_tensor(
    value: Any, dtype: Any = None, name: str | None = None
) -> Tensor | SparseTensor:
    """Convert `value` to a `SparseTensor` if it is sparse, else to a `Tensor`.

    Args:
      value: a `SparseTensor`, `SparseTensorValue`, or an argument of `tf.convert_to_tensor`.
      dtype: the element type it must have.
      name: of the op made, if one is made.

    Raises:
      RuntimeError: if a sparse `value` is of another element type.
    """
    if dtype is not None:
        dtype = dtypes.as_dtype(dtype)
    if isinstance(value, SparseTensorValue):
        value = SparseTensor.from_value(value)
    if not isinstance(value, SparseTensor):
        return convert_to_tensor(value, dtype=dtype, name=name)
    if dtype is not None and not dtype.is_compatible_with(value.dtype):
        raise RuntimeError(f"Sparse dtype: requested = {dtype.name}, actual = {value.dtype.name}")
    return value


def _known(shape: TensorShape) -> list[Dimension]:
    """Return the sizes in a shape whose rank is certain."""
    assert shape.dims is not None
    return shape.dims


def is_sparse(x: Any) -> bool:
    """Return True if `x` is a `SparseTensor` or a `SparseTensorValue`."""
    return isinstance(x, (SparseTensor, SparseTensorValue))
