"""Mirroring and turning images."""

from __future__ import annotations

from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.image.checks import THREE_OR_FOUR, at_least_3d
from stillflow.ops.arrays.reverse import reverse
from stillflow.ops.arrays.shape import reshape
from stillflow.ops.arrays.shape import shape as shape_of
from stillflow.ops.arrays.transpose import transpose as transpose_
from stillflow.ops.control_flow.case import case
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal, less
from stillflow.ops.math.division import floormod
from stillflow.ops.math.unary import round as round_
from stillflow.ops.random.basic import random_uniform


def _rank(image: Tensor) -> int | None:
    rank = image.get_shape().ndims
    if rank not in (None, 3, 4):
        raise ValueError(THREE_OR_FOUR)
    return rank


def _keep_shape(image: Any, result: Any) -> Any:
    shape = image.get_shape()
    result.set_shape([None, None, None] if shape.ndims is None else shape)
    return result


@export("image.random_flip_up_down")
def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """Return the image, or with probability 1/2 its mirror image upside down.

    Args:
      image: `[height, width, channels]`, or a batch of such, which are mirrored each on its own.
      seed: of the random numbers.
    """
    return _random_flip(image, 0, seed, "random_flip_up_down")


@export("image.random_flip_left_right")
def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Return the image, or with probability 1/2 its mirror image.

    Args:
      image: `[height, width, channels]`, or a batch of such, which are mirrored each on its own.
      seed: of the random numbers.

    Example:
      >>> image = tf.constant([[[1], [2]]])
      >>> row = tf.Session().run(tf.image.random_flip_left_right(image)).ravel().tolist()
      >>> row in ([1, 2], [2, 1])
      True
    """
    return _random_flip(image, 1, seed, "random_flip_left_right")


def _random_flip(image: Any, axis: int, seed: int | None, scope_name: str) -> Tensor:
    with name_scope(None, scope_name, [image]) as scope:
        image = at_least_3d(convert_to_tensor(image, name="image"))
        rank = _rank(image)
        if rank != 4:
            chance = random_uniform([], 0, 1.0, seed=seed)
            result = cond(
                less(chance, 0.5), lambda: reverse(image, [axis]), lambda: image, name=scope
            )
            return _keep_shape(image, result)
        batch = shape_of(image)[0]
        chances = random_uniform([batch], 0, 1.0, seed=seed)
        flips = cast(round_(reshape(chances, [batch, 1, 1, 1])), image.dtype)
        flipped = reverse(image, [axis + 1])
        return flips * flipped + (1 - flips) * image


@export("image.flip_left_right")
def flip_left_right(image: Any) -> Tensor:
    """Return the mirror image of `[height, width, channels]` or of a batch of such."""
    return _flip(image, 1, "flip_left_right")


@export("image.flip_up_down")
def flip_up_down(image: Any) -> Tensor:
    """Return the image `[height, width, channels]`, or each of a batch, upside down."""
    return _flip(image, 0, "flip_up_down")


def _flip(image: Any, axis: int, scope_name: str) -> Tensor:
    with name_scope(None, scope_name, [image]):
        image = at_least_3d(convert_to_tensor(image, name="image"))
        rank = _rank(image)
        if rank == 4:
            return reverse(image, [axis + 1])
        return _keep_shape(image, reverse(image, [axis]))


@export("image.rot90")
def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """Return the image turned counter-clockwise by `k` quarters.

    Args:
      image: `[height, width, channels]` or a batch of such.
      k: a scalar integer.
      name: of the operation.

    Raises:
      ValueError: it has another rank.
    """
    with name_scope(name, "rot90", [image, k]) as scope:
        image = at_least_3d(convert_to_tensor(image, name="image"))
        k = convert_to_tensor(k, dtype=dtypes.int32, name="k")
        k.get_shape().assert_has_rank(0)
        k = floormod(k, 4)
        rank = _rank(image)
        return _rotate(image, k, 1 if rank == 4 else 0, scope)


def _rotate(image: Any, k: Any, first: int, scope: str) -> Tensor:
    """Turn the dimensions `first` and `first + 1`."""
    order = [0, 2, 1, 3] if first else [1, 0, 2]
    across = [first + 1]
    cases = [
        (equal(k, 1), lambda: transpose_(reverse(image, across), order)),
        (equal(k, 2), lambda: reverse(image, [first, first + 1])),
        (equal(k, 3), lambda: reverse(transpose_(image, order), across)),
    ]
    result = case(cases, default=lambda: image, exclusive=True, name=scope)
    if first:
        shape = result.get_shape()
        result.set_shape([shape[0], None, None, shape[3]])
    else:
        result.set_shape([None, None, image.get_shape()[2]])
    return result


@export("image.transpose", "image.transpose_image")
def transpose(image: Any, name: str | None = None) -> Tensor:
    """Return the image with rows and columns exchanged.

    Args:
      image: `[height, width, channels]` or a batch of such.
      name: of the operation.

    Raises:
      ValueError: it has another rank.
    """
    with name_scope(name, "transpose", [image]):
        image = at_least_3d(convert_to_tensor(image, name="image"))
        rank = _rank(image)
        return transpose_(image, [0, 2, 1, 3] if rank == 4 else [1, 0, 2], name=name)
