"""Sharding of a tensor: the number of shards and their axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph.tensor_shape import Dimension, TensorShape, as_dimension, as_shape


class ShardingPolicy:
    """Into how many shards a tensor is cut, and where; open until said, or frozen."""

    def __init__(self) -> None:
        self._number_of_shards: int | None = None
        self._shard_dimension: Any = None
        self._frozen = False

    def __str__(self) -> str:
        if self._number_of_shards is None or self._shard_dimension is None:
            return "ShardingPolicy(unset)"
        return (
            f"ShardingPolicy({self._number_of_shards} shards dimension "
            f"{self._shard_dimension.value})"
        )

    def _fill_default_values(self) -> None:
        if self._number_of_shards is None:
            self._number_of_shards = 1
        if self._shard_dimension is None:
            self._shard_dimension = as_dimension(0)

    def freeze(self) -> None:
        """Keep the settings, with one shard along the first axis by default."""
        if not self._frozen:
            self._fill_default_values()
            self._frozen = True

    @property
    def number_of_shards(self) -> int | None:
        """The number of shards; None if not set."""
        return self._number_of_shards

    def set_number_of_shards(self, number_of_shards: int) -> None:
        """Says how many.

        Raises:
          ValueError: if it is not positive, or another number is kept.
        """
        if self._frozen:
            if self._number_of_shards != number_of_shards:
                raise ValueError(
                    f"Can't set sharding policy to use {number_of_shards} shards since it has "
                    f"been frozen to use {self._number_of_shards}."
                )
        elif number_of_shards > 0:
            self._number_of_shards = number_of_shards
        else:
            raise ValueError(
                f"Can't set sharding policy to use {number_of_shards} shards; value must be >0"
            )

    @property
    def shard_dimension(self) -> Dimension:
        """Along which axis, a `Dimension`; None if not said."""
        return self._shard_dimension

    def set_shard_dimension(self, shard_dimension: Any) -> None:
        """Says along which axis.

        Raises:
          ValueError: if it is none, or another one is kept.
        """
        if not self._frozen:
            self._shard_dimension = as_dimension(shard_dimension)
        elif self._shard_dimension != shard_dimension:
            raise ValueError(
                f"Can't set shard dimension to {int(shard_dimension)} since it has been frozen to "
                f"use {int(self._shard_dimension)}."
            )

    def merge(self, other: ShardingPolicy) -> None:
        """Add the settings of another policy.

        Raises:
          ValueError: if something else is kept.
        """
        if other.number_of_shards is not None:
            self.set_number_of_shards(other.number_of_shards)
        if other.shard_dimension is not None:
            self.set_shard_dimension(other.shard_dimension)

    def get_sharded_shape(self, shape: Any, shard_index: int | None = None) -> TensorShape | None:
        """Return the shape of a shard of a tensor of a shape; None while something is not said.

        Raises:
          ValueError: if there is no such shard, or no such axis, or it cannot be cut evenly.
        """
        if self._shard_dimension is None or self._number_of_shards is None:
            return None
        count = self._number_of_shards
        if shard_index is not None and not 0 <= shard_index < count:
            raise ValueError(f"shard_index {shard_index}, but must be in [0,{count}).")
        shape = as_shape(shape)
        if count == 1:
            return shape
        dims, axis = self._dims(shape)
        if dims[axis] is None:
            raise ValueError(
                f"shape {dims} must have a fixed size for dimension {axis} that is known at graph "
                "construction time."
            )
        if dims[axis] % count:
            raise ValueError(f"shape {dims} cannot be sharded {count} ways along dimension {axis}")
        dims[axis] //= count
        return as_shape(dims)

    def _dims(self, shape: TensorShape) -> tuple[list[Any], int]:
        """Return the dimensions of a shape that has the axis."""
        if shape.ndims is None:
            raise ValueError("shape must be a specified shape not Unknown")
        axis = int(self._shard_dimension)
        if shape.ndims <= axis:
            raise ValueError(f"shape {shape.as_list()} does not contain shard_dimension {axis}")
        return shape.as_list(), axis

    def _unshard_shape(self, shape: Any) -> TensorShape:
        shape = as_shape(shape)
        if self._number_of_shards == 1:
            return shape
        dims, axis = self._dims(shape)
        dims[axis] *= self._number_of_shards
        return as_shape(dims)

    def get_unsharded_shape(self, shapes: Sequence[Any]) -> TensorShape:
        """Return the shape of the tensor that has shards of these shapes.

        Raises:
          ValueError: if there are not so many shards, or they do not go together.
        """
        self._fill_default_values()
        if len(shapes) != self._number_of_shards:
            raise ValueError(
                f"shapes is {shapes} but must be a list of length number_of_shards="
                f"{self._number_of_shards}"
            )
        whole = [self._unshard_shape(shape) for shape in shapes]
        if not all(one.is_compatible_with(whole[-1]) for one in whole[:-1]):
            raise ValueError(
                f"sharded shapes {shapes} are not consistent shards of a full shape sharded "
                f"{self._number_of_shards} ways along dimension {int(self._shard_dimension)}"
            )
        return whole[0]
