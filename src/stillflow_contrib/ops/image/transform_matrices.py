"""Projective transforms as eight numbers, and as the matrices that these abbreviate."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones
from stillflow.ops.arrays.shape import reshape, shape
from stillflow.ops.constants import constant


@export("contrib.image.flat_transforms_to_matrices")
def flat_transforms_to_matrices(transforms: Any) -> Tensor:
    """Return the matrices `[count, 3, 3]` of transforms.

    They lead from places of the output to places of the input.

    Args:
      transforms: `[8]` or `[count, 8]`; the ninth element of each matrix is 1.

    Raises:
      ValueError: the rank is another one.
    """
    with name_scope("flat_transforms_to_matrices"):
        transforms = convert_to_tensor(transforms, name="transforms")
        if transforms.shape.ndims not in (1, 2):
            raise ValueError(f"Transforms should be 1D or 2D, got: {transforms}")
        transforms = reshape(transforms, constant([-1, 8]))
        last = ones([shape(transforms)[0], 1])
        return reshape(concat([transforms, last], axis=1), constant([-1, 3, 3]))


@export("contrib.image.matrices_to_flat_transforms")
def matrices_to_flat_transforms(transform_matrices: Any) -> Tensor:
    """Return the transforms `[count, 8]` that matrices stand for.

    Args:
      transform_matrices: `[3, 3]` or `[count, 3, 3]`, from places of the output to the input's.

    Raises:
      ValueError: the rank is another one.
    """
    with name_scope("matrices_to_flat_transforms"):
        given: Any = convert_to_tensor(transform_matrices, name="transform_matrices")
        if given.shape.ndims not in (2, 3):
            raise ValueError(f"Matrices should be 2D or 3D, got: {given}")
        rows: Any = reshape(given, constant([-1, 9]))
        scaled: Tensor = rows / rows[:, 8:9]
        return scaled[:, :8]
