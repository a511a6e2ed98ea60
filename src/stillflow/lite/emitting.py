"""TensorFlow Lite operators for operations of TensorFlow."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from stillflow.graph.operation import Operation
from stillflow.lite.draft import Draft, Step
from stillflow.lite.model_tensors import Array
from stillflow.lite.schema import MIRROR_MODES, PADDINGS, TENSOR_TYPES
from stillflow.lite.settings import ConverterError


class Emission:
    """An operation on its way into the draft.

    Attributes:
      op: the operation.
      draft: the draft.
      inputs: the names of its inputs.
      outputs: the names of its results.
      values: of its inputs those that are known.
    """

    def __init__(
        self, op: Operation, draft: Draft, inputs: list[str], values: dict[str, Array]
    ) -> None:
        self.op, self.draft, self.inputs, self.values = op, draft, inputs, values
        self._kept: set[str] = set()
        self.outputs = [tensor.name.removesuffix(":0") for tensor in op.outputs]

    def add(
        self,
        kind: str,
        inputs: Sequence[str],
        options_kind: str = "",
        version: int = 1,
        outputs: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        """Add a step that writes the operation's results."""
        written = list(self.outputs if outputs is None else outputs)
        read = [
            self.keep(name, self.values[name])
            if name in self.values and name not in self._kept
            else name
            for name in inputs
        ]
        self.draft.steps.append(Step(kind, read, written, options_kind, options, version))

    def constant(self, index: int) -> Array:
        """Return the value of an input that has to be known.

        Raises:
          ConverterError: If it is not.
        """
        value = self.values.get(self.inputs[index])
        if value is None:
            raise ConverterError(
                f"Input {index} of {self.op.name} ({self.op.type}) has to be a constant"
            )
        return value

    def keep(self, name: str, value: Any) -> str:
        """Keep a constant; return its name."""
        name = self.draft.constant(name, value)
        self._kept.add(name)
        return name

    def integers(self, index: int) -> str:
        """Return the name of a constant input, as integers of 32 bits."""
        return self.keep(self.inputs[index], self.constant(index).astype(np.int32))

    def between(self, suffix: str, shape: Sequence[int]) -> str:
        """Declare a tensor between two steps of one operation; return its name."""
        name = self.draft.free_name(f"{self.outputs[0]}_{suffix}")
        return self.draft.declare(name, shape, self.draft.dtypes[self.outputs[0]])

    def window(self, attr: str) -> tuple[int, int]:
        """Height and width in an attribute that has four numbers, NHWC.

        Raises:
          ConverterError: If it says something of batches or channels, or they come first.
        """
        if self.op.get_attr("data_format") != b"NHWC":
            raise ConverterError(f"{self.op.name} has channels first; TensorFlow Lite has not")
        batch, height, width, channel = self.op.get_attr(attr)
        if batch != 1 or channel != 1:
            raise ConverterError(f"{self.op.name} has {attr} of batches or channels")
        return int(height), int(width)

    @property
    def padding(self) -> int:
        """The number of the padding."""
        padding = self.op.get_attr("padding").decode()
        if padding not in PADDINGS:
            raise ConverterError(f"{self.op.name} has {padding} padding")
        return PADDINGS.index(padding)

    def shape(self, index: int) -> tuple[int, ...]:
        """Return the shape of an input."""
        name = self.inputs[index]
        return self.values[name].shape if name in self.values else self.draft.shapes[name]

    @property
    def output_shape(self) -> list[int]:
        """The shape of the first result."""
        return list(self.draft.shapes[self.outputs[0]])


# Operations that are operators as they are.
_PLAIN = {
    "Abs": "ABS", "Ceil": "CEIL", "Cos": "COS", "Elu": "ELU", "Equal": "EQUAL",
    "Exp": "EXP", "Floor": "FLOOR", "FloorMod": "FLOOR_MOD", "GatherNd": "GATHER_ND",
    "Greater": "GREATER", "GreaterEqual": "GREATER_EQUAL", "Less": "LESS",
    "LessEqual": "LESS_EQUAL", "Log": "LOG", "LogSoftmax": "LOG_SOFTMAX",
    "LogicalAnd": "LOGICAL_AND", "LogicalNot": "LOGICAL_NOT", "LogicalOr": "LOGICAL_OR",
    "Maximum": "MAXIMUM", "Minimum": "MINIMUM", "Neg": "NEG", "NotEqual": "NOT_EQUAL",
    "Pow": "POW", "Relu": "RELU", "Relu6": "RELU6", "Round": "ROUND", "Rsqrt": "RSQRT",
    "Select": "SELECT", "Sigmoid": "LOGISTIC", "Sin": "SIN", "Sqrt": "SQRT", "Square": "SQUARE",
    "SquaredDifference": "SQUARED_DIFFERENCE", "Tanh": "TANH",
    "ZerosLike": "ZEROS_LIKE",
}  # fmt: skip

# Those of one value, whose results have its shape.
UNARY = frozenset({
    "Abs", "Ceil", "Cos", "Elu", "Exp", "Floor", "Log", "LogSoftmax", "LogicalNot", "Neg", "Relu",
    "Relu6", "Round", "Rsqrt", "Sigmoid", "Sin", "Sqrt", "Square", "Tanh", "ZerosLike",
})  # fmt: skip

# Those whose operators have a table of options, though it is empty, and its name is theirs.
_EMPTY_OPTIONS = frozenset({
    "BatchToSpaceND", "GatherNd", "Pad", "SpaceToBatchND", "SquaredDifference", "Tile",
    "Transpose", "ZerosLike",
})  # fmt: skip

# Operations of two values whose operators can end with an activation function.
_ACTIVATED = {
    "Add": ("ADD", "Add"), "AddV2": ("ADD", "Add"), "BiasAdd": ("ADD", "Add"),
    "Div": ("DIV", "Div"), "Mul": ("MUL", "Mul"), "RealDiv": ("DIV", "Div"), "Sub": ("SUB", "Sub"),
}  # fmt: skip

_REDUCERS = {
    "Any": "REDUCE_ANY", "Max": "REDUCE_MAX", "Mean": "MEAN", "Min": "REDUCE_MIN",
    "Prod": "REDUCE_PROD", "Sum": "SUM",
}  # fmt: skip

# Operations whose second and further inputs are constant vectors of sizes and places.
_PLACED = {
    "BatchToSpaceND": "BATCH_TO_SPACE_ND", "Pad": "PAD", "ReverseV2": "REVERSE_V2",
    "Slice": "SLICE", "SpaceToBatchND": "SPACE_TO_BATCH_ND", "Tile": "TILE",
    "Transpose": "TRANSPOSE",
}  # fmt: skip

Emit = Callable[[Emission], None]
EMITTERS: dict[str, Emit] = {}


def emits(*kinds: str) -> Callable[[Emit], Emit]:
    """Put the decorated function into the table, for operations of some types."""

    def put(function: Emit) -> Emit:
        EMITTERS.update(dict.fromkeys(kinds, function))
        return function

    return put


@emits(*_PLAIN)
def _plain(e: Emission) -> None:
    e.add(_PLAIN[e.op.type], e.inputs, e.op.type if e.op.type in _EMPTY_OPTIONS else "")


@emits(*_ACTIVATED)
def _activated(e: Emission) -> None:
    if e.op.type == "BiasAdd" and e.op.get_attr("data_format") != b"NHWC":
        raise ConverterError(f"{e.op.name} has channels first; TensorFlow Lite has not")
    kind, options = _ACTIVATED[e.op.type]
    e.add(kind, e.inputs, options)


@emits("AddN")
def _add_n(e: Emission) -> None:
    if len(e.inputs) == 2:
        e.add("ADD", e.inputs, "Add")
    else:
        e.add("ADD_N", e.inputs, "AddN")


@emits("FloorDiv")
def _floor_div(e: Emission) -> None:
    is_real = e.op.get_attr("T").is_floating
    e.add("FLOOR_DIV", e.inputs, version=2 if is_real else 1)


@emits(*_REDUCERS)
def _reduce(e: Emission) -> None:
    e.add(
        _REDUCERS[e.op.type],
        [e.inputs[0], e.integers(1)],
        "Reducer",
        keep_dims=e.op.get_attr("keep_dims"),
    )


@emits(*_PLACED)
def _placed(e: Emission) -> None:
    rest = [e.integers(i) for i in range(1, len(e.inputs))]
    options = e.op.type if e.op.type in _EMPTY_OPTIONS else ""
    e.add(_PLACED[e.op.type], [e.inputs[0], *rest], options)


@emits("PadV2")
def _pad_with(e: Emission) -> None:
    e.add("PADV2", [e.inputs[0], e.integers(1), e.inputs[2]], "PadV2")


@emits("MirrorPad")
def _mirror_pad(e: Emission) -> None:
    mode = MIRROR_MODES.index(e.op.get_attr("mode").decode())
    e.add("MIRROR_PAD", [e.inputs[0], e.integers(1)], "MirrorPad", mode=mode)


def _window_sizes(e: Emission) -> dict[str, int]:
    """Return the options that all convolutions share."""
    stride_h, stride_w = e.window("strides")
    dilation_h, dilation_w = e.window("dilations")
    return {
        "padding": e.padding,
        "stride_h": stride_h,
        "stride_w": stride_w,
        "dilation_h": dilation_h,
        "dilation_w": dilation_w,
    }


@emits("Conv2D")
def _convolution(e: Emission) -> None:
    sizes = _window_sizes(e)
    filters = e.values.get(e.inputs[1])
    if filters is None:
        _convolution_by_input(e, sizes)
        return
    # With one channel there is nothing to sum over: by channel is the same, and faster.
    is_square = sizes["stride_h"] == sizes["stride_w"]
    if filters.shape[2] == 1 and filters.shape[3] > 1 and is_square:
        _by_channel(e, filters, sizes)
        return
    kernel = e.keep(e.inputs[1], np.ascontiguousarray(filters.transpose(3, 0, 1, 2)))
    bias = no_bias(e, filters.shape[3])
    e.add("CONV_2D", [e.inputs[0], kernel, bias], "Conv2D", outputs=None, **sizes)


def _convolution_by_input(e: Emission, sizes: dict[str, int]) -> None:
    """Emit a convolution with a computed filter, brought into the operator's order."""
    height, width, depth, channels = e.shape(1)
    name = e.draft.free_name(f"{e.inputs[1]}_reordered")
    e.draft.declare(name, [channels, height, width, depth], np.float32)
    order = e.keep(f"{name}_0", np.array([3, 0, 1, 2], np.int32))
    e.add("TRANSPOSE", [e.inputs[1], order], "Transpose", outputs=[name])
    e.add("CONV_2D", [e.inputs[0], name, no_bias(e, channels)], "Conv2D", outputs=None, **sizes)


@emits("DepthwiseConv2dNative")
def _depthwise_convolution(e: Emission) -> None:
    # The operation's kernel ignores its dilations; `tf.nn.depthwise_conv2d` splits into batches.
    sizes = _window_sizes(e) | {"dilation_h": 1, "dilation_w": 1}
    _by_channel(e, e.constant(1), sizes)


def _by_channel(e: Emission, filters: Array, sizes: dict[str, int]) -> None:
    is_dilated = sizes["dilation_h"] != 1 or sizes["dilation_w"] != 1
    height, width, depth, multiplier = filters.shape
    kernel = e.keep(e.inputs[1], filters.reshape(1, height, width, depth * multiplier))
    e.add(
        "DEPTHWISE_CONV_2D",
        [e.inputs[0], kernel, no_bias(e, depth * multiplier)],
        "DepthwiseConv2D",
        version=2 if is_dilated else 1,
        outputs=None,
        depth_multiplier=multiplier,
        **sizes,
    )


def no_bias(e: Emission, channels: int) -> str:
    """Keep a bias of zeros; return its name."""
    return e.keep(f"{e.outputs[0]}_bias", np.zeros(channels, np.float32))


@emits("Conv2DBackpropInput")
def _transposed_convolution(e: Emission) -> None:
    stride_h, stride_w = e.window("strides")
    filters = np.ascontiguousarray(e.constant(1).transpose(2, 0, 1, 3))
    kernel = e.keep(f"{e.inputs[1]}_transposed", filters)
    e.add(
        "TRANSPOSE_CONV",
        [e.integers(0), kernel, e.inputs[2]],
        "TransposeConv",
        padding=e.padding,
        stride_h=stride_h,
        stride_w=stride_w,
    )


@emits("FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3")
def _batch_norm(e: Emission) -> None:
    if e.op.get_attr("is_training"):
        raise ConverterError(f"{e.op.name} is a batch norm of training, not of inference")
    if e.op.get_attr("data_format") != b"NHWC":
        raise ConverterError(f"{e.op.name} has channels first; TensorFlow Lite has not")
    scale, offset, mean, variance = (e.constant(i) for i in range(1, 5))
    _normalize(e, mean, variance, offset, scale, e.op.get_attr("epsilon"))


@emits("BatchNormWithGlobalNormalization")
def _old_batch_norm(e: Emission) -> None:
    mean, variance, offset, scale = (e.constant(i) for i in range(1, 5))
    if not e.op.get_attr("scale_after_normalization"):
        scale = np.ones_like(scale)
    _normalize(e, mean, variance, offset, scale, e.op.get_attr("variance_epsilon"))


def _normalize(
    e: Emission, mean: Array, variance: Array, offset: Array, scale: Array, epsilon: float
) -> None:
    factor = scale / np.sqrt(variance + np.float32(epsilon))
    scaled = e.between("mul", e.output_shape)
    e.add("MUL", [e.inputs[0], e.keep(f"{e.outputs[0]}/scale", factor)], "Mul", outputs=[scaled])
    e.add(
        "ADD",
        [scaled, e.keep(f"{e.outputs[0]}/offset", offset - mean * factor)],
        "Add",
        outputs=e.outputs[:1],
    )


@emits("MaxPool", "AvgPool")
def _pool(e: Emission) -> None:
    stride_h, stride_w = e.window("strides")
    filter_h, filter_w = e.window("ksize")
    kind = "MAX_POOL_2D" if e.op.type == "MaxPool" else "AVERAGE_POOL_2D"
    e.add(
        kind,
        e.inputs,
        "Pool2D",
        padding=e.padding,
        stride_h=stride_h,
        stride_w=stride_w,
        filter_h=filter_h,
        filter_w=filter_w,
    )


@emits("Reshape", "Squeeze", "ExpandDims")
def _reshape(e: Emission) -> None:
    if e.op.type == "Squeeze" and not e.output_shape:  # to a scalar
        axes = list(e.op.get_attr("squeeze_dims"))
        e.add("SQUEEZE", e.inputs, "Squeeze", squeeze_dims=axes)
        return
    given = e.values.get(e.inputs[1]) if e.op.type == "Reshape" else None
    shape = np.array(e.output_shape if given is None else given, np.int32)
    name = f"{e.outputs[0]}_shape" if given is None else e.inputs[1]
    e.add("RESHAPE", [e.inputs[0], e.keep(name, shape)], "Reshape", new_shape=shape.tolist())


@emits("ConcatV2", "Concat")
def _concatenate(e: Emission) -> None:
    at = len(e.inputs) - 1 if e.op.type == "ConcatV2" else 0
    axis = int(e.constant(at))
    e.add(
        "CONCATENATION",
        [*e.inputs[:at], *e.inputs[at + 1 :]],
        "Concatenation",
        axis=axis % len(e.output_shape),
    )


@emits("Pack")
def _pack(e: Emission) -> None:
    e.add("PACK", e.inputs, "Pack", values_count=len(e.inputs), axis=e.op.get_attr("axis"))


@emits("Unpack")
def _unpack(e: Emission) -> None:
    e.add("UNPACK", e.inputs, "Unpack", num=len(e.outputs), axis=e.op.get_attr("axis"))


@emits("Split")
def _split(e: Emission) -> None:
    e.add("SPLIT", [e.integers(0), e.inputs[1]], "Split", version=3, num_splits=len(e.outputs))


@emits("SplitV")
def _split_sizes(e: Emission) -> None:
    e.add(
        "SPLIT_V", [e.inputs[0], e.integers(1), e.integers(2)], "SplitV", num_splits=len(e.outputs)
    )


@emits("StridedSlice")
def _strided_slice(e: Emission) -> None:
    masks = {
        mask: e.op.get_attr(mask)
        for mask in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    }
    places = [e.constant(i).tolist() for i in (1, 2, 3)]
    places, masks = _spelled_out(places, masks, len(e.shape(0)))
    names = [
        e.keep(f"{e.outputs[0]}/{name}", np.array(place, np.int32))
        for name, place in zip(("stack", "stack_1", "stack_2"), places)
    ]
    if not e.op.get_attr("new_axis_mask"):
        e.add("STRIDED_SLICE", [e.inputs[0], *names], "StridedSlice", outputs=None, **masks)
        return
    sizes = [
        len(range(size)[begin:end:step])
        for size, begin, end, step in zip(e.shape(0), *_bounds(places, masks))
    ]
    sliced = e.between(
        "slice",
        [size for axis, size in enumerate(sizes) if not masks["shrink_axis_mask"] >> axis & 1],
    )
    e.add("STRIDED_SLICE", [e.inputs[0], *names], "StridedSlice", outputs=[sliced], **masks)
    shape = np.array(e.output_shape, np.int32)
    e.add(
        "RESHAPE",
        [sliced, e.keep(f"{e.outputs[0]}/shape", shape)],
        "Reshape",
        new_shape=shape.tolist(),
    )


def _spelled_out(
    places: list[list[int]], masks: dict[str, int], rank: int
) -> tuple[list[list[int]], dict[str, int]]:
    """Return a slice without ellipsis and new dimensions, with an index for each dimension."""
    given = len(places[0])
    if not masks["ellipsis_mask"]:  # dimensions without an index are taken whole
        places = [[*place, 0] for place in places]
        masks = {**masks, "ellipsis_mask": 1 << given}
        given += 1
    new = {
        "begin_mask": 0,
        "end_mask": 0,
        "ellipsis_mask": 0,
        "new_axis_mask": 0,
        "shrink_axis_mask": 0,
    }
    made: list[list[int]] = [[], [], []]
    new_axes = sum(masks["new_axis_mask"] >> i & 1 for i in range(given))
    for i in range(given):
        if masks["ellipsis_mask"] >> i & 1:
            for _ in range(rank - (given - new_axes - 1)):
                new["begin_mask"] |= 1 << len(made[0])
                new["end_mask"] |= 1 << len(made[0])
                for place, value in zip(made, (0, 0, 1)):
                    place.append(value)
        elif not masks["new_axis_mask"] >> i & 1:
            for mask in ("begin_mask", "end_mask", "shrink_axis_mask"):
                new[mask] |= (masks[mask] >> i & 1) << len(made[0])
            for place, source in zip(made, places):
                place.append(source[i])
    return made, new


def _bounds(places: list[list[int]], masks: dict[str, int]) -> list[list[Any]]:
    """Return begin, end and step of each dimension as Python's slices have them."""
    begins: list[Any] = [
        None if masks["begin_mask"] >> i & 1 else begin for i, begin in enumerate(places[0])
    ]
    ends: list[Any] = [
        None if masks["end_mask"] >> i & 1 else end for i, end in enumerate(places[1])
    ]
    for i, begin in enumerate(places[0]):
        if masks["shrink_axis_mask"] >> i & 1:
            ends[i] = begin + 1 or None
    return [begins, ends, places[2]]


@emits("Cast")
def _cast(e: Emission) -> None:
    types = [TENSOR_TYPES.index(e.op.get_attr(attr).name) for attr in ("SrcT", "DstT")]
    e.add("CAST", e.inputs, "Cast", in_data_type=types[0], out_data_type=types[1])


@emits("ArgMax", "ArgMin")
def _position(e: Emission) -> None:
    kind, options = ("ARG_MAX", "ArgMax") if e.op.type == "ArgMax" else ("ARG_MIN", "ArgMin")
    output_type = TENSOR_TYPES.index(e.op.get_attr("output_type").name)
    e.add(kind, [e.inputs[0], e.integers(1)], options, output_type=output_type)


@emits("TopKV2")
def _top_k(e: Emission) -> None:
    e.add("TOPK_V2", [e.inputs[0], e.integers(1)], "TopKV2")


@emits("Gather", "GatherV2")
def _gather(e: Emission) -> None:
    axis = int(e.constant(2)) if len(e.inputs) > 2 else 0
    e.add("GATHER", e.inputs[:2], "Gather", axis=axis % len(e.shape(0)))


@emits("OneHot")
def _one_hot(e: Emission) -> None:
    e.add("ONE_HOT", e.inputs, "OneHot", axis=e.op.get_attr("axis"))


@emits("Softmax")
def _softmax(e: Emission) -> None:
    e.add("SOFTMAX", e.inputs, "Softmax", beta=1.0)


@emits("LeakyRelu")
def _leaky_relu(e: Emission) -> None:
    e.add("LEAKY_RELU", e.inputs, "LeakyRelu", alpha=e.op.get_attr("alpha"))


@emits("LRN")
def _local_response_normalization(e: Emission) -> None:
    e.add(
        "LOCAL_RESPONSE_NORMALIZATION",
        e.inputs,
        "LocalResponseNormalization",
        radius=e.op.get_attr("depth_radius"),
        **{name: e.op.get_attr(name) for name in ("bias", "alpha", "beta")},
    )


@emits("ResizeBilinear", "ResizeNearestNeighbor")
def _resize(e: Emission) -> None:
    if e.op.get_attr("half_pixel_centers") and not _is_repetition(e):
        raise ConverterError(f"{e.op.name} has pixels' centers at halves; TensorFlow Lite has not")
    kind, options = {
        "ResizeBilinear": ("RESIZE_BILINEAR", "ResizeBilinear"),
        "ResizeNearestNeighbor": ("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighbor"),
    }[e.op.type]
    e.add(kind, [e.inputs[0], e.integers(1)], options, align_corners=e.op.get_attr("align_corners"))


def _is_repetition(e: Emission) -> bool:
    """Return True where each pixel is repeated: where centers are makes no difference then."""
    sizes = zip(e.output_shape[1:3], e.shape(0)[1:3])
    return e.op.type == "ResizeNearestNeighbor" and all(new % old == 0 for new, old in sizes)


@emits("DepthToSpace", "SpaceToDepth")
def _depth(e: Emission) -> None:
    kind = "DEPTH_TO_SPACE" if e.op.type == "DepthToSpace" else "SPACE_TO_DEPTH"
    e.add(kind, e.inputs, e.op.type, block_size=e.op.get_attr("block_size"))


@emits("ReverseSequence")
def _reverse_sequence(e: Emission) -> None:
    e.add(
        "REVERSE_SEQUENCE",
        e.inputs,
        "ReverseSequence",
        seq_dim=e.op.get_attr("seq_dim"),
        batch_dim=e.op.get_attr("batch_dim"),
    )


@emits("FakeQuantWithMinMaxArgs")
def _fake_quant(e: Emission) -> None:
    _fake(e, e.op.get_attr("min"), e.op.get_attr("max"))


@emits("FakeQuantWithMinMaxVars")
def _fake_quant_of_variables(e: Emission) -> None:
    _fake(e, float(e.constant(1)), float(e.constant(2)))


def _fake(e: Emission, least: float, greatest: float) -> None:
    narrow = e.op.get_attr("narrow_range")
    e.add(
        "FAKE_QUANT",
        e.inputs[:1],
        "FakeQuant",
        version=2 if narrow else 1,
        min=least,
        max=greatest,
        num_bits=e.op.get_attr("num_bits"),
        narrow_range=narrow,
    )
