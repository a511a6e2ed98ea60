"""The functions of `tf.compat.v2.nn` whose arguments differ from those of `tf.nn`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.graph.random_seed import get_seed
from stillflow.nn import dilated_pooling, embedding, losses, sampled, separable
from stillflow.nn.batch_normalization import (
    batch_norm_with_global_normalization as batch_norm_v1,
)
from stillflow.nn.conv_transpose import conv1d as conv1d_v1
from stillflow.nn.convolution import convolution as convolution_v1
from stillflow.nn.moments import l2_normalize as l2_normalize_v1
from stillflow.nn.moments import moments as moments_v1
from stillflow.nn.moments import sufficient_statistics as sufficient_statistics_v1
from stillflow.nn.moments import weighted_moments as weighted_moments_v1
from stillflow.ops.nn import activations, conv, conv3d, cross_entropy, dilation2d, softmax
from stillflow.ops.nn import in_top_k as top_k
from stillflow.ops.nn import pooling_functions as pooling
from stillflow.ops.nn.fractional_pooling import fractional_avg_pool_op, fractional_max_pool_op
from stillflow.ops.nn.pooling import avg_pool_op
from stillflow.ops.nn.pooling_argmax import max_pool_with_argmax_op
from stillflow.ops.nn.windows import sequence
from stillflow.util.newer_arguments import handed_on


def _nhwc_only(data_format: str) -> None:
    if data_format != "NHWC":
        raise ValueError("Data formats other than NHWC are not yet supported")


# ---- activations, losses


crelu = export("compat.v2.nn.crelu")(
    handed_on("features, axis=-1, name=None", activations, "crelu")
)


@export("compat.v2.nn.softmax", "compat.v2.math.softmax")
def softmax_v2(logits: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """See `tf.nn.softmax`."""
    return softmax.softmax(logits, axis, name)


@export("compat.v2.nn.log_softmax", "compat.v2.math.log_softmax")
def log_softmax_v2(logits: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """See `tf.nn.log_softmax`."""
    return softmax.log_softmax(logits, axis, name)


@export("compat.v2.nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(
    labels: Any, logits: Any, axis: Any = -1, name: str | None = None
) -> Tensor:
    """See `tf.nn.softmax_cross_entropy_with_logits_v2`."""
    return cross_entropy.softmax_cross_entropy_with_logits_v2(labels, logits, axis, name)


sparse_softmax_cross_entropy_with_logits = export(
    "compat.v2.nn.sparse_softmax_cross_entropy_with_logits"
)(handed_on("labels, logits, name=None", cross_entropy, "sparse_softmax_cross_entropy_with_logits"))


sigmoid_cross_entropy_with_logits = export("compat.v2.nn.sigmoid_cross_entropy_with_logits")(
    handed_on("labels=None, logits=None, name=None", losses, "sigmoid_cross_entropy_with_logits")
)


weighted_cross_entropy_with_logits = export("compat.v2.nn.weighted_cross_entropy_with_logits")(
    handed_on("labels, logits, pos_weight, name=None", losses, "weighted_cross_entropy_with_logits")
)


in_top_k = export("compat.v2.nn.in_top_k", "compat.v2.math.in_top_k")(
    handed_on("targets, predictions, k, name=None", top_k, "in_top_k")
)


# ---- convolutions


@export("compat.v2.nn.conv1d")
def conv1d(
    input: Any,
    filters: Any,
    stride: Any,
    padding: str,
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """See `tf.nn.conv1d`."""
    return conv1d_v1(
        input, filters, stride, padding, use_cudnn_on_gpu=True, data_format=data_format,
        name=name, dilations=dilations,
    )  # fmt: skip


@export("compat.v2.nn.conv2d")
def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """See `tf.nn.conv2d`."""
    return conv.conv2d(
        input, filters, strides, padding, data_format=data_format, dilations=dilations, name=name
    )


@export("compat.v2.nn.conv3d")
def conv3d_v2(
    input: Any,
    filters: Any,
    strides: Sequence[int],
    padding: str,
    data_format: str = "NDHWC",
    dilations: Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """See `tf.nn.conv3d`."""
    rate = [1, 1, 1, 1, 1] if dilations is None else dilations
    return conv3d.conv3d(input, filters, strides, padding, data_format, rate, name)


@export("compat.v2.nn.convolution")
def convolution_v2(
    input: Any,
    filters: Any,
    strides: Any = None,
    padding: str = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """See `tf.nn.convolution`."""
    return convolution_v1(input, filters, padding, strides, dilations, name, data_format)


@export("compat.v2.nn.depthwise_conv2d")
def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Sequence[int],
    padding: str,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """See `tf.nn.depthwise_conv2d`."""
    return separable.depthwise_conv2d(input, filter, strides, padding, dilations, name, data_format)


@export("compat.v2.nn.separable_conv2d")
def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Sequence[int],
    padding: str,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """See `tf.nn.separable_conv2d`."""
    return separable.separable_conv2d(
        input, depthwise_filter, pointwise_filter, strides, padding, dilations, name, data_format
    )


@export("compat.v2.nn.dilation2d")
def dilation2d_v2(
    input: Any,
    filters: Any,
    strides: Sequence[int],
    padding: str,
    data_format: str,
    dilations: Sequence[int],
    name: str | None = None,
) -> Tensor:
    """See `tf.nn.dilation2d`."""
    _nhwc_only(data_format)
    return dilation2d.dilation2d(input, filters, strides, dilations, padding, name)


@export("compat.v2.nn.erosion2d")
def erosion2d(
    value: Any,
    filters: Any,
    strides: Sequence[int],
    padding: str,
    data_format: str,
    dilations: Sequence[int],
    name: str | None = None,
) -> Tensor:
    """See `tf.nn.erosion2d`."""
    _nhwc_only(data_format)
    return dilation2d.erosion2d(value, filters, strides, dilations, padding, name)


# ---- pools


@export("compat.v2.nn.avg_pool2d")
def avg_pool2d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str | None = "NHWC",
    name: str | None = None,
) -> Tensor:
    """See `tf.nn.avg_pool2d`."""
    return pooling.image_pool(
        avg_pool_op, "AvgPool2D", input, ksize, strides, padding, data_format, name
    )


@export("compat.v2.nn.max_pool_with_argmax")
def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    output_dtype: Any = dtypes.int64,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> Any:
    """See `tf.nn.max_pool_with_argmax`."""
    if data_format != "NHWC":
        raise ValueError("Data formats other than 'NHWC' are not yet supported")
    return max_pool_with_argmax_op(
        input, ksize=sequence(ksize, 2, 3, "ksize"), strides=sequence(strides, 2, 3, "strides"),
        padding=padding, Targmax=output_dtype, include_batch_in_index=include_batch_in_index,
        name=name,
    )  # fmt: skip


@export("compat.v2.nn.pool")
def pool(
    input: Any,
    window_shape: Sequence[int],
    pooling_type: str,
    strides: Any = None,
    padding: str = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """See `tf.nn.pool`."""
    return dilated_pooling.pool(
        input, window_shape, pooling_type, padding, dilations, strides, name, data_format
    )


def _seeds(seed: int) -> dict[str, Any]:
    """0 draws new windows in every run, any other seed the same ones."""
    if seed == 0:
        return {"deterministic": False, "seed": 0, "seed2": 0}
    first, second = get_seed(seed)
    return {"deterministic": True, "seed": first, "seed2": second}


@export("compat.v2.nn.fractional_max_pool")
def fractional_max_pool(
    value: Any,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> Any:
    """See `tf.nn.fractional_max_pool`."""
    ratio = sequence(pooling_ratio, 2, 3, "pooling_ratio")
    return fractional_max_pool_op(
        value, pooling_ratio=ratio, pseudo_random=pseudo_random, overlapping=overlapping,
        name=name, **_seeds(seed),
    )  # fmt: skip


@export("compat.v2.nn.fractional_avg_pool")
def fractional_avg_pool(
    value: Any,
    pooling_ratio: Any,
    pseudo_random: bool = False,
    overlapping: bool = False,
    seed: int = 0,
    name: str | None = None,
) -> Any:
    """See `tf.nn.fractional_avg_pool`."""
    return fractional_avg_pool_op(
        value, pooling_ratio=pooling_ratio, pseudo_random=pseudo_random, overlapping=overlapping,
        name=name, **_seeds(seed),
    )  # fmt: skip


# ---- moments, normalization


@export("compat.v2.nn.l2_normalize", "compat.v2.math.l2_normalize", "compat.v2.linalg.l2_normalize")
def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None
) -> Tensor:
    """See `tf.nn.l2_normalize`."""
    return l2_normalize_v1(x, axis, epsilon, name)


@export("compat.v2.nn.moments")
def moments(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """See `tf.nn.moments`."""
    return moments_v1(x, axes, shift, name, keep_dims=keepdims)


@export("compat.v2.nn.weighted_moments")
def weighted_moments(
    x: Any, axes: Any, frequency_weights: Any, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """See `tf.nn.weighted_moments`."""
    return weighted_moments_v1(x, axes, frequency_weights, name, keep_dims=keepdims)


@export("compat.v2.nn.sufficient_statistics")
def sufficient_statistics(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """See `tf.nn.sufficient_statistics`."""
    return sufficient_statistics_v1(x, axes, shift, keepdims, name)


@export("compat.v2.nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization(
    input: Any,
    mean: Any,
    variance: Any,
    beta: Any,
    gamma: Any,
    variance_epsilon: float,
    scale_after_normalization: bool,
    name: str | None = None,
) -> Tensor:
    """See `tf.nn.batch_norm_with_global_normalization`."""
    return batch_norm_v1(
        input, mean, variance, beta, gamma, variance_epsilon, scale_after_normalization, name
    )


# ---- embeddings, sampled losses


embedding_lookup = export("compat.v2.nn.embedding_lookup")(
    handed_on(
        "params, ids, max_norm=None, name=None",
        embedding,
        "embedding_lookup",
        given={"partition_strategy": "div"},
    )
)


embedding_lookup_sparse = export("compat.v2.nn.embedding_lookup_sparse")(
    handed_on(
        "params, sp_ids, sp_weights, combiner=None, max_norm=None, name=None",
        embedding,
        "embedding_lookup_sparse",
        given={"partition_strategy": "div"},
    )
)


nce_loss = export("compat.v2.nn.nce_loss")(
    handed_on(
        "weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, "
        'sampled_values=None, remove_accidental_hits=False, name="nce_loss"',
        sampled,
        "nce_loss",
        given={"partition_strategy": "div"},
    )
)


sampled_softmax_loss = export("compat.v2.nn.sampled_softmax_loss")(
    handed_on(
        "weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, "
        'sampled_values=None, remove_accidental_hits=True, seed=None, name="sampled_softmax_loss"',
        sampled,
        "sampled_softmax_loss",
        given={"partition_strategy": "div"},
    )
)
