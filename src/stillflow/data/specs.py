"""Types of datasets that are elements, and datasets known by their variant only."""

from __future__ import annotations

from typing import Any

from stillflow import nest as tf_nest
from stillflow.data.dataset import DatasetV2
from stillflow.graph import dtypes, type_spec
from stillflow.graph.composite_tensor import CompositeTensor
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.graph.type_spec import BatchableTypeSpec, register_type_spec_from_value_converter


class _VariantDataset(DatasetV2):
    """A dataset known by its variant."""

    def __init__(self, dataset_variant: Any, structure: Any) -> None:
        self._structure = structure
        super().__init__(dataset_variant)

    def _inputs(self) -> list[Any]:
        return []

    @property
    def element_spec(self) -> Any:
        return self._structure


class _NestedVariant(CompositeTensor):
    """A tensor of datasets."""

    def __init__(self, variant_tensor: Any, element_spec: Any, dataset_shape: Any) -> None:
        self._variant_tensor = variant_tensor
        self._element_spec = element_spec
        self._dataset_shape = dataset_shape

    @property
    def _type_spec(self) -> DatasetSpec:
        return DatasetSpec(self._element_spec, self._dataset_shape)


@export("data.experimental.from_variant")
def from_variant(variant: Any, structure: Any) -> Any:
    """Return the dataset that a variant holds.

    Args:
      variant: a scalar tensor.
      structure: the type of its elements.
    """
    return _VariantDataset(variant, structure)


@export("data.experimental.to_variant")
def to_variant(dataset: Any) -> Any:
    """Return the scalar variant tensor that holds a dataset."""
    return dataset._variant_tensor


@export("data.DatasetSpec", "data.experimental.DatasetStructure")
class DatasetSpec(BatchableTypeSpec):
    """The type of datasets.

    Args:
      element_spec: the type of their elements.
      dataset_shape: the shape of a tensor of datasets, a scalar by default.
    """

    __slots__ = ("_dataset_shape", "_element_spec")

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        self._element_spec = element_spec
        self._dataset_shape = as_shape(dataset_shape)

    @property
    def value_type(self) -> type[Any]:
        return _VariantDataset

    def _serialize(self) -> tuple[Any, ...]:
        return self._element_spec, self._dataset_shape

    @property
    def _component_specs(self) -> TensorSpec:
        return TensorSpec(self._dataset_shape, dtypes.variant)

    def _to_components(self, value: Any) -> Tensor:
        return value._variant_tensor

    def _from_components(self, components: Any) -> Any:
        if self._dataset_shape.ndims == 0:
            return _VariantDataset(components, self._element_spec)
        return _NestedVariant(components, self._element_spec, self._dataset_shape)

    def _to_tensor_list(self, value: Any) -> list[Any]:
        variants = tf_nest.map_structure(lambda one: one._variant_tensor, value)
        return [convert_to_tensor(variants)]

    @staticmethod
    def from_value(value: Any) -> DatasetSpec:
        """Return the type of a dataset."""
        return DatasetSpec(value.element_spec)

    def _batch(self, batch_size: Any) -> DatasetSpec:
        shape = TensorShape([batch_size]).concatenate(self._dataset_shape)
        return DatasetSpec(self._element_spec, shape)

    def _unbatch(self) -> DatasetSpec:
        self._check_rank()
        return DatasetSpec(self._element_spec, self._dataset_shape[1:])

    def _check_rank(self) -> None:
        if self._dataset_shape.ndims == 0:
            raise ValueError("Unbatching a dataset is only supported for rank >= 1")

    def _to_batched_tensor_list(self, value: Any) -> list[Any]:
        self._check_rank()
        return self._to_tensor_list(value)

    def _to_legacy_output_types(self) -> DatasetSpec:
        return self

    def _to_legacy_output_shapes(self) -> DatasetSpec:
        return self

    def _to_legacy_output_classes(self) -> DatasetSpec:
        return self


register_type_spec_from_value_converter(DatasetV2, DatasetSpec.from_value, allow_subclass=True)


type_spec.dataset_spec.provide(DatasetSpec)
