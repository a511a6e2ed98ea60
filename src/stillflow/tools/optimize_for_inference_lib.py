"""GraphDefs that compute the same with fewer nodes: batch norms folded, resizing fused."""

from __future__ import annotations

import collections
import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.tensor_proto import make_ndarray, make_tensor_proto
from stillflow.graph_util import remove_training_nodes
from stillflow.platform import tf_logging as logging
from stillflow.platform.flags import FLAGS
from stillflow.protos import GraphDef, NodeDef
from stillflow.tools.strip_unused_lib import strip_unused

__all__ = [
    "EPSILON_ATTR",
    "FLAGS",
    "INPUT_ORDER",
    "ensure_graph_is_valid",
    "fold_batch_norms",
    "fuse_resize_and_conv",
    "node_from_map",
    "node_name_from_input",
    "optimize_for_inference",
    "scale_after_normalization",
    "values_from_const",
]

Nodes = dict[str, Any]

# Batch norms that can be folded: their inputs, and the place of epsilon.
INPUT_ORDER = {
    "BatchNormWithGlobalNormalization": ["conv_op", "mean_op", "var_op", "beta_op", "gamma_op"],
    "FusedBatchNorm": ["conv_op", "gamma_op", "beta_op", "mean_op", "var_op"],
}
EPSILON_ATTR = {
    "BatchNormWithGlobalNormalization": "variance_epsilon",
    "FusedBatchNorm": "epsilon",
}
_FILTERED = ("Conv2D", "DepthwiseConv2dNative")


def optimize_for_inference(
    input_graph_def: Any,
    input_node_names: Sequence[str],
    output_node_names: Sequence[str],
    placeholder_type_enum: Any,
    toco_compatible: bool = False,
) -> Any:
    """Return a GraphDef that infers the same with less work.

    Args:
      input_graph_def: a frozen `GraphDef`.
      input_node_names: the nodes that are fed.
      output_node_names: the nodes that are fetched.
      placeholder_type_enum: the `DataType` of the fed nodes, or a list with one for each.
      toco_compatible: whether to leave out the fused operations that TOCO does not know.

    Raises:
      ValueError: If two nodes have one name, or an input leads to no node.
    """
    ensure_graph_is_valid(input_graph_def)
    result = strip_unused(
        input_graph_def, input_node_names, output_node_names, placeholder_type_enum
    )
    result = remove_training_nodes(result, output_node_names)
    result = fold_batch_norms(result)
    if not toco_compatible:
        result = fuse_resize_and_conv(result, output_node_names)
    ensure_graph_is_valid(result)
    return result


def _by_name(graph_def: Any) -> Nodes:
    nodes: Nodes = {}
    for node in graph_def.node:
        if node.name in nodes:
            raise ValueError("Duplicate node names detected for ", node.name)
        nodes[node.name] = node
    return nodes


def ensure_graph_is_valid(graph_def: Any) -> None:
    """Check that names are unique and inputs are there, or raise ValueError."""
    nodes = _by_name(graph_def)
    for node in graph_def.node:
        for name in node.input:
            if node_name_from_input(name) not in nodes:
                raise ValueError("Input for ", node.name, " not found: ", name)


def node_name_from_input(node_name: str) -> str:
    """Return the node's name in an input such as `^a` or `a:1`."""
    return re.sub(r":\d+$", "", node_name.removeprefix("^"))


def node_from_map(node_map: Nodes, name: str) -> Any:
    """Return the node that an input names; ValueError if there is none."""
    found = node_map.get(node_name_from_input(name))
    if found is None:
        raise ValueError(f"No node named '{name}' found in map.")
    return found


def values_from_const(node_def: Any) -> np.ndarray[Any, Any]:
    """Return the value of a node of type Const."""
    if node_def.op != "Const":
        raise ValueError(
            f"Node named '{node_def.name}' should be a Const op for values_from_const."
        )
    value: np.ndarray[Any, Any] = make_ndarray(node_def.attr["value"].tensor)
    return value


def scale_after_normalization(node: Any) -> bool:
    """Return whether a batch norm multiplies by gamma."""
    if node.op == "BatchNormWithGlobalNormalization":
        return bool(node.attr["scale_after_normalization"].b)
    return True


def fold_batch_norms(input_graph_def: Any) -> Any:
    """Return a GraphDef with batch norms folded into the convolutions before them.

    A convolution's filter is scaled and a BiasAdd of the batch norm's name added, where the filter
    and the statistics are constants.
    """
    nodes = _by_name(input_graph_def)
    left_out: set[str] = set()
    added: list[Any] = []
    for node in input_graph_def.node:
        if node.op in INPUT_ORDER:
            parts = _parts(node, nodes)
            if parts is not None:
                left_out.add(node.name)
                left_out.update(part.name for part in parts.values())
                added += _folded(node, parts)
    result = GraphDef()
    result.node.extend(node for node in input_graph_def.node if node.name not in left_out)
    result.node.extend(added)
    return result


def _parts(node: Any, nodes: Nodes) -> Nodes | None:
    """Return the nodes that a batch norm reads, None if it cannot be folded into them."""
    order = INPUT_ORDER[node.op]
    parts = {part: node_from_map(nodes, name) for part, name in zip(order, node.input)}
    conv = parts["conv_op"]
    if conv.op not in _FILTERED:
        logging.warning(
            f"Didn't find expected Conv2D or DepthwiseConv2dNative input to '{node.name}'"
        )
        return None
    parts["weights_op"] = node_from_map(nodes, conv.input[1])
    for part, source in parts.items():
        if part != "conv_op" and source.op != "Const":
            where, what = (conv, "conv") if part == "weights_op" else (node, part[:-3])
            logging.warning(
                f"Didn't find expected {what} Constant input to '{where.name}', found {source} "
                "instead. Maybe because freeze_graph wasn't run first?"
            )
            return None
    channels = (_channels(conv, values_from_const(parts["weights_op"])),)
    for part in ("mean_op", "var_op", "beta_op", "gamma_op"):
        shape = values_from_const(parts[part]).shape
        if shape != channels:
            logging.warning(
                f"Incorrect shape for {part[:-3]}, found {shape}, expected {channels}, for node "
                f"{node.name}"
            )
            return None
    return parts


def _channels(conv: Any, weights: np.ndarray[Any, Any]) -> int:
    return int(weights.shape[3] if conv.op == "Conv2D" else weights.shape[2] * weights.shape[3])


def _folded(node: Any, parts: Nodes) -> list[Any]:
    """Return the nodes that take the place of a convolution and a batch norm."""
    conv, weights_op = parts["conv_op"], parts["weights_op"]
    weights, mean, variance, beta, gamma = (
        values_from_const(parts[f"{part}_op"])
        for part in ("weights", "mean", "var", "beta", "gamma")
    )
    # In double precision, as Python's own square root would be.
    scale = 1.0 / np.sqrt(variance + node.attr[EPSILON_ATTR[node.op]].f, dtype=np.float64)
    if scale_after_normalization(node):
        scale = scale * gamma
    offset = -mean * scale + beta
    # One scale for each output channel; those of a depthwise filter are its last two dimensions.
    per_channel = scale.reshape(weights.shape[2:] if conv.op != "Conv2D" else (-1,))
    scaled = (weights * per_channel).astype(weights.dtype)

    new_conv = NodeDef()
    new_conv.CopyFrom(conv)
    bias = NodeDef(op="BiasAdd", name=node.name, input=[conv.name, f"{conv.name}_bn_offset"])
    for name in ("T", "data_format"):
        bias.attr[name].CopyFrom(conv.attr[name])
    return [
        _const(weights_op.name, scaled, weights_op.attr["dtype"].type),
        new_conv,
        _const(
            f"{conv.name}_bn_offset", offset.astype(mean.dtype), parts["mean_op"].attr["dtype"].type
        ),
        bias,
    ]


def _const(name: str, value: Any, dtype: int) -> Any:
    node = NodeDef(op="Const", name=name)
    node.attr["dtype"].type = dtype
    kind = dtypes.as_dtype(dtype)
    node.attr["value"].tensor.CopyFrom(make_tensor_proto(value, kind, np.shape(value)))
    return node


def fuse_resize_and_conv(input_graph_def: Any, output_node_names: Sequence[str]) -> Any:
    """Return a GraphDef whose convolutions resize and pad by themselves.

    A MirrorPad or ResizeBilinear, or both, before a Conv2D become one operation with it.
    """
    nodes = _by_name(input_graph_def)
    uses: collections.Counter[str] = collections.Counter(output_node_names)
    for node in input_graph_def.node:
        uses.update(node_name_from_input(name) for name in node.input)
    added: list[Any] = []
    for conv in input_graph_def.node:
        if conv.op != "Conv2D":
            continue
        source = node_from_map(nodes, conv.input[0])
        pad = source if source.op == "MirrorPad" else None
        resize = node_from_map(nodes, pad.input[0]) if pad is not None else source
        if resize.op != "ResizeBilinear":
            resize = None
        if pad is None and resize is None:
            continue
        uses[conv.name] = 0
        for node in (pad, resize):
            if node is not None:
                uses[node.name] -= 1
        added += _fused(conv, pad, resize)
    result = GraphDef()
    result.node.extend(node for node in input_graph_def.node if uses[node.name] > 0)
    result.node.extend(added)
    return result


def _fused(conv: Any, pad: Any, resize: Any) -> list[Any]:
    """Return the replacement of a convolution and its preceding nodes."""
    before: list[Any] = []
    if pad is None:
        padding = _const(
            f"{conv.name}_dummy_paddings", np.zeros([4, 2], np.int32), dtypes.int32.as_datatype_enum
        )
        before.append(padding)
    paddings = pad.input[1] if pad is not None else before[0].name
    fused = NodeDef(
        op="FusedPadConv2D" if resize is None else "FusedResizeAndPadConv2D", name=conv.name
    )
    if resize is None:
        fused.input.extend([pad.input[0], paddings, conv.input[1]])
    else:
        fused.input.extend([resize.input[0], resize.input[1], paddings, conv.input[1]])
        fused.attr["resize_align_corners"].CopyFrom(resize.attr["align_corners"])
    for name in ("T", "strides", "padding"):
        fused.attr[name].CopyFrom(conv.attr[name])
    if pad is None:
        fused.attr["mode"].s = b"REFLECT"
    else:
        fused.attr["mode"].CopyFrom(pad.attr["mode"])
    return [*before, fused]
