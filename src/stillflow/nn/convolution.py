"""Convolutions of any rank, dilated or not."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph.api import name_scope
from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.tensor_shape import TensorShape, as_shape
from stillflow.nn.conv_transpose import conv1d, conv2d_transpose
from stillflow.nn.space_to_batch import SpaceToBatch, strides_and_dilation_rate
from stillflow.ops.arrays.shape import shape
from stillflow.ops.arrays.space_to_batch import batch_to_space, space_to_batch
from stillflow.ops.nn.conv import conv2d, conv2d_backprop_input_op, conv2d_op
from stillflow.ops.nn.conv3d import conv3d_op
from stillflow.ops.nn.windows import sequence
from stillflow.util.renamed import renamed_argument


def _channels(data_format: str | None, last: int) -> int:
    return 1 if data_format is not None and data_format.startswith("NC") else last


def _spatial_count(input: Any, filters: Any) -> int:
    for tensor in (input, filters):
        rank = as_shape(tensor.shape).ndims if tensor.shape is not None else None
        if rank is not None:
            if not 1 <= rank - 2 <= 3:
                raise ValueError(f"Input tensor must be of rank 3, 4 or 5 but was {rank}.")
            return rank - 2
    raise ValueError("rank of input or filter must be known")


@export("nn.convolution")
def convolution(
    input: Any,
    filter: Any,
    padding: str,
    strides: Any = None,
    dilation_rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Return the convolution of one, two or three dimensions, by the rank of the input.

    Args:
      input: [batch, spatial dimensions ..., channels], or channels second under "NC...".
      filter: [spatial dimensions ..., input channels, output channels].
      padding: "SAME" or "VALID".
      strides, dilation_rate: one number, or one per spatial dimension; not both above 1.
      filters, dilations: the newer names of `filter` and `dilation_rate`.
    """
    filter = renamed_argument("filters", filters, "filter", filter)
    dilations = renamed_argument("dilations", dilations, "dilation_rate", dilation_rate)
    count = _spatial_count(input, filter)
    axis = _channels(data_format, count + 1)
    strides = sequence(strides, count, axis, "strides")
    dilations = sequence(dilations, count, axis, "dilations")
    with name_scope(name, "convolution", [input, filter]) as scope:
        if all(rate == 1 for rate in dilations):
            function: Any = (conv1d, conv2d_op, conv3d_op)[count - 1]
            return function(
                input, filter, strides, padding=padding, data_format=data_format,
                dilations=dilations, name=scope,
            ) if count == 1 else function(
                input, filter, strides=strides, padding=padding, data_format=data_format,
                dilations=dilations, name=scope,
            )  # fmt: skip
        inner = slice(2, None) if axis == 1 else slice(1, -1)
        dilated = Convolution(
            as_shape(input.shape), as_shape(filter.shape), padding, strides=strides[inner],
            dilation_rate=dilations[inner], name=scope, data_format=data_format,
        )  # fmt: skip
        return dilated(input, filter)


class Convolution:
    """A convolution, dilated or not, for images and filters of given static shapes.

    Raises:
      ValueError: if ranks or numbers of channels do not fit.
    """

    def __init__(
        self,
        input_shape: TensorShape,
        filter_shape: TensorShape,
        padding: str,
        strides: Any = None,
        dilation_rate: Any = None,
        name: str | None = None,
        data_format: str | None = None,
    ) -> None:
        rank = filter_shape.ndims if filter_shape.ndims is not None else input_shape.ndims
        if rank is None:
            raise ValueError("rank of input or filter must be known")
        count = rank - 2
        input_shape = _with_rank("input", input_shape, rank)
        filter_shape = _with_rank("filter", filter_shape, rank)
        axis = _channels(data_format, count + 1)
        depth, expected = input_shape.dims[axis], filter_shape.dims[count]
        if not depth.is_compatible_with(expected):
            raise ValueError(
                "number of input channels does not match corresponding dimension of filter, "
                f"{depth} != {expected}"
            )
        strides, rate = strides_and_dilation_rate(count, strides, dilation_rate)
        first = 2 if axis == 1 else 1

        def build(_: int, padding: str) -> PlainConvolution:
            return PlainConvolution(
                input_shape, filter_shape, padding, data_format, strides, name=name
            )

        self.conv_op = SpaceToBatch(
            input_shape, rate, padding, build, filter_shape=filter_shape,
            spatial_dims=range(first, count + first), data_format=data_format,
        )  # fmt: skip

    def __call__(self, inp: Any, filter: Any) -> Tensor:
        return self.conv_op(inp, filter)


def _with_rank(what: str, shape: TensorShape, rank: int) -> TensorShape:
    try:
        return shape.with_rank(rank)
    except ValueError:
        raise ValueError(f"{what} tensor must have rank {rank}") from None


class PlainConvolution:
    """A convolution without dilation, of one, two or three dimensions."""

    def __init__(
        self,
        input_shape: TensorShape,
        filter_shape: TensorShape,
        padding: str,
        data_format: str | None = None,
        strides: Any = None,
        name: str | None = None,
    ) -> None:
        filter_shape = filter_shape.with_rank(input_shape.ndims)
        rank = input_shape.with_rank(filter_shape.ndims).ndims
        if rank is None:
            raise ValueError("Rank of convolution must be known")
        if not 3 <= rank <= 5:
            raise ValueError("`input` and `filter` must have rank at least 3 and at most 5")
        count = rank - 2
        if strides is None:
            strides = [1] * count
        elif len(strides) != count:
            raise ValueError(f"len(strides)={len(strides)}, but should be {count}")
        allowed = _FORMATS[count]
        self.data_format = allowed[0] if data_format is None else data_format
        if self.data_format not in allowed:
            have = f" Have: {data_format}" if count == 3 else ""
            raise ValueError(f'data_format must be "{allowed[0]}" or "{allowed[1]}".{have}')
        self.count, self.padding, self.name = count, padding, name
        first = self.data_format.startswith("NC")
        self.strides = [1, 1, *strides] if first else [1, *strides, 1]
        self.stride = strides[0]

    def __call__(self, inp: Any, filter: Any) -> Tensor:
        if self.count == 1:
            return conv1d(
                inp, filter, self.stride, self.padding, data_format=self.data_format,
                name=self.name,
            )  # fmt: skip
        function = conv2d if self.count == 2 else conv3d_op
        return function(
            inp, filter, strides=self.strides, padding=self.padding,
            data_format=self.data_format, name=self.name,
        )  # fmt: skip


_FORMATS = {1: ("NWC", "NCW", "NCHW", "NHWC"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


# ---- atrous convolution


@export("nn.atrous_conv2d")
def atrous_conv2d(
    value: Any, filters: Any, rate: Any, padding: str, name: str | None = None
) -> Tensor:
    """`convolution` of images with a filter dilated by `rate`, an integer."""
    return convolution(
        input=value, filter=filters, padding=padding,
        dilation_rate=np.broadcast_to(rate, (2,)), name=name,
    )  # fmt: skip


@export("nn.atrous_conv2d_transpose")
def atrous_conv2d_transpose(
    value: Any, filters: Any, output_shape: Any, rate: int, padding: str, name: str | None = None
) -> Tensor:
    """Return the transpose of `atrous_conv2d`: the gradient for an input of `output_shape`.

    Args:
      value: [batch, height, width, channels].
      filters: [height, width, output channels, input channels].

    Raises:
      ValueError: if the shapes or parameters do not fit each other.
    """
    with name_scope(name, "atrous_conv2d_transpose", [value, filters, output_shape]):
        value = convert_to_tensor(value, name="value")
        filters = convert_to_tensor(filters, name="filters")
        _check_atrous(value, filters, rate)
        if rate == 1:
            return conv2d_transpose(
                value, filters, output_shape, strides=[1, 1, 1, 1], padding=padding,
                data_format="NHWC",
            )  # fmt: skip
        output_shape = _atrous_output_shape(output_shape, filters)
        top, bottom, left, right = _atrous_padding(filters, rate, padding)
        height = output_shape[1] + top + bottom
        width = output_shape[2] + left + right
        bottom_extra = (rate - height % rate) % rate
        right_extra = (rate - width % rate) % rate
        value = space_to_batch(
            input=value, paddings=[[0, bottom_extra], [0, right_extra]], block_size=rate
        )
        sizes = [
            rate * rate * output_shape[0], (height + bottom_extra) // rate,
            (width + right_extra) // rate, output_shape[3],
        ]  # fmt: skip
        value = conv2d_backprop_input_op(
            sizes, filters, value, strides=[1, 1, 1, 1], padding="VALID", data_format="NHWC"
        )
        crops = [[top, bottom + bottom_extra], [left, right + right_extra]]
        return batch_to_space(input=value, crops=crops, block_size=rate)


def _check_atrous(value: Tensor, filters: Tensor, rate: int) -> None:
    mine, expected = value.shape.dims[3], filters.shape[3]
    if not mine.is_compatible_with(expected):
        raise ValueError(
            f"value's input channels does not match filters' input channels, {mine} != {expected}"
        )
    if rate < 1:
        raise ValueError(f"rate {rate} cannot be less than one")


def _atrous_output_shape(output_shape: Any, filters: Tensor) -> list[int]:
    found = convert_to_tensor(output_shape, name="output_shape").shape
    if not found.is_compatible_with(TensorShape([4])):
        raise ValueError(f"output_shape must have shape (4,), got {found}")
    if isinstance(output_shape, tuple):
        output_shape = list(output_shape)
    if isinstance(output_shape, (list, np.ndarray)):
        depth = filters.shape.dims[2]
        if not depth.is_compatible_with(output_shape[3]):
            raise ValueError(
                "output_shape does not match filter's output channels, "
                f"{output_shape[3]} != {depth}"
            )
    return output_shape


def _atrous_padding(filters: Tensor, rate: int, padding: str) -> tuple[Any, Any, Any, Any]:
    """Return the SAME padding above, below, left and right of the output."""
    if padding == "VALID":
        return 0, 0, 0, 0
    if padding != "SAME":
        raise ValueError(f"padding must be either VALID or SAME: {padding}")
    known = filters.shape.is_fully_defined()
    sizes: Any = filters.shape.as_list() if known else shape(filters)
    result: list[Any] = []
    window = sizes[0], sizes[1]
    extra = [size + (size - 1) * (rate - 1) for size in window]
    extra = [size - 1 for size in extra]
    for size in extra:
        before = size // 2
        result += [before, size - before]
    return tuple(result)
