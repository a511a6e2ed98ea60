"""Datasets made of several others."""

from __future__ import annotations

from typing import Any

from stillflow.data import dataset as dataset_module
from stillflow.data import nest, structure
from stillflow.data.dataset import (
    DatasetV2,
    get_legacy_output_classes,
    get_legacy_output_shapes,
    get_legacy_output_types,
)
from stillflow.graph.type_spec import BatchableTypeSpec
from stillflow.ops.data import counting as cards


class ZipDataset(DatasetV2):
    """Elements of several datasets side by side."""

    def __init__(self, datasets: Any) -> None:
        for one in nest.flatten(datasets):
            if not isinstance(one, DatasetV2):
                message = (
                    "The argument to `Dataset.zip()` must be a nested structure of `Dataset` "
                    "objects."
                )
                if isinstance(one, list):
                    message += (
                        " Nested structures do not support Python lists; please use a tuple "
                        "instead."
                    )
                raise TypeError(message)
        self._datasets = datasets
        flat = nest.flatten(datasets)
        self._structure = nest.pack_sequence_as(datasets, [one.element_spec for one in flat])
        super().__init__(
            cards.zip_dataset_op([one._variant_tensor for one in flat], **self._flat_structure)
        )

    def _inputs(self) -> list[Any]:
        return nest.flatten(self._datasets)

    @property
    def element_spec(self) -> tuple[Any, ...]:
        return self._structure


class ConcatenateDataset(DatasetV2):
    """The elements of one dataset, then those of another."""

    def __init__(self, input_dataset: Any, dataset_to_concatenate: Any) -> None:
        self._input_dataset = input_dataset
        self._dataset_to_concatenate = dataset_to_concatenate
        for what, of in (
            ("types", get_legacy_output_types),
            ("classes", get_legacy_output_classes),
        ):
            first, second = of(input_dataset), of(dataset_to_concatenate)
            if first != second:
                raise TypeError(
                    f"Two datasets to concatenate have different {what} {first} and {second}"
                )
        shapes = get_legacy_output_shapes(input_dataset)
        others = get_legacy_output_shapes(dataset_to_concatenate)
        merged = nest.pack_sequence_as(shapes, [
            a.most_specific_compatible_shape(b)
            for a, b in zip(nest.flatten(shapes), nest.flatten(others), strict=True)
        ])  # fmt: skip
        self._structure = structure.convert_legacy_structure(
            get_legacy_output_types(input_dataset), merged,
            get_legacy_output_classes(input_dataset),
        )  # fmt: skip
        self._input_datasets = [input_dataset, dataset_to_concatenate]
        super().__init__(
            cards.concatenate_dataset_op(
                input_dataset._variant_tensor, dataset_to_concatenate._variant_tensor,
                **self._flat_structure,
            )
        )  # fmt: skip

    def _inputs(self) -> list[Any]:
        return self._input_datasets

    @property
    def element_spec(self) -> BatchableTypeSpec:
        return self._structure


dataset_module.zip_datasets.provide(ZipDataset)
dataset_module.concatenate.provide(ConcatenateDataset)
