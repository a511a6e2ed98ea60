"""Checks of sequences: at once where sizes are known, and while the graph runs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape


def passed_on(
    condition: Any, message: Sequence[Any], value: Any, name: str | None = None
) -> Tensor:
    """Return the value, once a condition was found to hold.

    The message is made of texts and tensors.
    """
    with tf.control_dependencies([tf.Assert(condition, [tf.string_join(message)])]):
        return tf.identity(value, name=name)


def is_whole(value: Any, remainder: Any) -> Tensor:
    """Return True if a division has no remainder, and the tensor is not 0."""
    return tf.logical_and(tf.equal(remainder, 0), tf.not_equal(value, 0))


def check_multiple_of(value: Tensor, of: Any) -> Tensor:
    """Return the value, which is checked to be a multiple of a number, and not 0."""
    condition = is_whole(value, tf.mod(value, of))
    message = [
        f"Tensor {value.name} should be a multiple of: ", tf.as_string(of),
        ", but saw value: ", tf.as_string(value), ". Consider setting pad=True.",
    ]  # fmt: skip
    return passed_on(condition, message, value, "multiple_of_checked")


def _known(value: Any) -> Any:
    """Return the value of a tensor, if it is known now; else the tensor."""
    found = static_value(value) if isinstance(value, Tensor) else None
    return value if found is None else found


def check_rank(value: Tensor, expected_rank: Any) -> Tensor:
    """Return the value, which is checked to have a rank.

    Raises:
      ValueError: it is known to have another.
    """
    condition = tf.equal(expected_rank, tf.rank(value))
    message = tf.string_join([
        f"Rank of tensor {value.name} should be: ", tf.as_string(expected_rank),
        ", shape received:",
    ])  # fmt: skip
    with tf.control_dependencies([tf.Assert(condition, [message, tf.shape(value)])]):
        checked = tf.identity(value, name="rank_checked")
    expected_rank = _known(expected_rank)
    if not isinstance(expected_rank, Tensor):
        try:
            checked.set_shape(checked.get_shape().with_rank(int(expected_rank)))
        except ValueError as error:
            raise ValueError(f"Rank check failed for {value.name}: {error}") from error
    return checked


def check_shape(value: Tensor, expected: Any) -> Tensor:
    """Return the value, which is checked to have a shape.

    Raises:
      ValueError: it is known to have another.
    """
    if isinstance(expected, TensorShape):
        expected = expected.as_list()
    expected = _known(expected)
    if not isinstance(expected, Tensor):
        expected = [int(size) for size in expected]
    value = check_rank(value, tf.size(expected) if isinstance(expected, Tensor) else len(expected))
    condition = tf.reduce_all(tf.equal(expected, tf.shape(value)))
    message = [
        f"Shape of tensor {value.name} should be: ", tf.as_string(expected),
        ", shape received: ", tf.as_string(tf.shape(value)),
    ]  # fmt: skip
    checked = passed_on(condition, message, value, "shape_checked")
    if not isinstance(expected, Tensor):
        try:
            checked.set_shape(checked.get_shape().merge_with(expected))
        except ValueError as error:
            raise ValueError(f"Shape check failed for {value.name}: {error}") from error
    return checked


def check_dimensions(value: Any, dimensions: Any, expected_sizes: Any, debug_prefix: str) -> Tensor:
    """Return the value, which is checked to have given sizes along given dimensions.

    Args:
      value: a tensor.
      dimensions: numbers of dimensions.
      expected_sizes: their sizes, ints or tensors.
      debug_prefix: how messages call the tensor.

    Raises:
      TypeError: arguments of another kind.
      ValueError: dimensions that it does not have, or that are given twice; it is known to have
        another size.
    """
    if not isinstance(dimensions, (list, tuple)):
        raise TypeError("dimensions must be a list or tuple")
    if len(set(dimensions)) != len(dimensions):
        raise ValueError(f"dimensions are not unique: {dimensions}")
    if not isinstance(value, Tensor):
        raise TypeError(f"value is not a Tensor: {value}")
    if not isinstance(expected_sizes, Tensor):
        _say_sizes(value, dimensions, expected_sizes, debug_prefix)
    checks = []
    for dimension, size in zip(dimensions, expected_sizes, strict=True):
        condition = tf.equal(size, tf.shape(value)[dimension])
        message = [
            f"Dimension {dimension} of tensor labeled {debug_prefix} should be: ",
            tf.as_string(size), ", shape received: ", tf.as_string(tf.shape(value)),
        ]  # fmt: skip
        checks.append(tf.Assert(condition, [tf.string_join(message)]))
    with tf.control_dependencies(checks):
        return tf.identity(value, name=f"dims_checked_{debug_prefix}")


def _say_sizes(value: Tensor, dimensions: Any, sizes: Any, debug_prefix: str) -> None:
    """Set the known sizes of a tensor."""
    if len(dimensions) != len(sizes):
        raise ValueError(
            f"len(dimensions) != len(expected_sizes): {len(dimensions)} vs. {len(sizes)}"
        )
    rank = value.get_shape().ndims
    if rank is None:
        return
    if rank <= max(dimensions):
        raise ValueError(
            f"{debug_prefix}: rank of input is not greater than max(dimensions): "
            f"{rank} vs. {max(dimensions)}"
        )
    wanted = value.get_shape().as_list()
    for dimension, size in zip(dimensions, sizes, strict=True):
        if not isinstance(size, Tensor):
            wanted[dimension] = size
    try:
        value.set_shape(value.get_shape().merge_with(wanted))
    except ValueError as error:
        raise ValueError(f"Dimensions check failed for {debug_prefix}: {error}") from error
