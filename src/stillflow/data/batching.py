"""Datasets of batches."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from stillflow.data import dataset as dataset_module
from stillflow.data import nest, structure
from stillflow.data.convert import partial_shape_to_tensor
from stillflow.data.dataset import (
    UnaryDataset,
    get_legacy_output_classes,
    get_legacy_output_shapes,
    get_legacy_output_types,
    get_structure,
)
from stillflow.data.wrapping import _RestructuredDataset
from stillflow.graph import dtypes
from stillflow.graph.composite_specs import SparseTensorSpec
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.static_value import constant_value_as_shape, static_value
from stillflow.graph.tensor_shape import Dimension, TensorShape, as_shape
from stillflow.graph.type_spec import BatchableTypeSpec
from stillflow.ops.control_flow.cond import smart_constant_value
from stillflow.ops.data import batching as cards


class BatchDataset(UnaryDataset):
    """Elements stacked."""

    def __init__(self, input_dataset: Any, batch_size: Any, drop_remainder: Any) -> None:
        self._input_dataset = input_dataset
        self._batch_size = convert_to_tensor(batch_size, dtype=dtypes.int64, name="batch_size")
        self._drop_remainder = convert_to_tensor(
            drop_remainder, dtype=dtypes.bool, name="drop_remainder"
        )
        size = static_value(self._batch_size) if static_value(self._drop_remainder) else None
        self._structure = nest.map_structure(
            lambda spec: spec._batch(size), input_dataset.element_spec
        )
        super().__init__(
            input_dataset,
            cards.batch_dataset_v2_op(
                input_dataset._variant_tensor, self._batch_size, self._drop_remainder,
                **self._flat_structure,
            ),
        )  # fmt: skip

    @property
    def element_spec(self) -> Any:
        return self._structure


def _fits(padded: Any, shape: Any) -> bool:
    if padded.dims is None or shape.dims is None:
        return True
    if len(padded.dims) != len(shape.dims):
        return False
    return not any(
        room is not None and size is not None and room < size
        for room, size in zip(padded.as_list(), shape.as_list(), strict=True)
    )


def _padded_shape_to_tensor(padded_shape: Any, input_component_shape: Any) -> Tensor:
    try:
        shape = as_shape(padded_shape)
        dims = [-1 if dim is None else dim for dim in shape.as_list()]
        result = convert_to_tensor(dims, dtype=dtypes.int64)
    except (TypeError, ValueError):
        result = convert_to_tensor(padded_shape, preferred_dtype=dtypes.int64)
        prefix = f"Padded shape {padded_shape} must be a 1-D tensor of tf.int64 values, but its "
        if result.shape.ndims not in (None, 1):
            raise ValueError(f"{prefix}shape was {result.shape}.") from None
        if result.dtype != dtypes.int64:
            raise TypeError(f"{prefix}element type was {result.dtype.name}.") from None
        shape = constant_value_as_shape(result)
    if not _fits(shape, input_component_shape):
        raise ValueError(
            f"The padded shape {shape} is not compatible with the corresponding input component "
            f"shape {input_component_shape}."
        )
    return result


def _padding_value_to_tensor(value: Any, output_type: Any) -> Tensor:
    value = convert_to_tensor(value, name="padding_value")
    if not value.shape.is_compatible_with(TensorShape([])):
        raise ValueError(f"Padding value should be a scalar, but is not: {value}")
    if value.dtype != output_type:
        raise TypeError(f"Padding value tensor ({value}) does not match output type: {output_type}")
    return value


def _zero(dtype: Any) -> Any:
    if dtype.base_dtype == dtypes.string:
        return ""
    if dtype.base_dtype == dtypes.variant:
        raise TypeError(
            "Unable to create padding for field of type 'variant' because t.base_type == "
            f"dtypes.variant == {dtype.base_dtype}."
        )
    return np.zeros_like(dtype.as_numpy_dtype())


class PaddedBatchDataset(UnaryDataset):
    """Elements filled up and stacked."""

    def __init__(
        self, input_dataset: Any, batch_size: Any, padded_shapes: Any, padding_values: Any,
        drop_remainder: Any,
    ) -> None:  # fmt: skip
        self._input_dataset = input_dataset
        types = get_legacy_output_types(input_dataset)
        classes = get_legacy_output_classes(input_dataset)
        if any(kind is SparseTensor for kind in nest.flatten(classes)):
            raise TypeError("Batching of padded sparse tensors is not currently supported")
        self._batch_size = convert_to_tensor(batch_size, dtype=dtypes.int64, name="batch_size")
        if padding_values is None:
            padding_values = nest.map_structure(_zero, types)
        shapes = get_legacy_output_shapes(input_dataset)
        flat = [
            _padded_shape_to_tensor(padded, shape)
            for shape, padded in zip(
                nest.flatten(shapes), nest.flatten_up_to(shapes, padded_shapes), strict=True
            )
        ]
        self._padded_shapes = nest.pack_sequence_as(shapes, flat)
        self._padding_values = nest.map_structure_up_to(
            shapes, _padding_value_to_tensor, padding_values, types
        )
        self._drop_remainder = convert_to_tensor(
            drop_remainder, dtype=dtypes.bool, name="drop_remainder"
        )
        batched = nest.map_structure(self._batch_shape, self._padded_shapes)
        self._structure = structure.convert_legacy_structure(types, batched, classes)
        super().__init__(input_dataset, self._variant(input_dataset))

    def _batch_shape(self, padded: Any) -> TensorShape:
        drop = smart_constant_value(self._drop_remainder)
        size = static_value(self._batch_size) if drop else None
        return TensorShape([size]).concatenate(constant_value_as_shape(padded))

    def _variant(self, input_dataset: Any) -> Tensor:
        arguments = (
            input_dataset._variant_tensor, self._batch_size, nest.flatten(self._padded_shapes),
            nest.flatten(self._padding_values),
        )  # fmt: skip
        shapes = structure.get_flat_tensor_shapes(self._structure)
        return cards.padded_batch_dataset_v2_op(
            *arguments, self._drop_remainder, output_shapes=shapes
        )

    @property
    def element_spec(self) -> Any:
        return self._structure


class _UnbatchDataset(UnaryDataset):
    """The slices of elements."""

    def __init__(self, input_dataset: Any) -> None:
        shapes = input_dataset._flat_shapes
        if any(shape.ndims == 0 for shape in shapes):
            raise ValueError("Cannot unbatch an input with scalar components.")
        try:
            functools.reduce(Dimension.merge_with, [shape[0] for shape in shapes], Dimension(None))
        except ValueError:
            raise ValueError(
                "Cannot unbatch an input whose components have different batch sizes."
            ) from None
        self._input_dataset = input_dataset
        self._structure = structure.unbatched(get_structure(input_dataset))
        slices = cards.unbatch_dataset_op(input_dataset._variant_tensor, **self._flat_structure)
        super().__init__(input_dataset, slices)

    @property
    def element_spec(self) -> BatchableTypeSpec:
        return self._structure


def unbatch(dataset: Any) -> Any:
    """Return the slices of the elements of a dataset along their first dimension."""

    def normalize(arg: Any, *rest: Any) -> list[Tensor]:
        element = (arg, *rest) if rest else arg
        return structure.to_batched_tensor_list(dataset.element_spec, element)

    return _UnbatchDataset(_RestructuredDataset(dataset.map(normalize), dataset.element_spec))


class _DenseToSparseBatchDataset(UnaryDataset):
    """Elements of different shapes, stacked to sparse tensors."""

    def __init__(self, input_dataset: Any, batch_size: Any, row_shape: Any) -> None:
        types = get_legacy_output_types(input_dataset)
        if not isinstance(types, dtypes.DType):
            raise TypeError(
                "DenseToSparseDataset requires an input whose elements have a single component, "
                f"whereas the input has {types!r}."
            )
        self._structure = SparseTensorSpec(TensorShape([None]).concatenate(row_shape), types)
        super().__init__(
            input_dataset,
            cards.dense_to_sparse_batch_dataset_op(
                input_dataset._variant_tensor,
                batch_size,
                partial_shape_to_tensor(row_shape),
                **self._flat_structure,
            ),
        )

    @property
    def element_spec(self) -> SparseTensorSpec:
        return self._structure


@export("data.experimental.dense_to_sparse_batch", "contrib.data.dense_to_sparse_batch")
def dense_to_sparse_batch(batch_size: Any, row_shape: Any) -> Callable[..., Any]:
    """Stacks elements of different shapes to sparse tensors.

    Args:
      batch_size: how many elements.
      row_shape: the shape that elements may have at most, with None for any size.
    """
    return lambda dataset: _DenseToSparseBatchDataset(dataset, batch_size, row_shape)


dataset_module.batch.provide(BatchDataset)
dataset_module.padded_batch.provide(PaddedBatchDataset)
dataset_module.unbatch.provide(unbatch)
