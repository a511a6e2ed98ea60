"""Types of sparse tensors and of indexed slices."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dtypes, type_spec
from stillflow.graph.build import apply
from stillflow.graph.card import get
from stillflow.graph.constant_value import partial_shape
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.indexed_slices import IndexedSlices, IndexedSlicesValue
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor, SparseTensorValue
from stillflow.graph.tensor_shape import TensorShape, as_shape, shape_from_dims
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.graph.type_spec import (
    BatchableTypeSpec,
    TypeSpec,
    register_type_spec_from_value_converter,
)


@export("SparseTensorSpec")
class SparseTensorSpec(BatchableTypeSpec):
    """The type of a sparse tensor.

    Attributes:
      shape: The shape of the whole tensor.
      dtype: The type of the elements.
    """

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: Any = None, dtype: Any = dtypes.float32) -> None:
        """Make a type; without a shape, that of tensors of any shape."""
        self._shape = as_shape(shape)
        self._dtype = dtypes.as_dtype(dtype)

    @property
    def value_type(self) -> type[Any]:
        return SparseTensor

    @property
    def dtype(self) -> dtypes.DType:
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        return self._shape

    @classmethod
    def from_value(cls, value: Any) -> Any:
        """Return the type of a `SparseTensor` or `SparseTensorValue`.

        Raises:
          TypeError: If `value` is neither.
        """
        if isinstance(value, SparseTensor):
            return cls(value.shape, value.dtype)
        if not isinstance(value, SparseTensorValue):
            raise TypeError("Expected SparseTensor or SparseTensorValue")
        if isinstance(value.values, np.ndarray):
            return cls(value.dense_shape, value.values.dtype)
        return cls.from_value(SparseTensor.from_value(value))

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype

    @property
    def _component_specs(self) -> list[TensorSpec]:
        rank = self._shape.ndims
        return [
            TensorSpec([None, rank], dtypes.int64),
            TensorSpec([None], self._dtype),
            TensorSpec([rank], dtypes.int64),
        ]

    def _to_components(self, value: Any) -> list[Tensor]:
        if isinstance(value, SparseTensorValue):
            value = SparseTensor.from_value(value)
        return [value.indices, value.values, value.dense_shape]

    def _from_components(self, components: Any) -> Any:
        if all(isinstance(component, np.ndarray) for component in components):
            return SparseTensorValue(*components)
        return SparseTensor(*components)

    # Where tensors travel through a pipeline one by one, a sparse tensor travels as one variant.

    @property
    def _flat_tensor_specs(self) -> list[Any]:
        return [TensorSpec(None, dtypes.variant)]

    def _to_tensor_list(self, value: Any) -> list[Any]:
        return [_as_variant("SerializeSparse", SparseTensor.from_value(value))]

    def _to_batched_tensor_list(self, value: Any) -> list[Any]:
        dense_shape = shape_from_dims(partial_shape(value.dense_shape))
        if self._shape.merge_with(dense_shape).ndims == 0:
            raise ValueError("Unbatching a sparse tensor is only supported for rank >= 1")
        return [_as_variant("SerializeManySparse", value)]

    def _from_compatible_tensor_list(self, tensor_list: list[Any]) -> SparseTensor:
        parts = _run("DeserializeSparse", tensor_list[:1], {"dtype": self._dtype})
        for part, spec in zip(parts, self._component_specs, strict=True):
            part.set_shape(spec.shape)
        return SparseTensor(*parts)

    def _batch(self, batch_size: int | None) -> SparseTensorSpec:
        return SparseTensorSpec(TensorShape([batch_size]).concatenate(self._shape), self._dtype)

    def _unbatch(self) -> SparseTensorSpec:
        if self._shape.ndims == 0:
            raise ValueError("Unbatching a tensor is only supported for rank >= 1")
        return SparseTensorSpec(self._shape[1:], self._dtype)

    def _to_legacy_output_types(self) -> DType:
        return self._dtype

    def _to_legacy_output_shapes(self) -> TensorShape:
        return self._shape

    def _to_legacy_output_classes(self) -> type[Any]:
        return SparseTensor


def _as_variant(op_type: str, value: Any) -> Tensor:
    parts = [value.indices, value.values, value.dense_shape]
    return _run(op_type, parts, {"out_type": dtypes.variant})


def _run(op_type: str, inputs: list[Any], attrs: dict[str, Any]) -> Any:
    return apply(get(op_type), inputs, attrs, None)


@export("IndexedSlicesSpec")
class IndexedSlicesSpec(TypeSpec):
    """The type of slices of a tensor."""

    __slots__ = (
        "_dense_shape_dtype",
        "_indices_dtype",
        "_indices_shape",
        "_shape",
        "_values_dtype",
    )

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        indices_dtype: Any = dtypes.int64,
        dense_shape_dtype: Any = None,
        indices_shape: Any = None,
    ) -> None:
        """Make a type.

        Args:
          shape: The shape of the whole tensor; None for any.
          dtype: The type of the elements.
          indices_dtype: The type of the indices, int32 or int64.
          dense_shape_dtype: The type of `dense_shape`, None if there is none.
          indices_shape: The shape of the indices, which says how many slices there are.
        """
        self._shape = as_shape(shape)
        self._values_dtype = dtypes.as_dtype(dtype)
        self._indices_dtype = dtypes.as_dtype(indices_dtype)
        self._dense_shape_dtype = (
            None if dense_shape_dtype is None else dtypes.as_dtype(dense_shape_dtype)
        )
        self._indices_shape = as_shape(indices_shape).with_rank(1)

    @property
    def value_type(self) -> type[Any]:
        return IndexedSlices

    def _serialize(self) -> tuple[Any, ...]:
        return (
            self._shape,
            self._values_dtype,
            self._indices_dtype,
            self._dense_shape_dtype,
            self._indices_shape,
        )

    @property
    def _component_specs(self) -> tuple[TensorSpec, ...]:
        values_shape = self._indices_shape.concatenate(self._shape[1:])
        specs = [
            TensorSpec(values_shape, self._values_dtype),
            TensorSpec(self._indices_shape, self._indices_dtype),
        ]
        if self._dense_shape_dtype is not None:
            specs.append(TensorSpec([self._shape.ndims], self._dense_shape_dtype))
        return tuple(specs)

    def _to_components(self, value: Any) -> tuple[Tensor, ...]:
        parts = (value.values, value.indices)
        return parts if value.dense_shape is None else (*parts, value.dense_shape)

    def _from_components(self, components: Any) -> Any:
        if not all(isinstance(component, np.ndarray) for component in components):
            return IndexedSlices(*components)
        values, indices, *rest = components
        return IndexedSlicesValue(values, indices, rest[0] if rest else None)


def spec_of_slices(value: IndexedSlices, shape: TensorShape | None = None) -> IndexedSlicesSpec:
    """Return the type of `value`, or of slices like it whose values have the given shape."""
    known = value.dense_shape
    if shape is None:
        indices_shape = value.indices.shape.merge_with(value.values.shape[:1])
        dense_shape = TensorShape([None]).concatenate(value.values.shape[1:])
        if known is not None:
            dense_shape = dense_shape.merge_with(shape_from_dims(partial_shape(known)))
    else:
        indices_shape = shape[:1]
        dense_shape = TensorShape([None]).concatenate(shape[1:])
    dense_shape_dtype = None if known is None else known.dtype
    return IndexedSlicesSpec(
        dense_shape, value.dtype, value.indices.dtype, dense_shape_dtype, indices_shape
    )


def spec_of_sparse(value: SparseTensor, shape: TensorShape | None = None) -> SparseTensorSpec:
    """Return the type of `value`, or of those like it whose `dense_shape` has the given shape."""
    if shape is None:
        return SparseTensorSpec(value.shape, value.dtype)
    if shape.ndims is not None and shape.ndims != 1:
        raise ValueError("Expected a shape with 1 dimension")
    rank = None if shape._dims is None else shape._dims[0]
    return SparseTensorSpec(None if rank is None else [None] * rank, value.dtype)


register_type_spec_from_value_converter(SparseTensor, SparseTensorSpec.from_value)
register_type_spec_from_value_converter(SparseTensorValue, SparseTensorSpec.from_value)


type_spec.sparse_tensor_spec.provide(SparseTensorSpec)
type_spec.indexed_slices_spec.provide(IndexedSlicesSpec)
