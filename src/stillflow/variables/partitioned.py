"""Variables split into parts along one dimension, and the functions that decide how."""

from __future__ import annotations

import collections.abc
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor, register_tensor_conversion_function
from stillflow.graph.dtypes import DType, as_dtype, float32
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.variables.base import SaveSliceInfo


class PartitionInfo:
    """Position of an initializer's part in the whole variable."""

    def __init__(self, full_shape: Any, var_offset: Any) -> None:
        if not isinstance(full_shape, collections.abc.Sequence) or isinstance(full_shape, str):
            raise TypeError(
                "`full_shape` must be a sequence (like tuple or list) instead of "
                f"{type(full_shape).__name__}"
            )
        if not isinstance(var_offset, collections.abc.Sequence) or isinstance(var_offset, str):
            raise TypeError(
                "`var_offset` must be a sequence (like tuple or list) instead of "
                f"{type(var_offset).__name__}"
            )
        if len(var_offset) != len(full_shape):
            raise ValueError(
                "Expected equal length, but `var_offset` is of length "
                f"{len(var_offset)} while full_shape is of length {len(full_shape)}."
            )
        for i, (offset, size) in enumerate(zip(var_offset, full_shape, strict=True)):
            if offset < 0 or offset >= size:
                raise ValueError(
                    f"Expected 0 <= offset < shape but found offset={offset}, shape={size} for "
                    f"var_offset={var_offset}, full_shape={full_shape}"
                )
            del i
        self.full_shape = full_shape
        self.var_offset = var_offset

    def single_offset(self, shape: Sequence[int]) -> int:
        """Return the offset of a part of this shape along the split dimension, else 0."""
        dim = self.single_slice_dim(shape)
        return 0 if dim is None else self.var_offset[dim]

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """Return the only dimension in which a part of this shape is smaller than the whole."""
        if not isinstance(shape, (tuple, list)):
            raise TypeError(
                f"`shape` must be a sequence (like tuple or list) instead of {type(shape).__name__}"
            )
        if len(shape) != len(self.full_shape):
            raise ValueError(
                f"Expected equal length, but received shape={shape} of length {len(shape)} while "
                f"self.full_shape={self.full_shape} is of length {len(self.full_shape)}."
            )
        for i, size in enumerate(shape):
            if self.var_offset[i] + size > self.full_shape[i]:
                raise ValueError(
                    f"With self.var_offset={self.var_offset}, a partition of shape={shape} would "
                    f"exceed self.full_shape={self.full_shape} in dimension {i}."
                )
        smaller = [i for i, size in enumerate(shape) if size != self.full_shape[i]]
        if len(smaller) > 1:
            raise ValueError(
                f"Cannot use single_slice_dim() with shape={shape} and "
                f"self.full_shape={self.full_shape} since slice dim could be either dimension "
                f"{smaller[1]} or {smaller[0]}."
            )
        return smaller[0] if smaller else None


def partition(partitioner: Callable[..., Any], shape: TensorShape, dtype: DType) -> Any:
    """Ask a partitioner into how many parts each dimension of a known shape is split."""
    if not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new partitioned variable must be fully defined, but instead was {shape}."
        )
    rank = len(shape.as_list())
    if rank < 1:
        raise ValueError(f"A partitioned Variable must have rank at least 1, shape: {shape}")
    slicing = partitioner(shape=shape, dtype=dtype)
    problem = _problem_of(slicing, shape, rank)
    if problem:
        raise ValueError(problem)
    return slicing


def _problem_of(slicing: Any, shape: TensorShape, rank: int) -> str | None:
    """Return the reason why a partitioner's answer makes no sense, if there is one."""
    if not isinstance(slicing, collections.abc.Sequence):
        return f"Partitioner must return a sequence, but saw: {slicing}"
    if len(slicing) != rank:
        return (
            "Partitioner returned a partition list that does not match the Variable's rank: "
            f"{slicing} vs. {shape}"
        )
    if min(slicing) < 1:
        return f"Partitioner returned zero partitions for some axes: {slicing}"
    if sum(parts > 1 for parts in slicing) > 1:
        return (
            f"Can only slice a variable along one dimension: shape: {shape}, partitioning: "
            f"{slicing}"
        )
    return None


def sliced_dimension(slicing: Sequence[int]) -> tuple[int, int]:
    """Return the dimension that is split, and into how many parts."""
    for dim, parts in enumerate(slicing):
        if parts > 1:
            return dim, parts
    return 0, 1


def slices(full_shape: list[int], parts: int, dim: int) -> Iterator[tuple[list[int], list[int]]]:
    """Offset and shape of each part; the first parts are larger where it does not divide."""
    length, excess = divmod(full_shape[dim], parts)
    offset = [0] * len(full_shape)
    for number in range(parts):
        shape = list(full_shape)
        shape[dim] = length + (number < excess)
        yield list(offset), shape
        offset[dim] += shape[dim]


def make_parts(
    store: Any,
    name: str,
    shape: TensorShape,
    dtype: DType,
    initializer: Any,
    partitions: Any,
    reuse: Any,
    options: dict[str, Any],
) -> list[Any]:
    """Make the variables `name/part_0`, `name/part_1`, ... of a partitioned variable."""
    dim, count = sliced_dimension(partitions)
    _check_existing(store, name, count)
    parts = []
    for number, (offset, size) in enumerate(slices(shape.as_list(), count, dim)):  # type: ignore[arg-type]
        info = PartitionInfo(full_shape=shape.as_list(), var_offset=offset)
        part_name = f"{name}/part_{number}"
        with name_scope(part_name + "/PartitionedInitializer"):
            value, value_shape, value_dtype = _part_initializer(
                name, initializer, dtype, offset, size
            )
        with name_scope(None):
            part = store._get_single_variable(
                name=part_name,
                shape=value_shape,
                dtype=value_dtype,
                initializer=value,
                partition_info=info,
                reuse=reuse,
                **options,
            )
        part._set_save_slice_info(SaveSliceInfo(name, shape.as_list(), offset, size))
        parts.append(part)
    return parts


def _part_initializer(
    name: str, initializer: Any, dtype: DType, offset: list[int], size: list[int]
) -> tuple[Any, Any, DType]:
    if initializer is None:
        from stillflow.variables.store import default_initializer

        return default_initializer(name, dtype), size, dtype
    if callable(initializer):
        return initializer, size, dtype
    from stillflow.ops.arrays.slicing import slice_

    whole = initializer
    if not isinstance(initializer, Tensor):
        whole = convert_to_tensor(initializer, dtype=dtype)
    part = slice_(whole, offset, size)
    return part, None, part.dtype.base_dtype


def _check_existing(store: Any, name: str, count: int) -> None:
    if f"{name}/part_0" not in store._vars:
        return
    prefix = (
        "Partitioner returned a different partitioning than what was already found.  Partitioner "
        f"returned {count} shards, and shard {name}/part_0 was found, but"
    )
    if f"{name}/part_{count - 1}" not in store._vars:
        raise ValueError(f"{prefix} {name}/part_{count - 1} was not.")
    if f"{name}/part_{count}" in store._vars:
        raise ValueError(f"{prefix} so was the extra shard {name}/part_{count}.")


class PartitionedVariable:
    """Several variables that together are one, split along one dimension."""

    def __init__(
        self, name: str, shape: Any, dtype: DType, variable_list: Sequence[Any], partitions: Any
    ) -> None:
        if not isinstance(variable_list, (list, tuple)):
            raise TypeError(f"variable_list is not a list or tuple: {variable_list}")
        if not isinstance(partitions, (list, tuple)):
            raise TypeError(f"partitions is not a list or tuple: {partitions}")
        if not all(count >= 1 for count in partitions):
            raise ValueError(f"partition values must be positive: {partitions}")
        if not variable_list:
            raise ValueError("variable_list may not be empty")
        infos = [variable._get_save_slice_info() for variable in variable_list]
        if any(info is None for info in infos):
            raise ValueError(
                "All variables must have a save_slice_info available: "
                f"{[v.name for v in variable_list]}"
            )
        if len(shape) != len(partitions):
            raise ValueError(f"len(shape) != len(partitions): {shape} vs. {partitions}")
        for info in infos:
            if info.full_shape != shape:
                raise ValueError(
                    f"All variables' full shapes must match shape: {shape}; but full shapes were: "
                    f"{[info.full_shape]}"
                )
        self._name, self._shape, self._dtype = name, shape, dtype
        self._variable_list = sorted(
            variable_list, key=lambda v: v._get_save_slice_info().var_offset
        )
        self._partitions = partitions

    def __iter__(self) -> Iterator[Any]:
        return iter(self._variable_list)

    def __len__(self) -> int:
        dims = self._partition_axes()
        if len(dims) > 1:
            raise ValueError(f"Cannot get a length for {len(dims)} > 1 partition axes")
        return len(self._variable_list)

    def _partition_axes(self) -> list[int]:
        if all(count == 1 for count in self._partitions):
            return [0]
        return [i for i, count in enumerate(self._partitions) if count > 1]

    def _concat(self) -> Tensor:
        from stillflow.ops.arrays.concat import concat
        from stillflow.ops.control_flow.identity_and_group import identity

        if len(self._variable_list) == 1:
            with name_scope(None):
                return identity(self._variable_list[0], name=self._name)
        axes = self._partition_axes()
        if len(axes) > 1:
            raise NotImplementedError(
                f"Cannot concatenate along more than one dimension: {axes}.  Multi-axis partition "
                "concat is not supported"
            )
        with name_scope(self._name + "/ConcatPartitions/"):
            joined = concat(self._variable_list, axes[0])
        with name_scope(None):
            return identity(joined, name=self._name)

    def as_tensor(self) -> Tensor:
        """All parts joined, placed outside of control dependencies."""
        from stillflow.graph.graph import get_default_graph

        with get_default_graph().control_dependencies(None):
            return self._concat()

    @property
    def name(self) -> str:
        return self._name

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        return self._shape

    def get_shape(self) -> TensorShape:
        return self._shape

    def _get_variable_list(self) -> list[Any]:
        return self._variable_list

    def _get_partitions(self) -> Any:
        return self._partitions

    def _apply(self, method: str, value: Any, **options: Any) -> list[Any]:
        """Call a method of all parts, each with its part of `value`."""
        axes = self._partition_axes()
        if len(axes) > 1:
            raise NotImplementedError(
                f"Cannot do assign action along more than one dimension: {axes}.  Multi-axis "
                "partition assign action is not supported "
            )
        if isinstance(value, (list, PartitionedVariable)):
            pieces = list(value)
        else:
            from stillflow.ops.arrays.splitting import split

            sizes = [variable.shape.as_list()[axes[0]] for variable in self._variable_list]
            pieces = split(value, sizes, axis=axes[0])
        return [
            getattr(variable, method)(piece, **options)
            for variable, piece in zip(self._variable_list, pieces, strict=True)
        ]

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Set all parts."""
        return self._apply(
            "assign", value, use_locking=use_locking, name=name, read_value=read_value
        )

    def assign_add(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Add to all parts."""
        return self._apply(
            "assign_add", value, use_locking=use_locking, name=name, read_value=read_value
        )

    def assign_sub(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Subtracts from all parts."""
        return self._apply(
            "assign_sub", value, use_locking=use_locking, name=name, read_value=read_value
        )


def _to_tensor(
    variable: PartitionedVariable, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    del name
    if dtype is not None and not dtype.is_compatible_with(variable.dtype):
        raise ValueError(
            f"Incompatible type conversion requested to type '{dtype.name}' for variable of type "
            f"'{variable.dtype.name}'"
        )
    if as_ref:
        raise NotImplementedError("PartitionedVariable doesn't support being used as a reference.")
    return variable.as_tensor()


register_tensor_conversion_function(PartitionedVariable, _to_tensor)


@export("variable_axis_size_partitioner")
def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: int = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> Callable[..., list[int]]:
    """Return a partitioner that keeps parts below a size in bytes.

    Raises:
      ValueError: if a limit is not positive.
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError("Both max_shard_bytes and bytes_per_string_element must be positive.")
    if max_shards and max_shards < 1:
        raise ValueError("max_shards must be positive.")

    def partitioner(shape: TensorShape, dtype: DType) -> list[int]:
        sizes: list[Any] = as_shape(shape).as_list()
        element = bytes_per_string_element if dtype.name == "string" else dtype.size
        parts = [1] * len(sizes)
        whole = math.prod(sizes)
        row = max(1, whole // sizes[axis]) * element
        rows = max(1, math.floor(max_shard_bytes / row))
        count = math.ceil(sizes[axis] / rows)
        if max_shards:
            count = min(count, max_shards)
        parts[axis] = min(sizes[axis], count)
        return parts

    return partitioner


@export("min_max_variable_partitioner")
def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Callable[..., list[int]]:
    """Return a partitioner that makes as many parts as keep each above a size in bytes."""

    def partitioner(shape: TensorShape, dtype: DType) -> list[int]:
        sizes: list[Any] = as_shape(shape).as_list()
        if axis >= len(sizes):
            raise ValueError(
                f"Cannot partition variable along axis {axis} when shape is only {shape}"
            )
        element = bytes_per_string_element if dtype.name == "string" else dtype.size
        total = math.prod(sizes) * element
        count = max(1, min(max_partitions, math.ceil(total / min_slice_size), sizes[axis]))
        parts = [1] * len(sizes)
        parts[axis] = count
        return parts

    return partitioner


@export("fixed_size_partitioner")
def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Callable[..., list[int]]:
    """Return a partitioner that makes `num_shards` parts, at most one per row."""

    def partitioner(shape: TensorShape, **unused: Any) -> list[int]:
        sizes: list[Any] = as_shape(shape).as_list()
        parts = [1] * len(sizes)
        parts[axis] = min(num_shards, sizes[axis])
        return parts

    return partitioner


@export("create_partitioned_variables")
def create_partitioned_variables(
    shape: Any,
    slicing: list[int],
    initializer: Any,
    dtype: Any = float32,
    trainable: bool = True,
    collections: Any = None,
    name: str | None = None,
    reuse: Any = None,
) -> list[Any]:
    """Make the parts of a variable split as `slicing` says, as a list of variables.

    Raises:
      ValueError: if `slicing` does not fit `shape`.
    """
    from stillflow.variables.variable_scope import (
        default_variable_store,
        get_variable_scope,
        variable_scope,
    )

    if len(shape) != len(slicing):
        raise ValueError(
            f"The 'shape' and 'slicing' of a partitioned Variable must have the length: shape: "
            f"{shape}, slicing: {slicing}"
        )
    if len(shape) < 1:
        raise ValueError("A partitioned Variable must have rank at least 1: shape: {shape}")
    with variable_scope(name, "PartitionedVariable", reuse=reuse):
        scope = get_variable_scope()
        full_name = "/".join(part for part in (scope.name,) if part)
        with name_scope(None):
            result = default_variable_store()._get_partitioned_variable(
                name=full_name,
                shape=shape,
                dtype=as_dtype(dtype),
                initializer=initializer,
                partitioner=lambda **unused: slicing,
                reuse=scope.reuse,
                trainable=trainable,
                collections=collections,
                use_resource=scope.use_resource,
            )
    return list(result)
