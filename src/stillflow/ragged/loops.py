"""A function of every row of ragged tensors: `map_fn`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from stillflow import nest
from stillflow.functional.elements import (
    Structure,
    check_mapped,
    check_ranks,
    size_of,
    variables_cached_once,
)
from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.operation import Tensor
from stillflow.ops.arrays.shape import expand_dims, shape
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.while_loop import while_loop
from stillflow.ops.math.cast import cast
from stillflow.ops.tensor_array.tensor_array import TensorArray
from stillflow.ragged.conversion import (
    common_splits_dtype,
    convert_to_tensor_or_ragged_tensor,
    is_ragged,
)
from stillflow.ragged.spec import RaggedTensorType
from stillflow.ragged.tensor import RaggedTensor


class _Parts(NamedTuple):
    """Parts of ragged results: tensors (or their types, or arrays of them)."""

    flat_values: Any
    nested_row_lengths: Any
    outer_row_length: Any


def map_fn(
    fn: Callable[..., Any],
    elems: Any,
    dtype: Any = None,
    parallel_iterations: int | None = None,
    back_prop: bool = True,
    swap_memory: bool = False,
    infer_shape: bool = True,
    name: str | None = None,
) -> Tensor | RaggedTensor:
    """Apply `fn` to each row of `elems`; see `tf.map_fn`.

    `elems` are (nested) dense or ragged tensors, as are results, of the types `dtype`: a
    `RaggedTensorType` for what is put in ragged rows; by default the structure and types of
    `elems`. `infer_shape` has all dense results of one shape. TypeError if `fn` is not callable, or
    `elems` is sparse; ValueError if `elems` are scalars, or `fn` gives something else than `dtype`
    says.
    """
    check_mapped(fn, elems)
    inputs = Structure(elems)
    flat = inputs.flatten(elems)
    common_splits_dtype(*flat)
    with name_scope(name, "map", flat), variables_cached_once():
        rows = [convert_to_tensor_or_ragged_tensor(item, name="elem") for item in flat]
        dtype = dtype or inputs.pack([item.dtype for item in rows])
        count = cast(_row_count(rows), dtypes.int32)
        kinds = nest.flatten(dtype)
        parts = [_part_types(kind) for kind in kinds]
        arrays = [
            TensorArray(dtype=kind, dynamic_size=False, infer_shape=infer_shape, size=count)
            for kind in nest.flatten(parts)
        ]
        start = constant(0, dtype=dtypes.int32)

        def step(i: Any, arrays: Any) -> tuple[Any, list[Any]]:
            results = nest.flatten(fn(inputs.pack([item[i] for item in rows])))
            checked = [_as_declared(*both) for both in zip(results, kinds, strict=False)]
            tensors = nest.flatten([_part_tensors(result) for result in checked])
            written = zip(arrays, tensors, strict=False)
            return i + 1, [array.write(i, value) for array, value in written]

        _, arrays = while_loop(
            lambda i, _: i < count,
            step,
            (start, arrays),
            parallel_iterations=parallel_iterations or 10,
            back_prop=back_prop,
            swap_memory=swap_memory,
            maximum_iterations=count,
        )
        packed = nest.pack_sequence_as(parts, arrays)
        collected = [_collected(item) for item in packed]
        return nest.pack_sequence_as(dtype, [_assembled(item) for item in collected])


def _row_count(rows: Sequence[Any]) -> Tensor | int:
    first = rows[0]
    if isinstance(first, RaggedTensor):
        return first.nrows(out_type=dtypes.int32)
    check_ranks(rows)
    return size_of(first)


def _part_types(kind: Any) -> Any:
    if not isinstance(kind, RaggedTensorType):
        return kind
    splits = kind.row_splits_dtype
    return _Parts(kind.dtype, (splits,) * (kind.ragged_rank - 1), splits)


def _as_declared(result: Any, declared: Any) -> Any:
    """One result of the function, a dense one that is to be a row by its parts."""
    if not isinstance(declared, RaggedTensorType):
        return result
    _check_declared(result, declared)
    if isinstance(result, RaggedTensor):
        return result
    length = shape(result, out_type=declared.row_splits_dtype)[0]
    return _Parts(result, (), expand_dims(length, axis=0))


def _part_tensors(result: Any) -> Any:
    """One result of the function as the tensors that are collected."""
    if not isinstance(result, RaggedTensor):
        return result
    lengths = tuple([splits[1:] - splits[:-1] for splits in result.nested_row_splits])
    return _Parts(result.flat_values, lengths, expand_dims(result.nrows(), axis=0))


def _check_declared(result: Any, declared: RaggedTensorType) -> None:
    rank = getattr(result, "ragged_rank", 0) + 1
    if declared.ragged_rank != rank:
        raise ValueError(
            f"The declared ragged rank ({declared.ragged_rank}) mismatches the result ({rank})"
        )
    if declared.dtype != result.dtype:
        raise ValueError(
            f"The declared dtype ({declared.dtype}) mismatches the result ({result.dtype})"
        )
    if is_ragged(result) and declared.row_splits_dtype != result.row_splits.dtype:
        raise ValueError(
            f"The declared row_splits dtype ({declared.row_splits_dtype}) mismatches the result "
            f"({result.row_splits.dtype}).  Use RaggedTensor.with_row_splits_dtype to convert it."
        )


def _collected(arrays: Any) -> Any:
    if not isinstance(arrays, _Parts):
        return arrays.stack()
    values = arrays.flat_values.concat()
    lengths = tuple([array.concat() for array in arrays.nested_row_lengths])
    return _Parts(values, lengths, arrays.outer_row_length.concat())


def _assembled(parts: Any) -> Any:
    if not isinstance(parts, _Parts):
        return parts
    result = parts.flat_values
    for lengths in reversed((parts.outer_row_length, *parts.nested_row_lengths)):
        result = RaggedTensor.from_row_lengths(result, lengths, validate=False)
    return result
