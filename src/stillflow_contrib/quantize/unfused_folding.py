"""Batch normalizations made of single operations, found by their names, folded into layers."""

from __future__ import annotations

import re

import stillflow as tf
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow_contrib.quantize.batch_norms import BatchNorm, Corrections, corrections
from stillflow_contrib.quantize.cloning import clone_batch_to_space, clone_layer, depthwise_shape
from stillflow_contrib.quantize.edges import (
    SKIPPED_PREFIXES,
    Consumers,
    operation_or_none,
    reroute_tensor,
)

_ACTIVATIONS = ("Relu6", "Relu", "Identity")
_GROUP = re.compile("^(.*)BatchNorm/batchnorm")
_NORM = "BatchNorm/batchnorm_1/"


def batch_norm_groups(graph: Graph) -> list[str]:
    """Return the prefixes of the names of batch normalizations, in order."""
    found = (_GROUP.search(op.name) for op in graph.get_operations())
    prefixes = (match.group(1) for match in found if match)
    return list(dict.fromkeys(text for text in prefixes if not text.startswith(SKIPPED_PREFIXES)))


def endpoint_activation(graph: Graph, prefix: str) -> Operation | None:
    """Return the activation of a prefix, or None."""
    found = (operation_or_none(graph, prefix + suffix) for suffix in _ACTIVATIONS)
    return next((op for op in found if op is not None), None)


def fold_unfused(graph: Graph, is_training: bool, freeze_delay: int | None) -> None:
    """Folds all batch normalizations that are not fused.

    Args:
      graph: the graph, changed.
      is_training: whether they normalize by the batch.
      freeze_delay: see `corrections`.

    Raises:
      ValueError: if a consumer of an output is not as expected.
    """
    consumers = Consumers(graph)
    for prefix in batch_norm_groups(graph):
        has_scaling = _has_scaling(graph, consumers, prefix)
        if not graph.get_operation_by_name(f"{prefix}{_NORM}add_1").outputs[0].consumers():
            continue
        old, new = _fold(graph, prefix, has_scaling, is_training, freeze_delay)
        user = endpoint_activation(graph, prefix)
        if user is None:  # a block that adds its bypass to the layer
            beside = prefix.rstrip("/").rpartition("/")[0]
            user = graph.get_operation_by_name(f"{beside}/AddV2" if beside else "AddV2")
        if reroute_tensor(new, old, can_modify=[user]) != 1:
            raise ValueError(f"Unexpected inputs to op: {user.name}")


def _has_scaling(graph: Graph, consumers: Consumers, prefix: str) -> bool:
    """Return True if there is a gamma: the factor of the inverse deviation."""
    inverse = graph.get_operation_by_name(f"{prefix}{_NORM}Rsqrt")
    users = consumers.consumer_operations(inverse)
    return sum(op.type == "Mul" for op in users) == 1


def _fold(
    graph: Graph, prefix: str, has_scaling: bool, is_training: bool, freeze_delay: int | None
) -> tuple[Tensor, Tensor]:
    """Return the results of a batch normalization, and of the folded layer."""
    scaled = graph.get_operation_by_name(f"{prefix}{_NORM}{'mul_1' if has_scaling else 'mul'}")
    layer, end = scaled.inputs[0].op, None
    if layer.type == "BatchToSpaceND":
        layer, end = layer.inputs[0].op, layer
    norm = _batch_norm(graph, prefix, has_scaling)
    correction = corrections(prefix, norm, freeze_delay) if is_training else None
    weights = _folded_weights(graph, prefix, scaled, layer, correction, has_scaling)

    inputs, name = layer.inputs[0], f"{layer.name}_Fold"
    _assert_fit(layer.name, inputs, weights, rank=2 if layer.type == "MatMul" else 4)
    folded = clone_layer(layer, inputs, weights, name)
    device = folded.device
    if end is not None:
        folded = clone_batch_to_space(end, folded, f"{end.name}_Fold")
    if correction is not None:
        with tf.device(device):
            folded = tf.multiply(correction.recip, folded, f"{prefix}post_conv_mul")
            folded = tf.add(folded, correction.offset, f"{prefix}correction_add")
    shifted = graph.get_operation_by_name(f"{prefix}{_NORM}add_1")
    result = tf.add(folded, shifted.inputs[1], name=f"{prefix}add_fold")
    _assert_shapes_match("add_fold", folded, result)
    return shifted.outputs[0], result


def _folded_weights(
    graph: Graph,
    prefix: str,
    scaled: Operation,
    layer: Operation,
    correction: Corrections | None,
    has_scaling: bool,
) -> Tensor:
    weights, scale = layer.inputs[1], scaled.inputs[1]
    factor = None if correction is None else correction.scale
    if layer.type == "DepthwiseConv2dNative":
        shape = depthwise_shape(weights)
        value = graph.get_operation_by_name(f"{prefix}{_NORM}{'mul' if has_scaling else 'Rsqrt'}")
        scale = tf.reshape(value.outputs[0], shape, f"{prefix}scale_reshape")
        if factor is not None:
            factor = tf.reshape(factor, shape, f"{prefix}correction_reshape")
    elif layer.type not in ("Conv2D", "MatMul"):
        raise ValueError(f"Cannot handle operation of type: {layer.type}")
    if factor is not None:
        with tf.device(scaled.device):
            weights = tf.multiply(factor, weights, f"{prefix}correction_mult")
    folded = tf.multiply(weights, scale, name=f"{prefix}mul_fold")
    _assert_shapes_match("mul_fold", weights, folded)
    return folded


def _batch_norm(graph: Graph, prefix: str, has_scaling: bool) -> BatchNorm:
    resource = tf.get_variable_scope().use_resource

    def find(suffix: str) -> Tensor | None:
        return _best_match(graph, f"BatchNorm/{suffix}", prefix)

    read = "/Read/ReadVariableOp" if resource else "/read"
    moving_mean = find(f"moving_mean{read}")
    if has_scaling:
        gamma = find(f"gamma{read}" if resource else "gamma")
    else:
        assert moving_mean is not None
        gamma = tf.ones(moving_mean.shape)
    return BatchNorm(
        gamma=gamma,
        mean=find("moments/Squeeze"),
        variance=find("moments/Squeeze_1"),
        epsilon=find("batchnorm_1/add/y"),
        moving_mean=moving_mean,
        moving_variance=find(f"moving_variance{read}"),
        mean_decay=find("AssignMovingAvg/decay"),
        variance_decay=find("AssignMovingAvg_1/decay"),
    )


def _best_match(graph: Graph, suffix: str, prefix: str) -> Tensor | None:
    """Return the first output of the operation with a suffix that has most scopes of a prefix.

    Scopes of variables and of operations may differ: in MobileNet one is there twice.
    """
    scopes = set(prefix.split("/"))
    shared = {
        op.name: len(scopes.intersection(op.name.split("/")))
        for op in graph.get_operations()
        if op.name.endswith(suffix)
    }
    if prefix:
        shared = {name: count for name, count in shared.items() if count}
    if not shared:
        return None
    return graph.get_tensor_by_name(f"{max(shared, key=shared.__getitem__)}:0")


def _assert_fit(name: str, inputs: Tensor, weights: Tensor, rank: int) -> None:
    """Raise an error for weights that do not fit the inputs of a layer."""
    given, wanted = inputs.get_shape(), weights.get_shape()
    if len(given) != rank or len(wanted) != rank or given[-1] != wanted[-2]:
        raise ValueError(f"Incompatible shapes for op {name} inputs: {given} and {wanted}")


def _assert_shapes_match(name: str, before: Tensor, after: Tensor) -> None:
    given, made = before.get_shape(), after.get_shape()
    if not given.is_compatible_with(made):
        raise ValueError(f"{name} should not change tensor shape: input {given}, output {made}")
