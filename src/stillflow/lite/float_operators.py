"""TensorFlow Lite's operators on values themselves: reals, indices, booleans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.operation import Tensor
from stillflow.lite.model_tensors import Quantization
from stillflow.lite.schema import MIRROR_MODES, TENSOR_TYPES
from stillflow.lite.translation import FLOAT, Node, translates

_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "NONE": lambda x: x,
    "RELU": tf.nn.relu,
    "RELU_N1_TO_1": lambda x: tf.clip_by_value(x, -1.0, 1.0),
    "RELU6": tf.nn.relu6,
    "TANH": tf.tanh,
}

# Operators that are functions of one value.
_UNARY: dict[str, Callable[[Any], Any]] = {
    "ABS": tf.abs, "CEIL": tf.math.ceil, "COS": tf.cos, "ELU": tf.nn.elu, "EXP": tf.exp,
    "FLOOR": tf.floor, "LOG": tf.log, "LOGICAL_NOT": tf.logical_not, "LOGISTIC": tf.sigmoid,
    "LOG_SOFTMAX": tf.nn.log_softmax, "MATRIX_DIAG": tf.linalg.diag, "NEG": tf.negative,
    "RANK": tf.rank, "RELU": tf.nn.relu, "RELU6": tf.nn.relu6,
    "RELU_N1_TO_1": _ACTIVATIONS["RELU_N1_TO_1"], "ROUND": tf.round, "RSQRT": tf.rsqrt,
    "SIN": tf.sin, "SQRT": tf.sqrt, "SQUARE": tf.square, "TANH": tf.tanh,
    "WHERE": lambda x: tf.cast(tf.where(x), tf.int32),
    "ZEROS_LIKE": tf.zeros_like, "HARD_SWISH": lambda x: x * tf.nn.relu6(x + 3.0) / 6.0,
}  # fmt: skip

# Operators that are functions of two values, and of the options' activation where they have one.
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "ADD": tf.add, "DIV": tf.divide, "EQUAL": tf.equal, "FLOOR_DIV": tf.floordiv,
    "FLOOR_MOD": tf.floormod, "GREATER": tf.greater, "GREATER_EQUAL": tf.greater_equal,
    "LESS": tf.less, "LESS_EQUAL": tf.less_equal, "LOGICAL_AND": tf.logical_and,
    "LOGICAL_OR": tf.logical_or, "MATRIX_SET_DIAG": tf.linalg.set_diag, "MAXIMUM": tf.maximum,
    "MINIMUM": tf.minimum, "MUL": tf.multiply, "NOT_EQUAL": tf.not_equal, "POW": tf.pow,
    "PRELU": lambda x, alpha: tf.nn.relu(x) + alpha * tf.minimum(x, 0.0),
    "SQUARED_DIFFERENCE": tf.math.squared_difference, "SUB": tf.subtract,
}  # fmt: skip

_REDUCERS: dict[str, Callable[..., Any]] = {
    "MEAN": tf.reduce_mean,
    "SUM": tf.reduce_sum,
    "REDUCE_PROD": tf.reduce_prod,
    "REDUCE_MAX": tf.reduce_max,
    "REDUCE_MIN": tf.reduce_min,
    "REDUCE_ANY": tf.reduce_any,
}

# Operators that only move values: they are the same for every quantization.
_MOVING: dict[str, Callable[[Node], Any]] = {
    "BATCH_TO_SPACE_ND": lambda node: tf.batch_to_space_nd(node[0], node[1], node[2]),
    "DEPTH_TO_SPACE": lambda node: tf.depth_to_space(node[0], node.options.block_size),
    "EMBEDDING_LOOKUP": lambda node: tf.gather(node[1], node[0]),
    "EXPAND_DIMS": lambda node: tf.expand_dims(node[0], node.constant(1).reshape(())),
    "GATHER": lambda node: tf.gather(node[0], node[1], axis=getattr(node.options, "axis", 0)),
    "GATHER_ND": lambda node: tf.gather_nd(node[0], node[1]),
    "PACK": lambda node: tf.stack(node.inputs, node.options.axis),
    "RESIZE_NEAREST_NEIGHBOR": lambda node: tf.raw_ops.ResizeNearestNeighbor(
        images=node[0], size=node[1], align_corners=node.options.align_corners),
    "REVERSE_SEQUENCE": lambda node: tf.reverse_sequence(
        node[0], node[1], node.options.seq_dim, node.options.batch_dim),
    "REVERSE_V2": lambda node: tf.reverse(node[0], node[1]),
    "SELECT": lambda node: tf.where(node[0], node[1], node[2]),
    "SLICE": lambda node: tf.slice(node[0], node[1], node[2]),
    "SPACE_TO_BATCH_ND": lambda node: tf.space_to_batch_nd(node[0], node[1], node[2]),
    "SPACE_TO_DEPTH": lambda node: tf.space_to_depth(node[0], node.options.block_size),
    "SPLIT": lambda node: tf.split(
        node[1], node.options.num_splits, node.constant(0).reshape(())),
    "SPLIT_V": lambda node: tf.split(node[0], node.constant(1), node.constant(2).reshape(())),
    "SQUEEZE": lambda node: tf.squeeze(node[0], node.options.squeeze_dims or None),
    "STRIDED_SLICE": lambda node: tf.strided_slice(node[0], node[1], node[2], node[3], **{
        mask: getattr(node.options, mask)
        for mask in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")
    }),
    "TILE": lambda node: tf.tile(node[0], node[1]),
    "TRANSPOSE": lambda node: tf.transpose(node[0], node[1]),
    "UNPACK": lambda node: tf.unstack(node[0], node.options.num, node.options.axis),
}  # fmt: skip


def activated(node: Node, value: Any) -> Tensor:
    """Return a value after the operator's activation function."""
    name = node.activation
    if name not in _ACTIVATIONS:
        raise ValueError(f"The activation function {name} is not supported by Stillflow")
    return _ACTIVATIONS[name](value)


@translates(FLOAT, *_UNARY)
def _unary(node: Node) -> Tensor:
    return _UNARY[node.kind](node[0])


@translates(FLOAT, *_BINARY)
def _binary(node: Node) -> Tensor:
    return activated(node, _BINARY[node.kind](node[0], node[1]))


@translates(FLOAT, *_REDUCERS)
def _reduce(node: Node) -> Tensor:
    axes = [int(axis) for axis in node.constant(1).ravel()]
    return _REDUCERS[node.kind](node[0], axes, getattr(node.options, "keep_dims", False))


@translates(FLOAT, *_MOVING)
def move(node: Node) -> Tensor | list[Tensor]:
    """Translate an operator that only moves values."""
    return _MOVING[node.kind](node)


MOVING = frozenset(_MOVING)


@translates(FLOAT, "RESHAPE")
def reshape(node: Node) -> Tensor:
    """Translate a change of shape; the new one is an option or an input."""
    shape = node[1] if node[1] is not None else getattr(node.options, "new_shape", None)
    return tf.reshape(node[0], [] if shape is None else tf.reshape(shape, [-1]))


@translates(FLOAT, "CONCATENATION")
def _concatenate(node: Node) -> Tensor:
    return activated(node, tf.concat(node.inputs, node.options.axis))


def convolve(node: Node, x: Any, filters: Any) -> Tensor:
    """Return a convolution of `x`, plain or by channel, with a filter laid out as in the model."""
    strides, dilations = node.window("stride"), node.window("dilation")
    if node.kind == "CONV_2D":
        kernel = tf.transpose(filters, [1, 2, 3, 0])
        return tf.nn.conv2d(x, kernel, strides, node.padding, dilations=dilations)
    _, height, width, channels = filters.shape
    depth = int(x.shape[3])
    if depth < 1 or int(channels) % depth:
        raise ValueError(f"{channels} filters do not fit {depth} channels")
    kernel = tf.reshape(filters, [int(height), int(width), depth, int(channels) // depth])
    if strides[1] != strides[2]:
        raise ValueError(f"Strides that differ, {strides[1:3]}, are not supported by Stillflow")
    return tf.nn.depthwise_conv2d(x, kernel, strides, node.padding, dilations[1:3])


@translates(FLOAT, "CONV_2D", "DEPTHWISE_CONV_2D")
def _convolution(node: Node) -> Tensor:
    return activated(node, biased(node, convolve(node, node[0], node[1])))


def biased(node: Node, value: Any) -> Tensor:
    """Return a value plus the operator's third input, if it has one."""
    return value if node[2] is None else tf.nn.bias_add(value, node[2])


@translates(FLOAT, "FULLY_CONNECTED")
def _fully_connected(node: Node) -> Tensor:
    return activated(node, as_wide(node, biased(node, multiply(node[0], node[1]))))


def multiply(x: Any, weights: Any) -> Tensor:
    """Return the product of the rows of `x` and of `weights`, as wide as these are long."""
    rows = tf.reshape(x, [-1, int(weights.shape[1])])
    return tf.matmul(rows, weights, transpose_b=True)


def as_wide(node: Node, product: Any) -> Tensor:
    """Restore the leading dimensions of the input, if the operator keeps them."""
    if not node.options.keep_num_dims:
        return product
    leading = [int(size) for size in node.given(0).shape[:-1]]
    return tf.reshape(product, [*leading, int(product.shape[1])])


@translates(FLOAT, "TRANSPOSE_CONV")
def _transposed_convolution(node: Node) -> Tensor:
    kernel = tf.transpose(node[1], [1, 2, 0, 3])
    return tf.nn.conv2d_transpose(
        node[2], kernel, node.constant(0), node.window("stride"), node.padding
    )


@translates(FLOAT, "AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
def _pool(node: Node) -> Tensor:
    return activated(node, pooled(node, node[0]))


def pooled(node: Node, x: Any) -> Tensor:
    """Return the pools of `x`."""
    window, strides = node.window("filter"), node.window("stride")
    if node.kind == "MAX_POOL_2D":
        return tf.nn.max_pool(x, window, strides, node.padding)
    if node.kind == "AVERAGE_POOL_2D":
        return tf.nn.avg_pool(x, window, strides, node.padding)
    return tf.sqrt(tf.nn.avg_pool(tf.square(x), window, strides, node.padding))


@translates(FLOAT, "SOFTMAX")
def _softmax(node: Node) -> Tensor:
    return tf.nn.softmax(node.given(0) * np.float32(node.options.beta))


@translates(FLOAT, "LEAKY_RELU")
def _leaky_relu(node: Node) -> Tensor:
    return tf.nn.leaky_relu(node[0], node.options.alpha)


@translates(FLOAT, "L2_NORMALIZATION")
def _l2_normalization(node: Node) -> Tensor:
    return activated(node, tf.nn.l2_normalize(node[0], -1))


@translates(FLOAT, "LOCAL_RESPONSE_NORMALIZATION")
def _local_response_normalization(node: Node) -> Tensor:
    options = node.options
    return tf.nn.lrn(node[0], options.radius, options.bias, options.alpha, options.beta)


@translates(FLOAT, "RESIZE_BILINEAR")
def _resize_bilinear(node: Node) -> Tensor:
    return bilinear(node, node[0])


def bilinear(node: Node, images: Any) -> Tensor:
    """Return images resized by linear interpolation, as the operator says."""
    return tf.raw_ops.ResizeBilinear(
        images=images, size=node[1], align_corners=node.options.align_corners
    )


@translates(FLOAT, "PAD", "PADV2")
def _pad(node: Node) -> Tensor:
    fill = 0 if node[2] is None else node.constant(2).reshape(())
    return tf.pad(node[0], node[1], constant_values=fill)


@translates(FLOAT, "MIRROR_PAD")
def _mirror_pad(node: Node) -> Tensor:
    return tf.pad(node[0], node[1], MIRROR_MODES[node.options.mode])


@translates(FLOAT, "CAST")
def _cast(node: Node) -> Tensor:
    return tf.cast(node[0], node.results[0].dtype)


@translates(FLOAT, "DEQUANTIZE")
def dequantize(node: Node) -> Tensor:
    """Translate the conversion of integers, or halves, to the reals that they represent."""
    quantization = node.quantization(0)
    if quantization is None:
        return tf.cast(node[0], tf.float32)
    return dequantize_as(node[0], quantization)


def dequantize_as(values: Any, quantization: Quantization) -> Tensor:
    """Return the reals that integers stand for."""
    zero_point = np.float32(quantization.zero_point)
    return quantization.scale * (tf.cast(values, tf.float32) - zero_point)


@translates(FLOAT, "ARG_MAX", "ARG_MIN")
def position(node: Node) -> Tensor:
    """Translate the search for the largest or smallest value."""
    find = tf.argmax if node.kind == "ARG_MAX" else tf.argmin
    return find(node[0], int(node.constant(1).reshape(-1)[0]), output_type=node.results[0].dtype)


@translates(FLOAT, "TOPK_V2")
def _top_k(node: Node) -> list[Any]:
    return list(tf.nn.top_k(node[0], int(node.constant(1).reshape(-1)[0])))


@translates(FLOAT, "ADD_N")
def _add_n(node: Node) -> Tensor:
    return tf.add_n(node.inputs)


@translates(FLOAT, "ONE_HOT")
def _one_hot(node: Node) -> Tensor:
    depth, on, off = (node.constant(i).reshape(()) for i in (1, 2, 3))
    return tf.one_hot(node[0], depth, on, off, node.options.axis)


@translates(FLOAT, "FILL")
def _fill(node: Node) -> Tensor:
    return tf.fill(node[0], tf.reshape(node[1], []))


@translates(FLOAT, "RANGE")
def _range(node: Node) -> Any:
    return tf.range(*(tf.reshape(bound, []) for bound in node.inputs))


@translates(FLOAT, "SHAPE")
def _shape(node: Node) -> Any:
    return tf.shape(node[0], out_type=TENSOR_TYPES[node.options.out_type])


@translates(FLOAT, "SPARSE_TO_DENSE")
def _sparse_to_dense(node: Node) -> Any:
    return tf.sparse_to_dense(
        node[0], node[1], node[2], tf.reshape(node[3], []), node.options.validate_indices
    )


@translates(FLOAT, "UNIQUE")
def _unique(node: Node) -> list[Any]:
    return list(tf.unique(node[0], TENSOR_TYPES[node.options.idx_out_type]))


@translates(FLOAT, "FAKE_QUANT")
def _fake_quant(node: Node) -> Any:
    options = node.options
    return tf.quantization.fake_quant_with_min_max_args(
        node[0], options.min, options.max, options.num_bits, options.narrow_range
    )
