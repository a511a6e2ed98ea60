"""Frozen graphs without masks: masked weights become constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.graph.export import export
from stillflow.platform import tf_logging

_MASKED = "masked_weight"


def _masked_weights(graph_def: Any) -> dict[str, Any]:
    """{name: value} of all masked weights of a frozen graph."""
    names = [node.name for node in graph_def.node if _MASKED in node.name]
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(graph_def, name="")
        with tf.Session(graph=graph) as session:
            values = {name: session.run(f"{name}:0") for name in names}
    for name, value in values.items():
        zeros = 100 - float(100 * np.count_nonzero(value)) / np.size(value)
        tf_logging.info("%s has %d values, %1.2f%% zeros \n", name, np.size(value), zeros)
    return values


@export("contrib.model_pruning.strip_pruning_vars_fn")
def strip_pruning_vars_fn(input_graph_def: Any, output_node_names: Sequence[str]) -> Any:
    """Return a frozen graph with masked weights as constants, without masks and thresholds.

    Args:
      input_graph_def: a GraphDef whose variables are constants.
      output_node_names: the nodes to compute.

    Returns:
      A GraphDef of their dependencies.
    """
    weights = _masked_weights(input_graph_def)
    stripped = tf.GraphDef()
    for node in input_graph_def.node:
        if node.name not in weights:
            stripped.node.add().CopyFrom(node)
            continue
        constant = stripped.node.add(op="Const", name=node.name)
        constant.attr["dtype"].CopyFrom(node.attr["T"])
        constant.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(weights[node.name]))
    return tf.graph_util.extract_sub_graph(stripped, output_node_names)


@export("contrib.model_pruning.graph_def_from_checkpoint")
def graph_def_from_checkpoint(checkpoint_dir: str, output_node_names: Sequence[str]) -> Any:
    """Return the graph of the last checkpoint of a folder, with its variables as constants.

    Args:
      checkpoint_dir: the folder; the graph is imported into the default one.
      output_node_names: the nodes to compute.

    Returns:
      A GraphDef of their dependencies.

    Raises:
      ValueError: if there is no checkpoint.
    """
    path = tf.train.latest_checkpoint(checkpoint_dir)
    if path is None:
        raise ValueError(f"Could not find a checkpoint at: {checkpoint_dir}.")
    saver = tf.train.import_meta_graph(f"{path}.meta", clear_devices=True)
    with tf.Session() as session:
        saver.restore(session, path)
        graph_def = tf.get_default_graph().as_graph_def()
        return tf.graph_util.convert_variables_to_constants(session, graph_def, output_node_names)
