"""Kernels of sums, means, maxima and other reductions along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from stillflow.graph.dims import to_string
from stillflow.graph.dtypes import DType
from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.ops.kernels import torch_type
from stillflow.ops.math import row_extremes
from stillflow.ops.math.kernels import NUMPY_TYPES, invalid, is_finite, through_numpy

# A reduction along at least one axis: f(tensor, sorted axes, keep_dims).
Reduce = Callable[[Any, list[int], bool], Any]


def normalized(axes: Sequence[int], rank: int, running: bool = True) -> list[int]:
    """Return the axes counted from the front, in order and each once."""
    found = set()
    for axis in axes:
        if not -rank <= axis < rank:
            if running:
                raise ValueError(
                    f"Invalid reduction dimension ({axis} for input with {rank} dimension(s)"
                )
            raise ValueError(
                f"Invalid reduction dimension {axis} for input with {rank} dimensions."
            )
        found.add(axis % rank)
    return sorted(found)


def reduction_shape(node: Node) -> tuple[int | None, ...] | None:
    """Return the shape rule of all reductions: input 1 holds the axes."""
    running = node.planning
    shape, axes_shape = node.dims(0), node.dims(1)
    if not running and axes_shape is not None and len(axes_shape) > 1:
        raise ValueError(f"Shape must be at most rank 1 but is rank {len(axes_shape)}")
    axes = node.value(1)
    if shape is None:
        return None
    if axes is None:
        return (None,) * len(shape) if node.keep_dims else None
    reduced = normalized(axes.reshape(-1).tolist(), len(shape), running)
    if node.keep_dims:
        return tuple([1 if i in reduced else size for i, size in enumerate(shape)])
    return tuple([size for i, size in enumerate(shape) if i not in reduced])


def known_reduction(function: Callable[..., Any]) -> Callable[[Node], Any]:
    """Return the value part of a reduction that numpy has as `function(array, axis, keepdims)`."""

    def value(node: Node) -> Any:
        array, axes = node.value(0), node.value(1)
        if array is None or axes is None or array.dtype.kind not in "iub":
            return None
        reduced = tuple(normalized(axes.reshape(-1).tolist(), array.ndim))
        if not reduced:
            return array
        if array.size == 0 and function in (np.max, np.min, np.mean):
            return None
        result = function(array, axis=reduced, keepdims=node.keep_dims)
        return np.asarray(result).astype(array.dtype, copy=False)

    return value


def reduction_kernel(
    node: Node, reduce: Reduce, whole: Callable[..., Any] | None = None
) -> Call | Callable[..., Any]:
    """Bind the axes where they are known; `whole` reduces a tensor to a scalar, if faster."""
    keep = bool(node.keep_dims)
    axes, shape = node.value(1), node.dims(0)
    if axes is None or shape is None:

        def at_run_time(x: Any, axes: Any) -> torch.Tensor:
            found = normalized(axes.reshape(-1).tolist(), x.dim())
            return reduce(x, found, keep) if found else x.clone()

        return at_run_time
    found = normalized(axes.reshape(-1).tolist(), len(shape))
    if not found:
        return node.same(0)
    if whole is not None and len(found) == len(shape) and not keep:
        return node.call(whole, node.inputs[0])
    return node.call(reduce, node.inputs[0], found, keep)


def in_numpy(function: Callable[..., Any], dtype: DType) -> Reduce:
    """Return a reduction by numpy, for types that torch does not compute with."""

    def reduce(x: Any, axes: list[int], keep: bool) -> Any:
        def run(array: np.ndarray) -> Any:
            return function(array, axis=tuple(axes), keepdims=keep)

        return through_numpy(run, dtype)(x)

    return reduce


def sum_of(dtype: DType) -> tuple[Reduce, Callable[..., Any] | None]:
    """Return the sum along axes, and of everything."""
    if dtype in NUMPY_TYPES:
        # An explicit type keeps numpy from widening, so that sums wrap around as TF's do.
        return in_numpy(lambda x, **how: np.sum(x, dtype=x.dtype, **how), dtype), None
    if dtype.is_floating or dtype.is_complex:
        return torch.sum, torch.sum
    kind = torch_type(dtype)
    return (
        lambda x, axes, keep: torch.sum(x, axes, keep, dtype=kind),
        lambda x: torch.sum(x, dtype=kind),
    )


def mean_of(dtype: DType) -> tuple[Reduce, Callable[..., Any] | None]:
    """Return the mean along axes; of integers, rounded towards zero."""
    if dtype.is_floating or dtype.is_complex:
        return torch.mean, torch.mean
    total, _ = sum_of(dtype)

    def mean(x: Any, axes: list[int], keep: bool) -> torch.Tensor:
        result = total(x, axes, keep)
        count = 1
        for axis in axes:
            count *= x.shape[axis]
        if count == 0:
            return result
        if dtype in NUMPY_TYPES:
            return through_numpy(lambda array: array // count, dtype)(result)
        return torch.div(result, count, rounding_mode="trunc")

    return mean, None


def product_of(dtype: DType) -> tuple[Reduce, Callable[..., Any] | None]:
    """Return the product along axes."""
    if dtype in NUMPY_TYPES:
        return in_numpy(lambda x, **how: np.prod(x, dtype=x.dtype, **how), dtype), None
    kind = torch_type(dtype)

    def product(x: Any, axes: list[int], keep: bool) -> torch.Tensor:
        for axis in reversed(axes):
            x = torch.prod(x, axis, keep, dtype=kind)
        return x

    return product, lambda x: torch.prod(x, dtype=kind)


def _adjacent(axes: Sequence[int]) -> list[list[int]]:
    """Sorted axes in groups of those that follow each other: [0, 2, 3] as [[0], [2, 3]]."""
    groups: list[list[int]] = []
    for axis in axes:
        if groups and groups[-1][-1] + 1 == axis:
            groups[-1].append(axis)
        else:
            groups.append([axis])
    return groups


@cache
def extreme_of(dtype: DType, largest: bool) -> tuple[Reduce, Callable[..., Any] | None]:
    """Return the largest or smallest element along axes.

    As in TF, NaNs are passed over unless each stands alone (nothing is compared then), and of no
    elements the result is the type's other extreme.
    """
    function = "amax" if largest else "amin"
    if dtype.is_quantized:
        name = "Max" if largest else "Min"
        raise NotImplementedError(f"{name} is not implemented for {dtype.name}")
    floating = dtype.is_floating
    worst = (-np.inf if largest else np.inf) if floating else (dtype.min if largest else dtype.max)
    if dtype in NUMPY_TYPES:
        numpy_function = np.max if largest else np.min
        return in_numpy(lambda x, **how: numpy_function(x, initial=worst, **how), dtype), None
    kind = torch_type(dtype)

    def along(x: Any, axes: list[int], keep: bool) -> torch.Tensor:
        for group in reversed(_adjacent(axes)):  # of which torch takes one after the other faster
            x = getattr(torch, function)(x, group, keep)
        return x

    def extreme(x: Any, axes: list[int], keep: bool) -> torch.Tensor:
        if x.numel() == 0:
            shape = [1 if i in axes else n for i, n in enumerate(x.shape)]
            result = torch.full(shape, worst, dtype=kind, device=x.device)
            return (
                result
                if keep
                else result.reshape([n for i, n in enumerate(x.shape) if i not in axes])
            )
        result = along(x, axes, keep)
        if not floating or not x.is_cpu or is_finite(result) or result.numel() == x.numel():
            return result
        if torch.isnan(result).any():
            x = torch.where(torch.isnan(x), worst, x)
            result = along(x, axes, keep)
        return result

    return extreme, None


def euclidean_norm_of(dtype: DType) -> tuple[Reduce, Callable[..., Any] | None]:
    """Return the square root of the sum of squares along axes."""
    if dtype in NUMPY_TYPES:

        def norm(x: np.ndarray, **how: Any) -> Any:
            return np.sqrt(np.sum(x * x, dtype=x.dtype, **how).astype(np.float64))

        return in_numpy(norm, dtype), None
    total, _ = sum_of(dtype)
    kind = torch_type(dtype)

    def euclidean(x: Any, axes: list[int], keep: bool) -> torch.Tensor:
        if dtype.is_complex:
            return torch.sqrt(torch.sum(x * x.conj(), axes, keep))
        squares = total(x * x, axes, keep)
        if dtype.is_floating:
            return torch.sqrt(squares)
        return torch.sqrt(squares.double()).to(kind)

    return euclidean, None


def arg_extreme(node: Node, largest: bool) -> Any:
    """Return the kernel of ArgMax and ArgMin, which gives the first index of the extreme."""
    kind, dtype = torch_type(node.output_type), node.T
    if dtype.is_complex:
        raise ValueError(f"{node.op.type} is not defined for complex numbers")

    def positions(x: Any, axis: int) -> torch.Tensor:
        if not -x.dim() <= axis < x.dim():
            raise invalid(
                f"Expected dimension in the range [{-x.dim()}, {x.dim()}), but got {axis}"
            )
        if x.shape[axis] == 0:
            raise invalid(f"Reduction axis {axis} is empty in shape {to_string(tuple(x.shape))}")
        if dtype in NUMPY_TYPES:
            find = np.argmax if largest else np.argmin
            return through_numpy(lambda a: find(a, axis=axis), node.output_type)(x)
        return _positions(x, axis, largest).to(kind)

    axis = node.value(1)
    if axis is None:
        return lambda x, axis: positions(x, int(axis))
    return node.call(positions, node.inputs[0], int(axis))


def _positions(x: Any, axis: int, largest: bool) -> torch.Tensor:
    if not x.is_floating_point():
        return (torch.argmax if largest else torch.argmin)(x, axis)
    rows = row_extremes.as_rows(x, axis)
    if row_extremes.takes(rows):
        return row_extremes.places(rows, largest)
    function = torch.max if largest else torch.min
    if x.is_cpu:
        values, positions = function(x, axis)
        if is_finite(values) or not torch.isnan(values).any():
            return positions
    # TF passes over NaNs; to know whether there are any, a GPU would wait.
    worst = -np.inf if largest else np.inf
    return function(torch.where(torch.isnan(x), worst, x), axis)[1]
