"""Layers of a model that will be one kernel each, from their weights to their activations.

Such a layer is weights, or weights folded; a convolution or matrix product; perhaps the end of a
dilated convolution; perhaps the corrections of a folded batch normalization; a bias; perhaps the
sum with a bypass; an activation; and perhaps a sum after that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.platform import tf_logging as logging
from stillflow_contrib.quantize.patterns import (
    GraphMatcher,
    MatchResult,
    OneofPattern,
    OpTypePattern,
)

_LAYERS = "Conv2D|MatMul|DepthwiseConv2dNative"
_SUM = "Add|AddV2"


@dataclass
class LayerMatch:
    """Matched parts of a layer; None for missing parts.

    Attributes:
      layer: the convolution or matrix product.
      weights: what it multiplies with.
      activation: its last operation, except for a sum after that.
      bypass: the sum before the activation.
      post_activation_bypass: the sum after it.
      bias_add: the operation that adds the bias.
    """

    layer: Operation
    weights: Tensor | None
    activation: Operation | None
    bypass: Operation | None = None
    post_activation_bypass: Operation | None = None
    bias_add: Operation | None = None


def _unordered(op_type: str, inputs: list[Any]) -> OpTypePattern:
    return OpTypePattern(op_type, inputs=inputs, ordered_inputs=False)


_variable = OpTypePattern("Variable|VariableV2")
_part = OpTypePattern("Identity", inputs=[_variable])
_parts = OpTypePattern("ConcatV2", inputs=[_part, "*", "*"])
_read = OpTypePattern("Identity", inputs=[OneofPattern([_part, _parts, _variable])])
_resource_read = OpTypePattern("ReadVariableOp")
_folded_weights = OpTypePattern("Mul")
_layer = _unordered(_LAYERS, ["*", OneofPattern([_read, _resource_read, _folded_weights])])
_batch_to_space = OpTypePattern("BatchToSpaceND", inputs=[_layer, "*", "*"])
_output = OneofPattern([_batch_to_space, _layer])
_layer_on_layer = _unordered(_LAYERS, [_output, "*"])
_corrected = _unordered(_SUM, [_unordered("Mul", ["*", _output]), "*"])
_folded_bias_add = _unordered(_SUM, [_corrected, "*"])
# A batch normalization that updates its averages ends so.
_norm_identity = OpTypePattern("Identity", inputs=[_folded_bias_add])
_bias_add = _unordered(f"{_SUM}|BiasAdd", [_output, "*"])
_biased = [_bias_add, _folded_bias_add, _norm_identity]
_bypass = _unordered(_SUM, [OneofPattern(_biased), "*"])
_activation = OpTypePattern(
    "Relu|Relu6|Identity", inputs=[OneofPattern([*_biased, _bypass, _layer])]
)
_post_activation_bypass = _unordered(_SUM, ["*", _activation])


def find_layers(graph: Graph) -> list[LayerMatch]:
    """Return the layers of a graph, each once.

    An operation that matches in several ways counts as the largest layer: first those with a sum
    after the activation, then those that end with one, then with a bias, then those between two
    layers.
    """
    found: dict[Operation, LayerMatch] = {}
    for pattern, describe in (
        (_post_activation_bypass, _describe),
        (_activation, _describe_unless_normalized),
        (OneofPattern([_bias_add, _folded_bias_add]), _describe_last),
        (_layer_on_layer, _describe_inner),
    ):
        for result in GraphMatcher(pattern).match_graph(graph):
            layer = result.get_op(_layer)
            assert layer is not None
            match = None if layer in found else describe(layer, result)
            if match is not None:
                found[layer] = match
    return list(found.values())


def _first(*found: Any) -> Any:
    return next((value for value in found if value is not None), None)


def _weights(result: MatchResult) -> Tensor | None:
    return _first(*map(result.get_tensor, (_read, _resource_read, _folded_weights)))


def _bias(result: MatchResult) -> Operation | None:
    return _first(*map(result.get_op, (_bias_add, _folded_bias_add)))


def _describe(layer: Operation, result: MatchResult) -> LayerMatch:
    return LayerMatch(
        layer,
        _weights(result),
        result.get_op(_activation),
        result.get_op(_bypass),
        result.get_op(_post_activation_bypass),
        _bias(result),
    )


def _describe_unless_normalized(layer: Operation, result: MatchResult) -> LayerMatch | None:
    match = _describe(layer, result)
    return None if _feeds_fused_norm(match.activation) else match


def _describe_last(layer: Operation, result: MatchResult) -> LayerMatch:
    return LayerMatch(layer, _weights(result), _bias(result))


def _describe_inner(layer: Operation, result: MatchResult) -> LayerMatch:
    weights = _first(*map(result.get_tensor, (_read, _resource_read)))
    return LayerMatch(layer, weights, layer)


def _feeds_fused_norm(activation: Any) -> bool:
    """Return True if its only use is the batch's moments, after folding."""
    if activation.type != "Identity":
        return False
    consumers = activation.outputs[0].consumers()
    if [op.type for op in consumers] not in (["FusedBatchNorm"], ["FusedBatchNormV3"]):
        return False
    logging.info("%s feeds a batch normalization that is folded: not quantized.", activation.name)
    return True
