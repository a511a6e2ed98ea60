"""Fused batch normalizations folded into the layers before them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import stillflow as tf
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.protos import AttrValue
from stillflow_contrib.quantize.batch_norms import BatchNorm, corrections
from stillflow_contrib.quantize.cloning import clone_batch_to_space, clone_layer, depthwise_shape
from stillflow_contrib.quantize.edges import reroute_tensor
from stillflow_contrib.quantize.patterns import (
    GraphMatcher,
    MatchResult,
    OneofPattern,
    OpTypePattern,
)

_GRADIENT = "FoldFusedBatchNormGrad"

_inputs = OpTypePattern("*")
_weights = OpTypePattern("*")
_layer = OpTypePattern("Conv2D|DepthwiseConv2dNative|MatMul", inputs=[_inputs, _weights])
_batch_to_space = OpTypePattern("BatchToSpaceND", inputs=[_layer, "*", "*"])
_with_identity = OpTypePattern("Identity", inputs=[OneofPattern([_batch_to_space, _layer])])
_layer_output = OneofPattern([_with_identity, _layer, _batch_to_space])
# Factors of matrix products are reshaped into pictures and back.
_reshaped_layer = OpTypePattern("Reshape", inputs=[_layer_output, "*"])
_gamma, _beta = OpTypePattern("*"), OpTypePattern("*")
_mean, _variance = OpTypePattern("*"), OpTypePattern("*")
_norm = OpTypePattern(
    "FusedBatchNorm|FusedBatchNormV3",
    inputs=[OneofPattern([_reshaped_layer, _layer_output]), _gamma, _beta, _mean, _variance],
)
_reshaped_norm = OpTypePattern("Reshape", inputs=[_norm, "*"])
_folded = GraphMatcher(OneofPattern([_reshaped_norm, _norm]))


@dataclass
class _Match:
    """Layer, the batch normalization after it, and the inputs and outputs of both."""

    layer: Operation
    norm_op: Operation
    output: Tensor
    inputs: Any
    weights: Any
    beta: Any
    norm: BatchNorm
    dilated: bool


def fold_fused(graph: Graph, freeze_delay: int | None) -> None:
    """Folds all fused batch normalizations.

    Args:
      graph: the graph, changed.
      freeze_delay: see `corrections`.

    Raises:
      ValueError: if nothing takes what a normalization gives.
    """
    for match in list(_matches(graph)):
        _fold(graph, match, freeze_delay)


def _matches(graph: Graph) -> Iterator[_Match]:
    """Yield the layers to fold, each once."""
    seen: set[Operation] = set()
    for result in _folded.match_graph(graph):
        match = _match(result)
        if match is not None and match.layer not in seen:
            seen.add(match.layer)
            yield match


def _match(result: MatchResult) -> _Match | None:
    layer, norm_op = result.get_op(_layer), result.get_op(_norm)
    assert layer is not None and norm_op is not None
    output = norm_op.outputs[0]
    if layer.type == "MatMul":
        reshaped = result.get_op(_reshaped_norm)
        if reshaped is None:  # it will match again, with its reshape
            return None
        output = reshaped.outputs[0]
    if not output.consumers():
        return None
    return _Match(
        layer,
        norm_op,
        output,
        inputs=result.get_tensor(_inputs),
        weights=result.get_tensor(_weights),
        beta=result.get_tensor(_beta),
        norm=_batch_norm(result, norm_op),
        dilated=result.get_op(_batch_to_space) is not None,
    )


def _batch_norm(result: MatchResult, op: Operation) -> BatchNorm:
    gamma, epsilon = result.get_tensor(_gamma), op.get_attr("epsilon")
    if not op.get_attr("is_training"):
        return BatchNorm(gamma, result.get_tensor(_mean), result.get_tensor(_variance), epsilon)
    # The gradient of the operation itself knows of no gradients of mean and variance.
    op._set_attr("_gradient_op_type", AttrValue(s=_GRADIENT.encode()))
    mean, corrected = op.outputs[1], op.outputs[2]
    scope, slash, _ = op.name.rpartition("/")
    with tf.get_default_graph().name_scope(scope + slash):
        count = tf.cast(tf.size(result.get_tensor(_layer)) / tf.size(mean), tf.float32)
        # The operation gives the variance of the population that the batch is a sample of.
        variance = tf.multiply(corrected, (count - 1) / count, name="Undo_Bessel_Correction")
    moving_mean, mean_decay = _average_of(mean)
    moving_variance, variance_decay = _average_of(corrected)
    return BatchNorm(
        gamma, mean, variance, epsilon, moving_mean, moving_variance, mean_decay, variance_decay
    )


def _average_of(value: Tensor) -> tuple[Any, Any]:
    """Return the average that moves to a value, and its step."""
    steps = [
        step
        for difference in value.consumers()
        if difference.type == "Sub" and difference.inputs[1] is value
        for step in difference.outputs[0].consumers()
        if step.type == "Mul" and step.inputs[0].op is difference
    ]
    if not steps:
        return None, None
    last = max(steps, key=lambda op: op._id)
    return last.inputs[0].op.inputs[0], last.inputs[1]


def _fold(graph: Graph, match: _Match, freeze_delay: int | None) -> None:
    norm, weights = match.norm, match.weights
    scope, slash, _ = match.layer.name.rpartition("/")
    correction = None
    with graph.name_scope(scope + slash):
        with graph.name_scope(f"{scope}{slash}BatchNorm_Fold{slash}"):
            multiplier = norm.gamma * tf.rsqrt(norm.variance + norm.epsilon)
            bias = tf.subtract(match.beta, norm.mean * multiplier, name="bias")
            if match.norm_op.get_attr("is_training"):
                correction = corrections("", norm, freeze_delay)
            if match.layer.type == "DepthwiseConv2dNative":
                shape = depthwise_shape(weights)
                multiplier = tf.reshape(multiplier, shape, name="scale_reshape")
                if correction is not None:
                    correction.scale = tf.reshape(
                        correction.scale, shape, name="correction_reshape"
                    )
        if correction is not None:
            weights = tf.multiply(correction.scale, weights, name="correction_mult")
        folded = _with_weights(match, tf.multiply(weights, multiplier, name="mul_fold"))
        if correction is not None:
            folded = tf.multiply(correction.recip, folded, name="post_conv_mul")
            folded = tf.add(folded, correction.offset, "correction_add")
        if not reroute_tensor(tf.add(folded, bias, name="add_fold"), match.output):
            raise ValueError(f"Folding batch norms failed, {match.output.name} had no outputs.")


def _with_weights(match: _Match, weights: Tensor) -> Tensor:
    """Return the layer once more, with other weights."""
    layer = match.layer
    folded = clone_layer(layer, match.inputs, weights, _folded_name(layer))
    if layer.type == "DepthwiseConv2dNative" and match.dilated:
        end = layer.outputs[0].consumers()[0]
        folded = clone_batch_to_space(end, folded, _folded_name(end))
    return folded


def _folded_name(op: Operation) -> str:
    return op.name.rpartition("/")[2] + "_Fold"


@tf.RegisterGradient(_GRADIENT)
def _fold_fused_batch_norm_grad(op: Operation, *grads: Any) -> list[Any]:
    """Return the gradient of a batch normalization of which only mean and variance are used."""
    values, (_, of_mean, of_variance, *_) = op.inputs[0], grads
    count = tf.cast(tf.size(values) / tf.size(of_mean), tf.float32)
    by_mean = of_mean / count
    by_variance = 2 * of_variance * (values - op.outputs[1]) / (count - 1)
    return [by_mean + by_variance, None, None, None, None]
