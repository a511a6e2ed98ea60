"""Datasets that the replicas of a strategy share."""

from __future__ import annotations

from typing import Any

from stillflow.data import nest, structure
from stillflow.data.dataset import (
    UnaryDataset,
    UnaryUnchangedStructureDataset,
    get_legacy_output_classes,
    get_legacy_output_shapes,
    get_legacy_output_types,
)
from stillflow.data.dataset_v1 import DatasetV1, DatasetV1Adapter
from stillflow.data.specs import _VariantDataset
from stillflow.graph import dtypes
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.data import sharing as cards


class RebatchDataset(UnaryDataset):
    """The batches of another dataset, cut into as many as there are replicas.

    Args:
      input_dataset: a dataset of batches.
      num_replicas: how many replicas there are.

    Raises:
      ValueError: if the elements are no batches.
    """

    def __init__(self, input_dataset: Any, num_replicas: int) -> None:
        self._input_dataset = input_dataset

        def share(shape: Any) -> TensorShape:
            if len(shape) < 1:
                raise ValueError(
                    "Input shape should have at least one dimension. Perhaps your input dataset is "
                    "not batched?"
                )
            first, *others = shape.as_list()
            divides = first is not None and first % num_replicas == 0
            return TensorShape([first // num_replicas if divides else None, *others])

        shapes = nest.map_structure(share, get_legacy_output_shapes(input_dataset))
        self._element_spec = structure.convert_legacy_structure(
            get_legacy_output_types(input_dataset), shapes,
            get_legacy_output_classes(input_dataset),
        )  # fmt: skip
        super().__init__(
            input_dataset,
            cards.rebatch_dataset_op(
                input_dataset._variant_tensor, num_replicas, **self._flat_structure
            ),
        )

    @property
    def element_spec(self) -> Any:
        return self._element_spec


class AutoShardDataset(UnaryUnchangedStructureDataset):
    """A worker's share of a dataset.

    Args:
      input_dataset: the dataset.
      num_workers: how many workers there are.
      index: which of them this is.
    """

    def __init__(self, input_dataset: Any, num_workers: int, index: int) -> None:
        super().__init__(
            input_dataset,
            cards.auto_shard_dataset_op(
                input_dataset._variant_tensor, num_workers, index, **input_dataset._flat_structure
            ),
        )


def auto_shard(dataset: Any, num_workers: int, index: int) -> Any:
    """Return a worker's share of a dataset, unless its options say that each gets all of it."""
    if not dataset.options().experimental_distribute.auto_shard:
        return dataset
    sharded = AutoShardDataset(dataset, num_workers, index)
    return DatasetV1Adapter(sharded) if isinstance(dataset, DatasetV1) else sharded


def clone(dataset: Any) -> Any:
    """Return a dataset like another, made by operations of its own."""
    copies: dict[Any, Any] = {}
    variant = _copied(dataset._variant_tensor.op, copies).outputs[0]
    return _VariantDataset(variant, dataset.element_spec)


def _copied(operation: Any, copies: dict[Any, Any]) -> Operation:
    """Return a copy of an operation, and of those before it that give variants."""
    for tensor in operation.inputs:
        if tensor.dtype == dtypes.variant:
            _copied(tensor.op, copies)
    inputs = []
    for tensor in operation.inputs:
        source = copies.get(tensor.op)
        inputs.append(source.outputs[0] if source else tensor)
    copies[operation] = get_default_graph().create_op(
        operation.type, inputs, [output.dtype for output in operation.outputs],
        name=operation.name, attrs=dict(operation.node_def.attr),
    )  # fmt: skip
    return copies[operation]
