"""Shapes of ragged tensors as tensors, and how they are broadcast against each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.dtypes import DType
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import dimension_value
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.fill import ones
from stillflow.ops.arrays.gather import gather
from stillflow.ops.arrays.masks import to_integers
from stillflow.ops.arrays.select import where
from stillflow.ops.arrays.sequences import range as range_
from stillflow.ops.arrays.shape import shape, size
from stillflow.ops.arrays.stack import stack
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.ops.debugging.asserts import Assert
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import equal
from stillflow.ops.math.reductions import reduce_all, reduce_sum
from stillflow.ragged.conversion import convert_to_tensor_or_ragged_tensor, is_ragged
from stillflow.ragged.segments import INDEX_TYPES, row_splits_of
from stillflow.ragged.splits import repeat_ranges


class RaggedTensorDynamicShape:
    """The sizes of the dimensions of a ragged tensor, as tensors.

    The first dimensions are partitioned: each has one size for all (a scalar), or is ragged and
    has one for each row (a vector). The rest are inner dimensions, uniform, with sizes in one
    vector.
    """

    def __init__(
        self, partitioned_dim_sizes: Sequence[Any], inner_dim_sizes: Any, dim_size_dtype: Any = None
    ) -> None:
        """Make a shape of partitioned sizes, scalars and vectors, and a vector of inner sizes.

        The first of the partitioned sizes is a scalar, the last a vector. All sizes become
        `dim_size_dtype`, by default that of the vectors. ValueError for other ranks or types.
        """
        assert isinstance(partitioned_dim_sizes, (list, tuple))
        given = (partitioned_dim_sizes, inner_dim_sizes)
        with name_scope(None, "RaggedTensorDynamicShape", given):
            partitioned = tuple([
                convert_to_tensor(item, name=f"partitioned_dimension_size_{axis}")
                for axis, item in enumerate(partitioned_dim_sizes)
            ])  # fmt: skip
            inner = convert_to_tensor(inner_dim_sizes, name="inner_dim_sizes")
            _check_partitioned(partitioned)
            inner.shape.assert_has_rank(1)
            kind = _size_type(partitioned) if dim_size_dtype is None else dim_size_dtype
            self._partitioned_dim_sizes = tuple([cast(item, kind) for item in partitioned])
            self._inner_dim_sizes = cast(inner, kind)

    @staticmethod
    def from_dim_sizes(dim_sizes: Sequence[Any]) -> RaggedTensorDynamicShape:
        """Return the shape with these sizes, scalars for uniform and vectors for ragged dimensions.

        Raises:
          ValueError: if one is neither.
        """
        with name_scope(None, "RaggedTensorDynamicShapeFromDimensionSizes", [dim_sizes]):
            sizes = [
                convert_to_tensor(item, preferred_dtype=dtypes.int64, name="dim_sizes")
                for item in dim_sizes
            ]
            if any(item.shape.ndims not in (0, 1) for item in sizes):
                raise ValueError("Each dim_size must be a scalar or a vector")
            inner = max((axis for axis, item in enumerate(sizes, 1) if item.shape.ndims), default=0)
            return RaggedTensorDynamicShape(tuple(sizes[:inner]), tuple(sizes[inner:]))

    @classmethod
    def from_tensor(cls, rt_input: Any, dim_size_dtype: Any = None) -> RaggedTensorDynamicShape:
        """Return the shape of a dense or ragged tensor."""
        with name_scope(None, "RaggedTensorDynamicShapeFromTensor", [rt_input]):
            x = convert_to_tensor_or_ragged_tensor(rt_input)
            if not is_ragged(x):
                return cls([], shape(x))
            partitioned = (x.nrows(), *x.nested_row_lengths())
            return cls(partitioned, shape(x.flat_values)[1:], dim_size_dtype=dim_size_dtype)

    def __repr__(self) -> str:
        return (
            f"RaggedTensorDynamicShape(partitioned_dim_sizes={self._partitioned_dim_sizes!r}, "
            f"inner_dim_sizes={self._inner_dim_sizes!r})"
        )

    # ---- its facts

    @property
    def partitioned_dim_sizes(self) -> tuple[Tensor, ...]:
        return self._partitioned_dim_sizes

    @property
    def inner_dim_sizes(self) -> Tensor:
        return self._inner_dim_sizes

    @property
    def num_partitioned_dimensions(self) -> int:
        return len(self._partitioned_dim_sizes)

    @property
    def num_inner_dimensions(self) -> int | None:
        """The number of inner dimensions, None if unknown."""
        return dimension_value(self._inner_dim_sizes.shape[0])

    @property
    def rank(self) -> int | None:
        """The number of dimensions, None if unknown."""
        inner = self.num_inner_dimensions
        return None if inner is None else len(self._partitioned_dim_sizes) + inner

    @property
    def dim_size_dtype(self) -> DType:
        return self._inner_dim_sizes.dtype

    def dimension_size(self, axis: int) -> Tensor:
        """Return the size of a dimension: a scalar, or a vector if it is ragged."""
        if not isinstance(axis, int):
            raise TypeError("axis must be an integer")
        partitioned = len(self._partitioned_dim_sizes)
        if axis < partitioned:
            return self._partitioned_dim_sizes[axis]
        return self._inner_dim_sizes[axis - partitioned]

    def is_ragged(self, axis: int) -> bool:
        """Return True if rows differ in the size of a dimension.

        Raises:
          TypeError: if `axis` is no int.
          ValueError: if there is no such dimension.
        """
        if not isinstance(axis, int):
            raise TypeError("axis must be an integer")
        if axis < 0:
            raise ValueError("Negative axis values are not supported")
        rank = self.rank
        if rank is not None and axis >= rank:
            raise ValueError(f"Expected axis={axis} < rank={rank}")
        partitioned = self._partitioned_dim_sizes
        return 0 < axis < len(partitioned) and partitioned[axis].shape.ndims == 1

    def num_slices_in_dimension(self, axis: int) -> Tensor:
        """Return the number of slices along a dimension, counted in all rows."""
        if axis < 0:
            return constant(1, dtype=self.dim_size_dtype)
        if self.is_ragged(axis):
            return reduce_sum(self._partitioned_dim_sizes[axis])
        return self.dimension_size(axis) * self.num_slices_in_dimension(axis - 1)

    def with_dim_size_dtype(self, dtype: Any) -> RaggedTensorDynamicShape:
        """Return the same with sizes of another type.

        Raises:
          ValueError: if it is neither int32 nor int64.
        """
        if dtype not in INDEX_TYPES:
            raise ValueError("dtype must be int32 or int64")
        if self.dim_size_dtype == dtype:
            return self
        partitioned = [cast(item, dtype) for item in self._partitioned_dim_sizes]
        return RaggedTensorDynamicShape(partitioned, cast(self._inner_dim_sizes, dtype))

    # ---- Broadcasting

    def broadcast_to_rank(self, rank: int) -> RaggedTensorDynamicShape:
        """Return the shape with outer dimensions of size 1 more.

        Raises:
          ValueError: if its rank is unknown, or larger.
        """
        if self.rank is None:
            raise ValueError("Unable to broadcast: self.rank is unknown")
        missing = rank - self.rank
        if missing < 0:
            raise ValueError(
                f"Unable to broadcast: rank={rank} must be greater than self.rank={self.rank}."
            )
        if not missing:
            return self
        if self._partitioned_dim_sizes:
            partitioned = (1,) * missing + self._partitioned_dim_sizes
            return RaggedTensorDynamicShape(partitioned, self._inner_dim_sizes)
        inner = concat([ones([missing], self.dim_size_dtype), self._inner_dim_sizes], axis=0)
        return RaggedTensorDynamicShape([], inner)

    def broadcast_dimension(self, axis: int, lengths: Any) -> RaggedTensorDynamicShape:
        """Return the shape with one dimension broadcast to a size.

        Args:
          axis: which one.
          lengths: a scalar, or one size for each row.

        Raises:
          ValueError: if that is known not to be possible.
        """
        lengths = to_integers(lengths, name="lengths", dtype=self.dim_size_dtype)
        if lengths.shape.ndims is None:
            raise ValueError("lengths must have a known rank.")
        if lengths.shape.ndims > 1:
            raise ValueError("lengths must be a scalar or vector")
        is_scalar = lengths.shape.ndims == 0
        condition = self._can_broadcast(axis, lengths, is_scalar)
        message = [
            "Unable to broadcast: dimension size mismatch in dimension", axis,
            "lengths=", lengths, "dim_size=", self.dimension_size(axis),
        ]  # fmt: skip
        with control_dependencies([Assert(condition, data=message, summarize=10)]):
            if axis < self.num_partitioned_dimensions:
                if self.is_ragged(axis):
                    inner = identity(self._inner_dim_sizes)
                    return RaggedTensorDynamicShape(self._partitioned_dim_sizes, inner)
                return self._broadcast_partitioned(axis, lengths)
            if is_scalar:
                return self._broadcast_inner(axis, lengths)
            if axis == 0:
                raise ValueError("Unable to broadcast: outermost dimension must be uniform.")
            return self._make_ragged(axis, lengths)

    def _can_broadcast(self, axis: int, lengths: Tensor, is_scalar: bool) -> Tensor:
        if self.is_ragged(axis):
            if is_scalar:
                return equal(lengths, 1)
            return reduce_all(equal(lengths, self.dimension_size(axis)))
        mine = self.dimension_size(axis)
        if is_scalar:
            return equal(lengths, 1) | equal(mine, 1) | equal(mine, lengths)
        return equal(mine, 1)

    def _broadcast_partitioned(self, axis: int, lengths: Tensor) -> RaggedTensorDynamicShape:
        """Repeat the content of a uniform partitioned dimension."""
        mine = self.dimension_size(axis)
        splits: Any
        if lengths.shape.ndims:
            repeats = lengths
            splits = range_(size(lengths, out_type=self.dim_size_dtype) + 1)
        else:
            lengths = where(equal(mine, 1), lengths, mine)
            repeats = where(equal(mine, 1), lengths, 1)
            splits = stack([0, self.num_slices_in_dimension(axis)])
        sizes = [*self._partitioned_dim_sizes[:axis], lengths]
        for item in self._partitioned_dim_sizes[axis + 1 :]:
            is_uniform = item.shape.ndims == 0
            sizes.append(item if is_uniform else repeat_ranges(item, splits, repeats))
            splits = splits * item if is_uniform else gather(row_splits_of(item, axis=-1), splits)
        return RaggedTensorDynamicShape(sizes, self._inner_dim_sizes)

    def _broadcast_inner(self, axis: int, length: Tensor) -> RaggedTensorDynamicShape:
        mine = self.dimension_size(axis)
        place = axis - self.num_partitioned_dimensions
        before = self._inner_dim_sizes[:place]
        length = where(equal(mine, 1), length, mine)
        inner = concat([before, [length], self._inner_dim_sizes[place + 1 :]], axis=0)
        return RaggedTensorDynamicShape(self._partitioned_dim_sizes, inner)

    def _make_ragged(self, axis: int, lengths: Tensor) -> RaggedTensorDynamicShape:
        place = axis - self.num_partitioned_dimensions
        outer = [self._inner_dim_sizes[item] for item in range(place)]
        partitioned = (*self._partitioned_dim_sizes, *outer, lengths)
        return RaggedTensorDynamicShape(partitioned, self._inner_dim_sizes[place + 1 :])


def _check_partitioned(sizes: Sequence[Tensor]) -> None:
    for axis, item in enumerate(sizes):
        if item.shape.ndims is None:
            raise ValueError(f"rank of partitioned_dim_sizes[{axis}] is unknown")
        item.shape.with_rank_at_most(1)
    if sizes and sizes[0].shape.ndims == 1:
        raise ValueError("outermost partitioned dimension must be uniform")
    if sizes and sizes[-1].shape.ndims == 0:
        raise ValueError("innermost partitioned dimension must be ragged")


def _size_type(partitioned: Sequence[Tensor]) -> DType:
    kinds = {item.dtype for item in partitioned if item.shape.ndims == 1}
    if len(kinds) > 1:
        raise ValueError("partitioned_dim_sizes must have matching dtypes")
    return kinds.pop() if kinds else dtypes.int64


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> RaggedTensorDynamicShape:
    """Return the shape that two shapes of known rank are both broadcast to."""
    for name, given in (("shape_x", shape_x), ("shape_y", shape_y)):
        if not isinstance(given, RaggedTensorDynamicShape):
            raise TypeError(f"{name} must be a RaggedTensorDynamicShape")
    if shape_x.rank is None or shape_y.rank is None:
        raise ValueError("Unable to broadcast: unknown rank")
    rank = max(shape_x.rank, shape_y.rank)
    shape_x, shape_y = shape_x.broadcast_to_rank(rank), shape_y.broadcast_to_rank(rank)
    for axis in range(rank):
        shape_x = shape_x.broadcast_dimension(axis, shape_y.dimension_size(axis))
        shape_y = shape_y.broadcast_dimension(axis, shape_x.dimension_size(axis))
    return shape_x
