"""Checks of images: at once where shapes are known, else at run time."""

from __future__ import annotations

from typing import Any

from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.shape import expand_dims
from stillflow.ops.arrays.shape import rank as rank_of
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.arrays.splitting import unstack
from stillflow.ops.control_flow.identity_and_group import with_dependencies
from stillflow.ops.debugging.asserts import Assert
from stillflow.ops.debugging.comparisons import assert_equal, assert_greater_equal, assert_positive
from stillflow.variables.base import Variable

_POSITIVE = "all dims of 'image.shape' must be > 0"
THREE_OR_FOUR = "'image' must have either 3 or 4 dimensions."


def is_tensor(x: Any) -> bool:
    """Return True if the value is known only when the graph runs."""
    return isinstance(x, (Tensor, Variable))


def ensure(condition: Any, message: str) -> list[Any]:
    """Return the assertion of a condition; none if it is known to hold, ValueError if not to."""
    if is_tensor(condition):
        return [Assert(condition, [message])]
    if not condition:
        raise ValueError(message)
    return []


def dimensions(image: Any, rank: int) -> list[Any]:
    """Return the sizes of an image: numbers where they are known, else tensors."""
    shape = image.get_shape()
    if shape.is_fully_defined():
        known: list[Any] = shape.as_list()
        return known
    static = shape.with_rank(rank).as_list()
    dynamic = unstack(shape_of(image), rank)
    return [size if size is not None else tensor for size, tensor in zip(static, dynamic)]


def check_at_least_3d(image: Any) -> list[Any]:
    """Return the assertion that an image has three dimensions or more, none of them empty."""
    shape = image.get_shape()
    try:
        shape = shape.with_rank(3) if shape.ndims is None else shape.with_rank_at_least(3)
    except ValueError:
        raise ValueError("'image' must be at least three-dimensional.") from None
    if any(size == 0 for size in shape):
        raise ValueError(f"{_POSITIVE}: {shape}")
    if shape.is_fully_defined():
        return []
    return [
        assert_positive(shape_of(image), [f"{_POSITIVE}."]),
        assert_greater_equal(
            rank_of(image), 3, message="'image' must be at least three-dimensional."
        ),
    ]


def at_least_3d(image: Any) -> Tensor:
    """Return the image, which is checked to have three dimensions or more."""
    return with_dependencies(check_at_least_3d(image), image)


def grayscale(image: Any) -> Tensor:
    """Return the image, which is checked to have one channel."""
    shape = image.get_shape()
    try:
        shape = shape.with_rank(2) if shape.ndims is None else shape.with_rank_at_least(2)
    except ValueError:
        raise ValueError("A grayscale image must be at least two-dimensional.") from None
    one = "Last dimension of a grayscale image should be size 1."
    if shape.is_fully_defined():
        if shape[-1] != 1:
            raise ValueError(one)
        return with_dependencies([], image)
    checks = [
        assert_equal(shape_of(image)[-1], 1, message=one),
        assert_greater_equal(
            rank_of(image), 3, message="A grayscale image must be at least two-dimensional."
        ),
    ]
    return with_dependencies(checks, image)


def batched(image: Any) -> tuple[Any, bool]:
    """Return the image as a batch of one, unless it is a batch; and whether it is one."""
    rank = image.get_shape().ndims
    if rank == 4:
        return image, True
    if rank not in (None, 3):
        raise ValueError(THREE_OR_FOUR)
    image = expand_dims(image, 0)
    if rank is None:
        image.set_shape([None] * 4)
    return image, False
