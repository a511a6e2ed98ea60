"""Datasets made of tensors and numbers."""

from __future__ import annotations

from typing import Any

from stillflow.data import structure
from stillflow.data.dataset import DatasetSource
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.sparse_tensor import SparseTensor
from stillflow.graph.tensor_shape import Dimension, dimension_value
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.ops.data import sources as cards


class TensorDataset(DatasetSource):
    """One element."""

    def __init__(self, element: Any) -> None:
        element = structure.normalize_element(element)
        self._structure = structure.type_spec_from_value(element)
        self._tensors = structure.to_tensor_list(self._structure, element)
        super().__init__(
            cards.tensor_dataset_op(
                self._tensors, output_shapes=structure.get_flat_tensor_shapes(self._structure)
            )
        )

    @property
    def element_spec(self) -> Any:
        return self._structure


class TensorSliceDataset(DatasetSource):
    """The slices of tensors."""

    def __init__(self, element: Any) -> None:
        element = structure.normalize_element(element)
        batched = structure.type_spec_from_value(element)
        self._structure = structure.unbatched(batched)
        self._tensors = structure.to_batched_tensor_list(batched, element)
        counts = [Dimension(dimension_value(tensor.get_shape()[0])) for tensor in self._tensors]
        first = counts[0]
        for count in counts[1:]:
            first.assert_is_compatible_with(count)
        super().__init__(
            cards.tensor_slice_dataset_op(self._tensors, output_shapes=self._flat_shapes)
        )

    @property
    def element_spec(self) -> Any:
        return self._structure


class RangeDataset(DatasetSource):
    """Numbers at equal distances."""

    def __init__(self, *args: Any) -> None:
        if not 1 <= len(args) <= 3:
            raise ValueError(f"Invalid arguments to RangeDataset: {args}")
        start, stop = (0, args[0]) if len(args) == 1 else args[:2]
        step = args[2] if len(args) == 3 else 1
        self._start = convert_to_tensor(start, dtype=dtypes.int64, name="start")
        self._stop = convert_to_tensor(stop, dtype=dtypes.int64, name="stop")
        self._step = convert_to_tensor(step, dtype=dtypes.int64, name="step")
        super().__init__(
            cards.range_dataset_op(self._start, self._stop, self._step, **self._flat_structure)
        )

    @property
    def element_spec(self) -> TensorSpec:
        return TensorSpec([], dtypes.int64)


class SparseTensorSliceDataset(DatasetSource):
    """The rows of a sparse tensor."""

    def __init__(self, sparse_tensor: Any) -> None:
        if not isinstance(sparse_tensor, SparseTensor):
            raise TypeError(
                f"`sparse_tensor` must be a `tf.SparseTensor` object. Was {sparse_tensor}."
            )
        self._sparse_tensor = sparse_tensor
        indices, shape = sparse_tensor.indices.get_shape(), sparse_tensor.dense_shape.get_shape()
        rank = (indices.dims[1] - 1).merge_with(shape.dims[0] - 1)
        self._structure = (
            TensorSpec([None, rank], dtypes.int64),
            TensorSpec([None], sparse_tensor.dtype),
            TensorSpec([rank], dtypes.int64),
        )
        super().__init__(
            cards.sparse_tensor_slice_dataset_op(
                sparse_tensor.indices, sparse_tensor.values, sparse_tensor.dense_shape
            )
        )

    @property
    def element_spec(self) -> tuple[TensorSpec, TensorSpec, TensorSpec]:
        return self._structure
