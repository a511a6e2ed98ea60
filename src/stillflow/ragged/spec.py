"""The type of ragged tensors: `tf.RaggedTensorSpec`."""

from __future__ import annotations

from functools import partial, reduce
from typing import Any

import numpy as np

from stillflow.graph import dtypes, type_spec
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import (
    TensorShape,
    as_shape,
    dimension_at_index,
)
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.graph.type_spec import (
    BatchableTypeSpec,
    register_type_spec_from_value_converter,
)
from stillflow.ragged.conversion import is_ragged
from stillflow.ragged.tensor import RaggedTensor
from stillflow.ragged.value import RaggedTensorValue, nested_value


@export("RaggedTensorSpec")
class RaggedTensorSpec(BatchableTypeSpec):
    """The type of a ragged tensor."""

    __slots__ = ("_dtype", "_ragged_rank", "_row_splits_dtype", "_shape")

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = dtypes.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: Any = dtypes.int64,
    ) -> None:
        """Make a type.

        Args:
          shape: the static shape; None for any.
          dtype: the type of the values.
          ragged_rank: how many dimensions are ragged, by default all but the outermost.
          row_splits_dtype: the type of the splits, int32 or int64.

        Raises:
          TypeError: if `ragged_rank` is no int.
          ValueError: if it is not known, or too large.
        """
        self._shape = as_shape(shape)
        self._dtype, self._row_splits_dtype = map(dtypes.as_dtype, (dtype, row_splits_dtype))
        rank = self._shape.ndims
        if ragged_rank is None:
            if rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = rank - 1
        self._ragged_rank = ragged_rank
        if not isinstance(self._ragged_rank, int):
            raise TypeError("ragged_rank must be an int")
        if rank is not None and rank <= self._ragged_rank:
            raise ValueError("ragged_rank must be less than rank.")

    @classmethod
    def from_value(cls, value: Any) -> RaggedTensorSpec:
        """Return the type of a `RaggedTensor` or a `RaggedTensorValue`."""
        return cls(value.shape, value.values.dtype, value.ragged_rank, value.row_splits.dtype)

    @property
    def value_type(self) -> type[Any]:
        return RaggedTensor if self._ragged_rank > 0 else Tensor

    def _serialize(self) -> tuple[Any, ...]:
        return self._shape, self._dtype, self._ragged_rank, self._row_splits_dtype

    @property
    def _component_specs(self) -> list[TensorSpec]:
        if self._ragged_rank == 0:
            return [TensorSpec(self._shape, self._dtype)]
        values_shape = TensorShape([None]).concatenate(self._shape[self._ragged_rank + 1 :])
        rows = dimension_at_index(self._shape, 0)
        outer = TensorSpec([None if rows is None else rows + 1], self._row_splits_dtype)
        inner = TensorSpec([None], self._row_splits_dtype)
        return [
            TensorSpec(values_shape, self._dtype), outer, *[inner] * (self._ragged_rank - 1)
        ]  # fmt: skip

    def _to_components(self, value: Any) -> list[Tensor]:
        return [value.flat_values, *value.nested_row_splits] if is_ragged(value) else [value]

    def _from_components(self, components: Any) -> Any:
        if all(isinstance(part, np.ndarray) for part in components):
            values, *splits = components
            return nested_value(values, splits)
        if isinstance(components[0], np.ndarray):
            components = [convert_to_tensor(part) for part in components]
        values, *splits = components
        return reduce(partial(RaggedTensor, internal=True), reversed(splits), values)

    @property
    def _flat_tensor_specs(self) -> list[Any]:
        return [TensorSpec(None, dtypes.variant)]

    def _to_tensor_list(self, value: Any) -> list[Any]:
        return [value._to_variant(batched_input=False)]

    def _to_batched_tensor_list(self, value: Any) -> list[Any]:
        return [value._to_variant(batched_input=True)]

    def _from_compatible_tensor_list(self, tensor_list: list[Any]) -> RaggedTensor:
        if self._ragged_rank <= 0:
            raise ValueError(f"ragged_rank must be non-negative; got {self._ragged_rank}.")
        result = RaggedTensor._from_variant(
            tensor_list[0], dtype=self._dtype, output_ragged_rank=self._ragged_rank
        )
        for part, spec in zip((result.flat_values, result.row_splits), self._component_specs):
            part.set_shape(spec.shape)
        return result

    def _batch(self, batch_size: int | None) -> RaggedTensorSpec:
        shape = TensorShape([batch_size]).concatenate(self._shape)
        return RaggedTensorSpec(shape, self._dtype, self._ragged_rank + 1)

    def _unbatch(self) -> RaggedTensorSpec:
        return RaggedTensorSpec(self._shape[1:], self._dtype, self._ragged_rank - 1)

    def _to_legacy_output_types(self) -> DType:
        return self._dtype

    def _to_legacy_output_shapes(self) -> TensorShape:
        return self._shape

    def _to_legacy_output_classes(self) -> RaggedTensorSpec:
        return self


register_type_spec_from_value_converter(RaggedTensorValue, RaggedTensorSpec.from_value)


class RaggedTensorType:
    """Type of a ragged result for `tf.map_fn`.

    Attributes:
      dtype: the type of the values.
      ragged_rank: how many dimensions of the whole result are ragged.
      row_splits_dtype: the type of the splits.
    """

    def __init__(self, dtype: Any, ragged_rank: int, row_splits_dtype: Any = dtypes.int64) -> None:
        self.dtype = dtype
        self.ragged_rank = ragged_rank
        self.row_splits_dtype = dtypes.as_dtype(row_splits_dtype)


@export("data.experimental.RaggedTensorStructure")
def _RaggedTensorStructure(dtype: Any, shape: Any, ragged_rank: int) -> RaggedTensorSpec:
    """Return the type of ragged tensors of that dtype, shape and number of ragged dimensions."""
    return RaggedTensorSpec(shape, dtype, ragged_rank)


type_spec.ragged_tensor_spec.provide(RaggedTensorSpec)
