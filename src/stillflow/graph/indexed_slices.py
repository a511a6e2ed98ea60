"""Some rows of a larger tensor: the form of look-ups' gradients.

`IndexedSlices(values, indices)` stands for a dense tensor that is zero but for rows `indices[i]`,
to each of which `values[i]` is added.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from stillflow.graph import dtypes
from stillflow.graph.api import graph_from_inputs
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.tensor_like import TensorLike, is_tensor_like

if TYPE_CHECKING:
    from stillflow.graph.composite_specs import IndexedSlicesSpec
    from stillflow.graph.dtypes import DType
    from stillflow.graph.graph import Graph

IndexedSlicesValue = collections.namedtuple(
    "IndexedSlicesValue", ["values", "indices", "dense_shape"]
)


@export("IndexedSlices")
class IndexedSlices(TensorLike, CompositeTensor):
    """Rows of a tensor, with their positions along its first dimension.

    Attributes:
      values: the rows, of shape `[n, ...]`.
      indices: where they belong, of shape `[n]`; a row may occur more than once.
      dense_shape: the shape of the tensor they are part of, or None.

    Example:
      >>> table = tf.get_variable("table", [1000, 2])
      >>> slices = tf.gradients(tf.gather(table, [3, 7]), table)[0]
      >>> isinstance(slices, tf.IndexedSlices), slices.values.shape.as_list()
      (True, [2, 2])
    """

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        graph_from_inputs([values, indices, dense_shape])  # all must be of one graph
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    @property
    def values(self) -> Tensor:
        return self._values

    @property
    def indices(self) -> Tensor:
        return self._indices

    @property
    def dense_shape(self) -> Tensor | None:
        return self._dense_shape

    @property
    def name(self) -> str:
        return self.values.name

    @property
    def device(self) -> str:
        return self.values.device

    @property
    def op(self) -> Operation:
        """The operation that gives `values`."""
        return self.values.op

    @property
    def dtype(self) -> DType:
        return self.values.dtype

    @property
    def graph(self) -> Graph:
        return self.values.graph

    def consumers(self) -> list[Operation]:
        """Return the operations that take one of the parts as an input."""
        parts = (self._values, self._indices, self._dense_shape)
        found = [op for part in parts if part is not None for op in part.consumers()]
        return list(dict.fromkeys(found))

    @property
    def _type_spec(self) -> IndexedSlicesSpec:
        from stillflow.graph.composite_specs import spec_of_slices

        return spec_of_slices(self)

    def _shape_invariant_to_type_spec(self, shape: Any) -> IndexedSlicesSpec:
        from stillflow.graph.composite_specs import spec_of_slices

        return spec_of_slices(self, shape)

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self.values, self.indices, self.dense_shape)

    def __str__(self) -> str:
        shape = "" if self._dense_shape is None else f", dense_shape={self._dense_shape!s}"
        return f"IndexedSlices(indices={self._indices!s}, values={self._values!s}{shape})"


@export("convert_to_tensor_or_indexed_slices")
def convert_to_tensor_or_indexed_slices_public(
    value: Any, dtype: Any = None, name: str | None = None
) -> Tensor:
    """Convert `value` to a tensor, unless it is an `IndexedSlices` or `SparseTensor`.

    Args:
      value: such an object, or an argument of `tf.convert_to_tensor`.
      dtype: the element type it must have.
      name: of the op made, if one is made.

    Raises:
      ValueError: if `value` is of another element type.
    """
    return convert_to_tensor_or_indexed_slices(value, dtype, name)


def convert_to_tensor_or_indexed_slices(
    value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    """See the public function; with `as_ref`, a variable gives its reference."""
    if not is_tensor_like(value):
        return convert_to_tensor(value, dtype=dtype, name=name, as_ref=as_ref)
    if dtype is not None and not dtypes.as_dtype(dtype).is_compatible_with(value.dtype):
        raise ValueError(
            f"Tensor conversion requested dtype {dtypes.as_dtype(dtype).name} for Tensor with "
            f"dtype {value.dtype.name}: {str(value)!r}"
        )
    return value


def convert_n_to_tensor_or_indexed_slices(
    values: Sequence[Any], dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> list[Any]:
    """Convert each of `values` that is not None; the name of number i is `name_i`."""
    if not isinstance(values, collections.abc.Sequence):
        raise TypeError("values must be a sequence.")
    result = []
    for i, value in enumerate(values):
        if value is not None:
            number = None if name is None else f"{name}_{i}"
            value = convert_to_tensor_or_indexed_slices(value, dtype, number, as_ref)
        result.append(value)
    return result
