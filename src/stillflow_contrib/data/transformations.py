"""Transformations that only `tf.contrib.data` has."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.data import nest, structure
from stillflow.data.dataset import (
    UnaryDataset,
    get_legacy_output_shapes,
    get_structure,
    legacy_structure,
)
from stillflow.data.dataset_v1 import DatasetV1
from stillflow.data.experimental import Transformation, parallel_interleave
from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import as_shape
from stillflow.graph.tensor_spec import TensorSpec
from stillflow.ops.data.windows import sliding_window_dataset_op
from stillflow_contrib.framework.shapes import with_shape


@export("contrib.data.batch_and_drop_remainder")
def batch_and_drop_remainder(batch_size: Any) -> Transformation:
    """Batch `batch_size` elements; drop the incomplete last batch."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


@export("contrib.data.padded_batch_and_drop_remainder")
def padded_batch_and_drop_remainder(
    batch_size: Any, padded_shapes: Any, padding_values: Any = None
) -> Transformation:
    """Pad and batch `batch_size` elements; drop the incomplete last batch."""
    return lambda dataset: dataset.padded_batch(
        batch_size, padded_shapes=padded_shapes, padding_values=padding_values,
        drop_remainder=True,
    )  # fmt: skip


@export("contrib.data.sloppy_interleave")
def sloppy_interleave(map_func: Any, cycle_length: Any, block_length: Any = 1) -> Transformation:
    """`parallel_interleave` in an order that depends on who is faster."""
    return parallel_interleave(map_func, cycle_length, block_length, sloppy=True)


@export("contrib.data.reduce_dataset")
def reduce_dataset(dataset: Any, reducer: Any) -> Any:
    """Return the last state of a reducer, which begins with the key 0.

    Raises:
      TypeError: if `dataset` is none.
    """
    if not isinstance(dataset, DatasetV1):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    return dataset.reduce(reducer.init_func(np.int64(0)), reducer.reduce_func)


class _RestructuredDataset(UnaryDataset):
    """A dataset whose elements are taken for another type.

    Raises:
      ValueError: if dtypes differ, or shapes contradict each other.
    """

    def __init__(
        self, dataset: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> None:
        types, shapes, classes = legacy_structure(dataset)
        output_types = nest.map_structure(dtypes.as_dtype, output_types)
        if nest.flatten(types) != nest.flatten(output_types):
            raise ValueError(
                f"Dataset with output types {types!r} cannot be restructured to have output types "
                f"{output_types!r}"
            )
        if output_shapes is None:
            output_shapes = nest.pack_sequence_as(output_types, nest.flatten(shapes))
        else:
            nest.assert_same_structure(output_types, output_shapes)
            flat = nest.flatten_up_to(output_types, output_shapes)
            for old, new in zip(nest.flatten(shapes), flat, strict=False):
                if not old.is_compatible_with(new):
                    raise ValueError(
                        f"Dataset with output shapes {shapes!r} cannot be restructured to have "
                        f"incompatible output shapes {output_shapes!r}"
                    )
            output_shapes = nest.map_structure_up_to(output_types, as_shape, output_shapes)
        if output_classes is None:
            output_classes = nest.pack_sequence_as(output_types, nest.flatten(classes))
        self._element_spec = structure.convert_legacy_structure(
            output_types, output_shapes, output_classes
        )
        super().__init__(dataset, dataset._variant_tensor)

    @property
    def element_spec(self) -> TensorSpec:
        return self._element_spec


@export("contrib.data.assert_element_shape")
def assert_element_shape(expected_shapes: Any) -> Transformation:
    """Elements of which is known, or else checked, that they have these shapes.

    Args:
      expected_shapes: shapes, in the structure of the elements.
    """

    def _check_shape(*elements: Any) -> tuple[Tensor, ...]:
        pairs = zip(nest.flatten(expected_shapes), nest.flatten(elements), strict=False)
        return nest.pack_sequence_as(
            elements, [with_shape(shape, tensor) if shape else tensor for shape, tensor in pairs]
        )

    def apply(dataset: Any) -> Any:
        shapes = get_legacy_output_shapes(dataset)
        flat = nest.flatten_up_to(shapes, expected_shapes)
        merged = [old.merge_with(new) for old, new in zip(nest.flatten(shapes), flat, strict=True)]
        types, _, classes = legacy_structure(dataset)
        return _RestructuredDataset(
            dataset.map(_check_shape), types, output_shapes=nest.pack_sequence_as(shapes, merged),
            output_classes=classes,
        )  # fmt: skip

    return apply


class _SlideDataset(UnaryDataset):
    """Batches of elements in a window that is moved along."""

    def __init__(
        self, input_dataset: Any, window_size: Any, window_shift: Any, window_stride: Any
    ) -> None:
        size = convert_to_tensor(window_size, dtype=dtypes.int64, name="window_stride")
        stride = convert_to_tensor(window_stride, dtype=dtypes.int64, name="window_stride")
        shift = convert_to_tensor(window_shift, dtype=dtypes.int64, name="window_shift")
        self._element_spec = nest.map_structure(
            lambda spec: spec._batch(None), get_structure(input_dataset)
        )
        super().__init__(
            input_dataset,
            sliding_window_dataset_op(
                input_dataset._variant_tensor, size, shift, stride, **self._flat_structure
            ),
        )

    @property
    def element_spec(self) -> TensorSpec:
        return self._element_spec


@export("contrib.data.sliding_window_batch")
def sliding_window_batch(
    window_size: Any, stride: Any = None, window_shift: Any = None, window_stride: Any = 1
) -> Transformation:
    """Batches of elements in a window that is moved along.

    Args:
      window_size: how many elements a batch has.
      stride: an older name of `window_shift`.
      window_shift: how many elements later the next batch begins, 1 by default.
      window_stride: how far elements of a batch are from each other.

    Raises:
      ValueError: if both `stride` and `window_shift` are given.
    """
    if stride is not None and window_shift is not None:
        raise ValueError("Cannot specify both `stride` and `window_shift`")
    shift = next((value for value in (stride, window_shift) if value is not None), 1)
    return lambda dataset: _SlideDataset(dataset, window_size, shift, window_stride)
