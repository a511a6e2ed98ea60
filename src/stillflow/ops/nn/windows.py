"""Windows that slide over images: data formats, output sizes, paddings.

Shared by convolutions, pools and dilations. Sizes follow TensorFlow: SAME gives
`ceil(size / stride)` outputs and pads one more element after than before where the padding is odd.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

from stillflow.graph import dims
from stillflow.graph.dims import Dim

Pair = tuple[int, int]


def channel_axis(data_format: bytes) -> int:
    """Return the position of the channels: NHWC, NCHW, NDHWC, NCDHW, NCHW_VECT_C."""
    return 1 if data_format.startswith(b"NC") else len(data_format) - 1


def spatial_axes(data_format: bytes) -> range:
    """Return the positions of height, width (and depth)."""
    if data_format.startswith(b"NC"):
        return range(2, len(data_format.partition(b"_")[0]))
    return range(1, len(data_format) - 1)


@overload
def output_size(
    size: int, window: int, stride: int, padding: bytes, dilation: int = ..., extra: int = ...,
    running: bool = ...,
) -> int: ...  # fmt: skip
@overload
def output_size(
    size: Dim, window: Dim, stride: int, padding: bytes, dilation: int = ..., extra: int = ...,
    running: bool = ...,
) -> Dim: ...  # fmt: skip
def output_size(
    size: Dim,
    window: Dim,
    stride: int,
    padding: bytes,
    dilation: int = 1,
    extra: int = 0,
    running: bool = False,
) -> Dim:
    """Return the number of window positions along one dimension.

    While the graph is built, a window larger than the image is rejected; at run time (`running`) it
    has no position unless it is much larger. TF's two sets of rules differ in this. `window` is not
    dilated yet; `extra` is explicit padding, before and after together.
    """
    if stride <= 0:
        raise ValueError(f"Stride must be > 0, but got {stride}")
    if dilation < 1:
        raise ValueError(f"Dilation rate must be >= 1, but got {dilation}")
    if padding == b"SAME":
        return dims.divide(dims.add(size, stride - 1), stride, evenly=False)
    if padding == b"EXPLICIT":
        size = dims.add(size, extra)
    if dilation > 1:
        window = dims.add(dims.multiply(dims.subtract(window, 1), dilation), 1)
    if running and size is not None and window is not None:
        return _positions(size, window, stride)
    room = dims.subtract(size, window)
    return dims.divide(dims.add(room, stride), stride, evenly=False)


def _positions(size: int, window: int, stride: int) -> int:
    room = size - window + stride
    if room <= -stride:
        raise ValueError(
            f"Computed output size would be negative: {-(-room // stride)} [input_size: {size}, "
            f"effective_filter_size: {window}, stride: {stride}]"
        )
    return max(room // stride, 0)


def same_padding(size: int, window: int, stride: int, dilation: int = 1) -> Pair:
    """Return the SAME padding before and after one dimension."""
    count = -(-size // stride)
    needed = max(0, (count - 1) * stride + (window - 1) * dilation + 1 - size)
    return needed // 2, needed - needed // 2


def pads(
    sizes: Sequence[int],
    windows: Sequence[int],
    strides: Sequence[int],
    padding: bytes,
    dilations: Sequence[int] | None = None,
) -> tuple[Pair, ...]:
    """Return the paddings before and after every spatial dimension under SAME or VALID."""
    if padding == b"VALID":
        return ((0, 0),) * len(sizes)
    rates = dilations or (1,) * len(sizes)
    return tuple(same_padding(*each) for each in zip(sizes, windows, strides, rates))


def spatial(values: Sequence[Any], data_format: bytes) -> tuple[Any, ...]:
    """Return the entries of a shape or an attribute like `strides` for height, width (, depth)."""
    return tuple(values[axis] for axis in spatial_axes(data_format))


def assemble(
    batch: Any, channels: Any, sizes: Sequence[Any], data_format: bytes
) -> tuple[Any, ...]:
    """Return a shape in the order of `data_format`."""
    if data_format.startswith(b"NC"):
        return (batch, channels, *sizes)
    return (batch, *sizes, channels)


def require_length(op: str, what: str, values: Sequence[Any], length: int) -> None:
    """Raise an error for an attribute with the wrong number of entries."""
    if len(values) != length:
        raise ValueError(
            f"{op} requires the {what} attribute to contain {length} values, but got: {len(values)}"
        )


def channels_first(rank: int) -> tuple[int, ...]:
    """Return the permutation from NHWC (NDHWC) to NCHW (NCDHW)."""
    return (0, rank - 1, *range(1, rank - 1))


def channels_last(rank: int) -> tuple[int, ...]:
    """Return the permutation from NCHW (NCDHW) to NHWC (NDHWC)."""
    return (0, *range(2, rank), 1)


def sequence(value: Any, count: int, axis: int, name: str) -> list[Any]:
    """Return a stride, dilation or window size as callers give it, for all dimensions.

    `value` is one number, one per spatial dimension (`count`), or one per dimension; None means 1.
    `axis` is the channels', 1 or the last.
    """
    if value is None:
        value = [1]
    elif not hasattr(value, "__len__"):
        value = [value]
    given = len(value)
    if given == count + 2:
        return value
    if given == 1:
        value = [value[0]] * count
    elif given == count:
        value = list(value)
    else:
        raise ValueError(f"{name} should be of length 1, {count} or {count + 2} but was {given}")
    return [1, 1, *value] if axis == 1 else [1, *value, 1]
