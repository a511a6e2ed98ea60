"""Dilated windows by way of batches: every phase of the dilation becomes an image of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.static_value import static_value
from stillflow.graph.tensor_shape import TensorShape
from stillflow.ops.arrays.concat import concat
from stillflow.ops.arrays.shape import shape
from stillflow.ops.arrays.space_to_batch import (
    batch_to_space_nd,
    required_space_to_batch_paddings,
    space_to_batch_nd,
)
from stillflow.ops.arrays.stack import stack

# From (image, filter) to the result.
Operation = Callable[[Tensor, Any], Tensor]


def strides_and_dilation_rate(
    count: int, strides: Any, dilation_rate: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return both as int32 vectors with one number per spatial dimension, or raise ValueError."""
    rate = _positive(count, dilation_rate, "dilation_rate")
    steps = _positive(count, strides, "strides")
    if np.any(steps > 1) and np.any(rate > 1):
        raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
    return steps, rate


def _positive(count: int, values: Any, name: str) -> np.ndarray:
    if values is None:
        values = [1] * count
    elif len(values) != count:
        but = " but" if name == "dilation_rate" else ""
        raise ValueError(f"len({name})={len(values)}{but or ''} should be {count}")
    result = np.array(values, dtype=np.int32)
    if np.any(result < 1):
        raise ValueError(f"all values of {name} must be positive")
    return result


@export("nn.with_space_to_batch")
def with_space_to_batch(
    input: Any,
    dilation_rate: Any,
    padding: str,
    op: Callable[[Tensor, int, str], Tensor],
    filter_shape: Any = None,
    spatial_dims: Any = None,
    data_format: str | None = None,
) -> Tensor:
    """Apply `op` as if its windows were dilated.

    Args:
      dilation_rate: one positive integer per dilated dimension.
      padding: "SAME" or "VALID".
      op: `f(input, number of spatial dimensions, padding)`.
      filter_shape: the window's size, for "SAME".
      spatial_dims: the dilated dimensions, increasing; by default those that follow the batch.

    Raises:
      ValueError: if the parameters do not fit each other.
    """
    input = convert_to_tensor(input, name="input")

    def build(count: int, padding: str) -> Operation:
        return lambda image, _: op(image, count, padding)

    dilated = SpaceToBatch(
        input.shape, dilation_rate, padding, build, filter_shape=filter_shape,
        spatial_dims=spatial_dims, data_format=data_format,
    )  # fmt: skip
    return dilated(input, None)


class SpaceToBatch:
    """An operation with dilated windows, for images of one static shape.

    Args:
      build: `f(number of spatial dimensions, padding)` gives the operation without dilation.

    Others are those of `with_space_to_batch`.
    """

    def __init__(
        self,
        input_shape: TensorShape,
        dilation_rate: Any,
        padding: str,
        build: Callable[[int, str], Operation],
        filter_shape: Any = None,
        spatial_dims: Any = None,
        data_format: str | None = None,
    ) -> None:
        rate = convert_to_tensor(dilation_rate, dtypes.int32, name="dilation_rate")
        count = _length(rate)
        self.spatial_dims = _spatial_dims(spatial_dims, count, data_format)
        _require_rank(input_shape, self.spatial_dims, data_format)
        known = static_value(rate)
        if known is not None:
            if np.any(known < 1):
                raise ValueError("dilation_rate must be positive")
            if np.all(known == 1):
                self.call = build(count, padding)
                return
        self.input_shape = input_shape
        self.dilation_rate = rate
        self.data_format = data_format
        self.base_paddings = _base_paddings(
            padding, filter_shape, count, rate if known is None else known
        )
        self.op = build(count, "VALID")
        self.call = self._dilated

    def __call__(self, image: Tensor, filter: Any) -> Tensor:
        return self.call(image, filter)

    def _dilated(self, image: Tensor, filter: Any) -> Tensor:
        axes = self.spatial_dims
        sizes: Any = None
        if self.input_shape.ndims is not None:
            listed = self.input_shape.as_list()
            sizes = [listed[axis] for axis in axes]
        if sizes is None or None in sizes:
            full = shape(image)
            sizes = stack([full[axis] for axis in axes])
        base = self.base_paddings
        if callable(base):
            base = base(filter)
        paddings, crops = required_space_to_batch_paddings(
            input_shape=sizes, base_paddings=base, block_shape=self.dilation_rate
        )
        rate = _spread(self.dilation_rate, 1, axes)
        paddings, crops = _spread(paddings, 0, axes), _spread(crops, 0, axes)
        phases = space_to_batch_nd(input=image, block_shape=rate, paddings=paddings)
        result = batch_to_space_nd(input=self.op(phases, filter), block_shape=rate, crops=crops)
        if self.data_format is not None and self.data_format.startswith("NC"):
            _restore_channels(result, filter)
        return result


def _length(rate: Tensor) -> int:
    try:
        sizes = rate.shape.with_rank(1)
    except ValueError:
        raise ValueError("rate must be rank 1") from None
    (length,) = sizes.as_list()
    if length is None:
        raise ValueError("rate must have known shape")
    return length


def _spatial_dims(given: Any, count: int, data_format: str | None) -> list[int]:
    if given is None:
        start = 2 if data_format is not None and data_format.startswith("NC") else 1
        given = range(start, count + start)
    listed = list(given)
    result = sorted({int(axis) for axis in listed})
    if result != listed or any(axis < 1 for axis in result):
        raise ValueError(
            "spatial_dims must be a montonically increasing sequence of positive integers"
        )
    return result


def _require_rank(shape: TensorShape, axes: Sequence[int], data_format: str | None) -> None:
    first = data_format is not None and data_format.startswith("NC")
    expected = axes[-1] if first else axes[-1] + 1
    try:
        shape.with_rank_at_least(expected)
    except ValueError:
        raise ValueError(f"input tensor must have rank {expected} at least") from None


def _base_paddings(padding: str, filter_shape: Any, count: int, rate: Any) -> Any:
    """Return the padding of a dilated window, a function of the filter if not yet known."""
    if padding == "VALID":
        return np.zeros([count, 2], np.int32)
    if padding != "SAME":
        raise ValueError(f"Invalid padding method {padding!r}")
    if filter_shape is None:
        raise ValueError("filter_shape must be specified for SAME padding")
    known = static_value(convert_to_tensor(filter_shape, name="filter_shape"))
    if known is not None:
        return _same_paddings(known, count, rate)
    return lambda filter: _same_paddings(shape(filter), count, rate)


def _same_paddings(filter_shape: Any, count: int, rate: Any) -> Tensor:
    window = filter_shape[:count]
    extra = window + (window - 1) * (rate - 1) - 1
    start = extra // 2
    end = extra - start
    return stack([[start[i], end[i]] for i in range(count)])


def _spread(values: Tensor, fill: int, axes: Sequence[int]) -> Any:
    """Rows for the spatial dimensions as rows for all dimensions up to the last spatial one."""
    tail = values.shape.as_list()[1:]
    kind = values.dtype.as_numpy_dtype
    known = static_value(values)
    source: Any = values if known is None else known
    parts: list[Any] = []
    previous = i = 0
    while i < len(axes):
        start = i
        if axes[i] > 1:
            parts.append(np.full([axes[i] - 1 - previous, *tail], fill, dtype=kind))
        while i + 1 < len(axes) and axes[i + 1] == axes[i] + 1:
            i += 1
        parts.append(source[start : i + 1])
        previous = axes[i]
        i += 1
    return concat(parts, 0) if known is None else np.concatenate(parts)


def _restore_channels(result: Tensor, filter: Any) -> None:
    """Restore the static number of channels from the filter."""
    if filter is not None and not result.shape.dims[1].value:
        sizes = result.shape.as_list()
        sizes[1] = filter.shape[-1]
        result.set_shape(sizes)
