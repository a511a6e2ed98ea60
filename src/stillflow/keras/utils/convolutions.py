"""Receptive field of a convolution's output in its input."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from stillflow.layers.utils import conv_output_length

Sizes = Sequence[int]


def _each(number: Any, count: int) -> tuple[int, ...]:
    return (number,) * count if isinstance(number, int) else tuple(number)


def _checked(sizes: Sizes, kernel: Any, strides: Any, padding: str) -> tuple[Sizes, Sizes]:
    """Return the kernel's sizes and the strides, one for each axis."""
    if padding not in ("same", "valid"):
        raise NotImplementedError(
            f'Padding type {padding} not supported. Only "valid" and "same" are implemented.'
        )
    rank = len(sizes)
    kernel, strides = _each(kernel, rank), _each(strides, rank)
    if len(kernel) != rank or len(strides) != rank:
        raise ValueError(
            "Number of strides, input and kernel dimensions must all match. Received: "
            f"{len(strides)}, {rank}, {len(kernel)}."
        )
    return kernel, strides


def conv_output_shape(
    input_shape: Sizes, kernel_shape: Any, strides: Any, padding: str
) -> tuple[int, ...]:
    """Return the sizes of a convolution's output; arguments are those of `conv_kernel_mask`."""
    rank = len(input_shape)
    return tuple(
        conv_output_length(size, kernel, padding, stride) if size else 0
        for size, kernel, stride in zip(
            input_shape, _each(kernel_shape, rank), _each(strides, rank), strict=True
        )
    )


def conv_connected_inputs(
    input_shape: Sizes, kernel_shape: Any, output_position: Sizes, strides: Any, padding: str
) -> list[range]:
    """Return the places on each axis of the input that one place of the output looks at."""
    rank = len(input_shape)
    places = []
    for size, kernel, place, stride in zip(
        input_shape, _each(kernel_shape, rank), output_position, _each(strides, rank), strict=True
    ):
        start = place * stride - (kernel // 2 if padding == "same" else 0)
        places.append(range(max(0, start), min(size, start + kernel)))
    return places


def conv_kernel_mask(
    input_shape: Sizes, kernel_shape: Any, strides: Any, padding: str
) -> np.ndarray[Any, Any]:
    """Return bools, [input sizes ..., output sizes ...]: True in an output's receptive field.

    There is one number for each axis; `padding` is "valid" or "same". NotImplementedError for
    another padding, ValueError if numbers do not match.
    """
    kernel, strides = _checked(input_shape, kernel_shape, strides, padding)
    rank = len(input_shape)
    outputs = conv_output_shape(input_shape, kernel, strides, padding)
    found = np.ones((1,) * (2 * rank), bool)
    for axis, (size, count) in enumerate(zip(input_shape, outputs, strict=True)):
        starts = np.arange(count) * strides[axis]
        starts = starts - (kernel[axis] // 2 if padding == "same" else 0)
        places = np.arange(size)[:, np.newaxis]
        touched = (places >= starts) & (places < starts + kernel[axis])
        shape = [1] * (2 * rank)
        shape[axis], shape[rank + axis] = size, count
        found = found & touched.reshape(shape)
    return found


def conv_kernel_idxs(
    input_shape: Sizes,
    kernel_shape: Any,
    strides: Any,
    padding: str,
    filters_in: int,
    filters_out: int,
    data_format: str,
) -> Iterator[tuple[int, int]]:
    """Yield pairs of places in a flat output and a flat input between which there is a weight.

    See `conv_kernel_mask`; the filters are channels. ValueError for an unknown data format, too.
    """
    kernel, strides = _checked(input_shape, kernel_shape, strides, padding)
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(
            f"Data format {data_format} not recignized.`data_format` must be "
            '"channels_first" or "channels_last".'
        )
    first = data_format == "channels_first"
    outputs = conv_output_shape(input_shape, kernel, strides, padding)

    def flat(place: Sizes, channel: int, sizes: Sizes, channels: int) -> int:
        if first:
            return int(np.ravel_multi_index((channel, *place), (channels, *sizes)))
        return int(np.ravel_multi_index((*place, channel), (*sizes, channels)))

    for place in itertools.product(*map(range, outputs)):
        seen = conv_connected_inputs(input_shape, kernel, place, strides, padding)
        for position in itertools.product(*seen):
            for f_in, f_out in itertools.product(range(filters_in), range(filters_out)):
                yield (
                    flat(place, f_out, outputs, filters_out),
                    flat(position, f_in, input_shape, filters_in),
                )
