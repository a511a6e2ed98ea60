"""Two-dimensional convolution: Conv2D and its gradients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow.graph import dims, dtypes
from stillflow.graph.card import op
from stillflow.graph.export import export
from stillflow.graph.lazy import torch
from stillflow.graph.node import Call, Node
from stillflow.graph.operation import Tensor
from stillflow.graph.parts import Gradients, Kernel, OutputDims
from stillflow.graph.traits import Cost
from stillflow.ops.arrays.shape import shape
from stillflow.ops.arrays.shape_n import shape_n
from stillflow.ops.input_ranks import kernel_ranks, kernel_windows
from stillflow.ops.memory_limits import require_room
from stillflow.ops.nn import convolution as kernels
from stillflow.ops.nn import windows
from stillflow.ops.nn.convolution import Slide
from stillflow.ops.nn.precision import precise_on_cpu
from stillflow.ops.samples import Bad, Sample, Samples
from stillflow.util.renamed import renamed_argument

_ATTRS = """
    T: {half, bfloat16, float, double}
    strides: list(int)
    use_cudnn_on_gpu: bool = true
    padding: {"SAME", "VALID", "EXPLICIT"}
    explicit_paddings: list(int) = []
    data_format: {"NHWC", "NCHW"} = "NHWC"
    dilations: list(int) = [1, 1, 1, 1]
"""


def check_explicit_paddings(node: Node) -> None:
    """Check explicit paddings against the padding attribute."""
    given = node.explicit_paddings
    if node.padding != b"EXPLICIT":
        if given:
            raise ValueError(
                "explicit_paddings attribute must be empty if the padding attribute is not EXPLICIT"
            )
        return
    if len(given) != 8:
        raise ValueError(
            f"explicit_paddings attribute must contain 8 values, but got: {len(given)}"
        )
    if min(given) < 0:
        raise ValueError("All elements of explicit_paddings must be nonnegative")
    channel = windows.channel_axis(node.data_format)
    if given[0] or given[1] or given[2 * channel] or given[2 * channel + 1]:
        raise ValueError(
            "Nonzero explicit padding in the batch or depth dimensions is not supported"
        )


def check_depths(depth: Any, filter_depth: Any, output: Any) -> None:
    """Raise an error for numbers of channels that fit no (grouped) convolution."""
    if depth is None or filter_depth is None:
        return
    if filter_depth == 0:
        raise ValueError("Depth of filter must not be 0")
    if depth % filter_depth:
        raise ValueError(
            f"Depth of input ({depth}) is not a multiple of input depth of filter ({filter_depth})"
        )
    if depth != filter_depth and output is not None:
        groups = depth // filter_depth
        if groups == 0:
            raise ValueError("Number of groups must not be 0")
        if output % groups:
            raise ValueError(
                f"Depth of output ({output}) is not a multiple of the number of groups ({groups})"
            )


def slide_of(node: Node) -> Slide:
    """Return the attributes of a convolution that say how its window moves."""
    channel = windows.channel_axis(node.data_format)
    for what, values in (("strides", node.strides), ("dilations", node.dilations)):
        if values[0] != 1 or values[channel] != 1:
            raise ValueError(
                f"Current implementation does not yet support {what} in the batch and depth "
                "dimensions."
            )
    explicit: Any = ()
    if "explicit_paddings" in node.op.attrs:
        check_explicit_paddings(node)
        explicit = node.explicit_paddings
    return Slide(
        tuple(node.strides), tuple(node.dilations), node.padding, tuple(explicit), node.data_format
    )


# ---- Conv2D

conv2d_op = op(
    f"""
    Conv2D(input: T, filter: T) -> output: T
    {_ATTRS}
""",
    gpu_types="fractions",
    cost=Cost("window", places=(2, 1)),
    latency="long",
)
conv2d_op.check(
    kernel_ranks(
        (0, 4, "input must be 4-dimensional{}"), (1, 4, "filter must be 4-dimensional: {}")
    )
)


@conv2d_op.shape
def conv2d_shape(node: Node) -> OutputDims:
    form = node.data_format
    image, filter = dims.with_rank(node.dims(0), 4), dims.with_rank(node.dims(1), 4)
    windows.require_length("Conv2D", "dilation", node.dilations, 4)
    if len(node.strides) != 4:
        raise ValueError(
            f"Conv2D on data format {form.decode()} requires the stride attribute to contain 4 "
            f"values, but got: {len(node.strides)}"
        )
    check_depths(image[windows.channel_axis(form)], filter[2], filter[3])
    check_explicit_paddings(node)
    extra = [sum(node.explicit_paddings[2 * axis : 2 * axis + 2]) for axis in range(4)]
    sizes = [
        windows.output_size(
            image[axis], filter[i], node.strides[axis], node.padding, node.dilations[axis],
            extra[axis], node.planning,
        )
        for i, axis in enumerate(windows.spatial_axes(form))
    ]  # fmt: skip
    return windows.assemble(image[0], filter[3], sizes, form)


def convolution_kernel(node: Node, slide: Slide) -> Call | Callable[..., Any]:
    """Return the kernel of (input, filter) -> output."""
    run = precise_on_cpu(node, kernels.convolution, 2)
    image, filter = node.inputs
    sizes, window, output = node.dims(0), node.dims(1), node.out_dims(0)
    if dims.num_elements(output) == 0 and dims.is_known(output):
        return node.call(kernels.zeros, image, output)
    if dims.is_known(sizes) and dims.is_known(window):
        return node.call(run, image, filter, slide.geometry(sizes, window))

    def convolve(image: Any, filter: Any) -> torch.Tensor:
        counts = slide.counts(image.shape, filter.shape)
        if 0 in counts:
            shape = windows.assemble(image.shape[0], filter.shape[-1], counts, slide.data_format)
            return kernels.zeros(image, shape)
        return run(image, filter, slide.geometry(image.shape, filter.shape))

    return convolve


@conv2d_op.kernel
def conv2d_kernel(node: Node) -> Kernel:
    return convolution_kernel(node, slide_of(node))


def _attributes(node: Node) -> dict[str, Any]:
    names = (
        "dilations", "strides", "padding", "explicit_paddings", "use_cudnn_on_gpu", "data_format",
    )  # fmt: skip
    return {name: node.op.attrs[name] for name in names}


@conv2d_op.gradient
def conv2d_gradient(node: Node, grad: Tensor) -> Gradients:
    image, filter = node.inputs
    image_shape, filter_shape = shape_n([image, filter])
    return [
        conv2d_backprop_input_op(image_shape, filter, grad, **_attributes(node)),
        conv2d_backprop_filter_op(image, filter_shape, grad, **_attributes(node)),
    ]


@conv2d_op.samples
def conv2d_samples() -> Samples:
    image, filter = ramp(2, 5, 4, 3), ramp(3, 2, 3, 4)
    yield Sample(image, filter, strides=[1, 1, 1, 1], padding="SAME")
    yield Sample(image, filter, strides=[1, 2, 2, 1], padding="SAME")
    yield Sample(image, filter, strides=[1, 1, 2, 1], padding="VALID")
    yield Sample(image, filter[:1, :1], strides=[1, 1, 1, 1], padding="VALID")
    yield Sample(image, filter, strides=[1, 1, 1, 1], padding="SAME", dilations=[1, 2, 2, 1])
    yield Sample(
        image, filter, strides=[1, 1, 1, 1], padding="EXPLICIT",
        explicit_paddings=[0, 0, 1, 2, 0, 1, 0, 0],
    )  # fmt: skip
    yield Sample(
        image.transpose(0, 3, 1, 2), filter, strides=[1, 1, 2, 2], padding="SAME",
        data_format="NCHW",
    )  # fmt: skip
    yield Bad(image, filter[..., :0, :], strides=[1, 1, 1, 1], padding="SAME", match="must not")
    yield Bad(image, filter[..., :2, :], strides=[1, 1, 1, 1], padding="SAME", match="multiple")
    yield Bad(image, filter, strides=[1, 0, 1, 1], padding="SAME", match="Stride must be > 0")
    yield Bad(image[:, :1], filter, strides=[1, 1, 1, 1], padding="VALID", match="Negative")


def ramp(*shape: int) -> np.ndarray:
    """Sample values without a pattern."""
    count = int(np.prod(shape))
    return (np.sin(np.arange(count, dtype=np.float32)) * 2).reshape(shape)


# ---- the gradients


def check_backprop(label: str, slide: Slide, image: Any, filter: Any, grad: Any) -> None:
    """Raise an error for an output gradient that is not of a convolution of these shapes."""
    rank = len(slide.strides)
    for name, found in (("input", image), ("filter", filter), ("out_backprop", grad)):
        if len(found) != rank:
            raise ValueError(f"{label}: {name} must be {rank}-dimensional")
    channel = windows.channel_axis(slide.data_format)
    if image[0] != grad[0]:
        raise ValueError(
            f"{label}: input and out_backprop must have the same batch sizeinput batch: "
            f"{image[0]}outbackprop batch: {grad[0]} batch_dim: 0"
        )
    if filter[-2] == 0 or image[channel] % filter[-2]:
        raise ValueError(f"{label}: input depth must be evenly divisible by filter depth")
    if filter[-1] != grad[channel]:
        raise ValueError(f"{label}: filter and out_backprop must have the same out_depth")
    counts = slide.counts(image, filter)
    for i, axis in enumerate(windows.spatial_axes(slide.data_format)):
        if counts[i] != grad[axis]:
            raise ValueError(
                f"{label}: Size of out_backprop doesn't match computed: actual = {grad[axis]}, "
                f"computed = {counts[i]} spatial_dim: {axis} input: {image[axis]} filter: "
                f"{filter[i]} output: {grad[axis]} stride: {slide.strides[axis]} dilation: "
                f"{slide.dilations[axis]}"
            )


def given_shape(node: Node, index: int, rank: int) -> tuple[int | None, ...]:
    """Return the shape rule of an output whose shape input number `index` says."""
    dims.with_rank(node.dims(index), 1)
    sizes = node.shape_value(index)
    return (None,) * rank if sizes is None else dims.with_rank(sizes, rank)


def _target(node: Node, index: int, like: bool) -> Any:
    """Return the known shape of a gradient: an input's, or the value of an input."""
    return node.dims(index) if like else node.shape_value(index)


def target_now(value: Any, like: bool = False) -> tuple[int, ...]:
    """Return the shape of a gradient, read while the plan runs."""
    if not like and value.ndim != 1:
        raise ValueError("shape must be a vector of {int32,int64}, got shape []")
    sizes = tuple(value.shape) if like else tuple(value.tolist())
    for axis, size in enumerate(sizes):
        if size < 0:
            raise ValueError(f"Dimension {axis} of input_sizes must be >= 0")
    require_room(sizes, dtypes.half)
    return sizes


def input_gradient_kernel(
    node: Node, slide: Slide, label: str, like: bool = False
) -> Call | Callable[..., Any]:
    """Return the kernel of (input_sizes, filter, out_backprop) -> gradient for the input.

    With `like`, the first input has the shape of the result instead of holding it.
    """
    run = precise_on_cpu(node, kernels.input_gradient, 2)
    _, filter, grad = node.inputs
    sizes, window, last = _target(node, 0, like), node.dims(1), node.dims(2)
    if dims.is_known(sizes) and dims.is_known(window) and dims.is_known(last):
        check_backprop(label, slide, sizes, window, last)
        return node.call(run, filter, grad, sizes, slide.geometry(sizes, window))

    def gradient(sizes: Any, filter: Any, grad: Any) -> torch.Tensor:
        target = target_now(sizes, like)
        check_backprop(label, slide, target, filter.shape, grad.shape)
        return run(filter, grad, target, slide.geometry(target, filter.shape))

    return gradient


def filter_gradient_kernel(
    node: Node, slide: Slide, label: str, like: bool = False
) -> Call | Callable[..., Any]:
    """Return the kernel of (input, filter_sizes, out_backprop) -> gradient for the filter.

    With `like`, the second input has the shape of the result instead of holding it.
    """
    run = precise_on_cpu(node, kernels.filter_gradient, 2)
    image, _, grad = node.inputs
    sizes, source, last = _target(node, 1, like), node.dims(0), node.dims(2)
    if dims.is_known(sizes) and dims.is_known(source) and dims.is_known(last):
        check_backprop(label, slide, source, sizes, last)
        return node.call(run, image, grad, sizes, slide.geometry(source, sizes))

    def gradient(image: Any, sizes: Any, grad: Any) -> torch.Tensor:
        target = target_now(sizes, like)
        check_backprop(label, slide, image.shape, target, grad.shape)
        return run(image, grad, target, slide.geometry(image.shape, target))

    return gradient


_windows = kernel_windows(4, strides="Sliding window strides", dilations="Sliding window dilations")

conv2d_backprop_input_op = op(
    f"""
    Conv2DBackpropInput(input_sizes: int32, filter: T, out_backprop: T) -> output: T
    {_ATTRS}
""",
    gpu_types="fractions",
    numbers=("input_sizes",),
    cost=Cost("window", places=(2, 1)),
    latency="long",
)

conv2d_backprop_input_op.check(_windows)


@conv2d_backprop_input_op.shape
def conv2d_backprop_input_shape(node: Node) -> OutputDims:
    return given_shape(node, 0, 4)


@conv2d_backprop_input_op.kernel
def conv2d_backprop_input_kernel(node: Node) -> Kernel:
    return input_gradient_kernel(node, slide_of(node), "Conv2DCustomBackpropInput")


@conv2d_backprop_input_op.gradient
def conv2d_backprop_input_gradient(node: Node, grad: Tensor) -> Gradients:
    _, filter, backprop = node.inputs
    sizes = shape(filter)
    return [
        None,
        conv2d_backprop_filter_op(grad, sizes, backprop, **_attributes(node)),
        conv2d_op(grad, filter, **_attributes(node)),
    ]


@conv2d_backprop_input_op.samples
def conv2d_backprop_input_samples() -> Samples:
    sizes, filter = np.array([2, 5, 4, 3], np.int32), ramp(3, 2, 3, 4)
    for stride, grad in ((1, ramp(2, 5, 4, 4)), (2, ramp(2, 3, 2, 4))):
        yield Sample(
            sizes, filter, grad, strides=[1, stride, stride, 1], padding="SAME", fixed=(0,)
        )
    yield Bad(sizes[:3], filter, ramp(2, 5, 4, 4), strides=[1] * 4, padding="SAME", match="rank 4")


conv2d_backprop_filter_op = op(
    f"""
    Conv2DBackpropFilter(input: T, filter_sizes: int32, out_backprop: T) -> output: T
    {_ATTRS}
""",
    gpu_types="fractions",
    numbers=("filter_sizes",),
    cost=Cost("window", places=(2, 3)),
    latency="long",
)

conv2d_backprop_filter_op.check(_windows)


@conv2d_backprop_filter_op.shape
def conv2d_backprop_filter_shape(node: Node) -> OutputDims:
    return given_shape(node, 1, 4)


@conv2d_backprop_filter_op.kernel
def conv2d_backprop_filter_kernel(node: Node) -> Kernel:
    return filter_gradient_kernel(node, slide_of(node), "Conv2DCustomBackpropFilter")


@conv2d_backprop_filter_op.gradient
def conv2d_backprop_filter_gradient(node: Node, grad: Tensor) -> Gradients:
    image, _, backprop = node.inputs
    sizes = shape(image)
    return [
        conv2d_backprop_input_op(sizes, grad, backprop, **_attributes(node)),
        None,
        conv2d_op(image, grad, **_attributes(node)),
    ]


@conv2d_backprop_filter_op.samples
def conv2d_backprop_filter_samples() -> Samples:
    image, sizes = ramp(2, 5, 4, 3), np.array([3, 2, 3, 4], np.int32)
    for stride, grad in ((1, ramp(2, 5, 4, 4)), (2, ramp(2, 3, 2, 4))):
        yield Sample(image, sizes, grad, strides=[1, stride, stride, 1], padding="SAME", fixed=(1,))


# ---- public functions


def convert_padding(padding: Any) -> tuple[Any, list[int]]:
    """Return padding in the form of callers: a name, or a list of four pairs."""
    if padding == "EXPLICIT":
        raise ValueError(
            '"EXPLICIT" is not a valid value for the padding parameter. To use explicit padding, '
            "the padding parameter must be a list."
        )
    if not isinstance(padding, (list, tuple)):
        return padding, []
    explicit: list[int] = []
    hint = "When padding is a list, each element of padding must be a list/tuple of size 2."
    for i, pair in enumerate(padding):
        if not isinstance(pair, (list, tuple)):
            raise ValueError(f"{hint} Element with index {i} of padding is not a list/tuple")
        if len(pair) != 2:
            raise ValueError(f"{hint} Element with index {i} of padding has size {len(pair)}")
        explicit.extend(pair)
    if len(padding) != 4:
        raise ValueError(
            f"When padding is a list, it must be of size 4. Got padding of size: {len(padding)}"
        )
    return "EXPLICIT", explicit


@export("nn.conv2d")
def conv2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Any = [1, 1, 1, 1],  # noqa: B006 - the default TF shows
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Convolves images with a filter.

    Args:
      input: [batch, height, width, channels], or [batch, channels, height, width] under "NCHW".
      filter: [height, width, input channels, output channels].
      strides, dilations: one number, one each for height and width, or one per dimension.
      padding: "SAME", "VALID", or a list of four pairs.
      filters: the newer name of `filter`.

    Raises:
      ValueError: if the shapes or parameters do not fit each other.

    Example:
      >>> images, filters = tf.ones([2, 8, 8, 3]), tf.ones([3, 3, 3, 16])
      >>> tf.nn.conv2d(images, filters, strides=[1, 2, 2, 1], padding="SAME").shape.as_list()
      [2, 4, 4, 16]
    """
    filter = renamed_argument("filters", filters, "filter", filter)
    padding, explicit = convert_padding(padding)
    data_format = data_format or "NHWC"
    axis = windows.channel_axis(data_format.encode())
    return conv2d_op(
        input,
        filter,
        strides=windows.sequence(strides, 2, axis, "strides"),
        padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu,
        explicit_paddings=explicit,
        data_format=data_format,
        dilations=windows.sequence(dilations, 2, axis, "dilations"),
        name=name,
    )


@export("nn.conv2d_backprop_filter")
def conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Sequence[int],
    padding: Any,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Sequence[int] = [1, 1, 1, 1],
    name: str | None = None,
) -> Tensor:
    """Return the gradient of `conv2d` for its filter, whose shape is `filter_sizes`."""
    padding, explicit = convert_padding(padding)
    return conv2d_backprop_filter_op(
        input, filter_sizes, out_backprop, strides=strides, padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu, explicit_paddings=explicit, data_format=data_format,
        dilations=dilations, name=name,
    )  # fmt: skip


@export("nn.conv2d_backprop_input")
def conv2d_backprop_input(
    input_sizes: Any,
    filter: Any = None,
    out_backprop: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str = "NHWC",
    dilations: Sequence[int] = [1, 1, 1, 1],
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Return the gradient of `conv2d` for its input, whose shape is `input_sizes`."""
    filter = renamed_argument("filters", filters, "filter", filter)
    padding, explicit = convert_padding(padding)
    return conv2d_backprop_input_op(
        input_sizes, filter, out_backprop, strides=strides, padding=padding,
        use_cudnn_on_gpu=use_cudnn_on_gpu, explicit_paddings=explicit, data_format=data_format,
        dilations=dilations, name=name,
    )  # fmt: skip
