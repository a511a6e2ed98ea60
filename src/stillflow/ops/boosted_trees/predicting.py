"""Predictions of an ensemble of trees."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.arrays import Array
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel, OutputDims
from stillflow.ops.boosted_trees.ensemble import MESSAGES, Ensemble
from stillflow.ops.boosted_trees.forest import Forest, blocks
from stillflow.ops.boosted_trees.resources import array, internal, refused, tensor

predict_op = op(
    """
    BoostedTreesPredict(tree_ensemble_handle: resource,
        bucketized_features: num_bucketized_features*int32) -> logits: float
    num_bucketized_features: int >= 1
    logits_dimension: int
    flags: stateful
""",
    differentiable=False,
    devices="host",
)
training_predict_op = op(
    """
    BoostedTreesTrainingPredict(tree_ensemble_handle: resource, cached_tree_ids: int32,
        cached_node_ids: int32, bucketized_features: num_bucketized_features*int32)
        -> (partial_logits: float, tree_ids: int32, node_ids: int32)
    num_bucketized_features: int >= 1
    logits_dimension: int
    flags: stateful
""",
    differentiable=False,
    devices="host",
)
example_debug_outputs_op = op(
    """
    BoostedTreesExampleDebugOutputs(tree_ensemble_handle: resource,
        bucketized_features: num_bucketized_features*int32)
        -> examples_debug_outputs_serialized: string
    num_bucketized_features: int >= 1
    logits_dimension: int
    flags: stateful
""",
    differentiable=False,
    devices="host",
)


def _examples(node: Node) -> int | None:
    """Return the number of examples, equal for features and cached predictions."""
    dims: Any = (None,)
    for index in range(1, len(node.inputs)):
        dims = dims_lib.merge(dims, dims_lib.with_rank(node.dims(index), 1))
    return dims[0]


def _features(values: Any) -> Array:
    """Return the buckets of all features, [features, examples]."""
    arrays = [array(each, "bucketized_features", 1) for each in values]
    if any(len(each) != len(arrays[0]) for each in arrays):
        raise refused("bucketized_features must have one size")
    return np.stack(arrays)


def _sum(weighted: Any) -> Array:
    """Return sums over trees, one after the other."""
    return np.cumsum(weighted, 0, dtype=np.float32)[-1]


# ---- Predict


@predict_op.shape
def predict_shape(node: Node) -> OutputDims:
    return _examples(node), node.logits_dimension


@predict_op.kernel
def predict_kernel(node: Node) -> Kernel:
    width = node.logits_dimension

    def predict(slot: Any, *features: Any) -> torch.Tensor:
        buckets = _features(features)
        with slot.lock:
            ensemble = slot.state
            result = np.zeros((buckets.shape[1], width), np.float32)
            if ensemble.num_trees <= 0:
                return tensor(result, np.float32)
            forest = ensemble.forest()
        forest.check(buckets, width)
        for block in blocks(buckets.shape[1], len(forest.roots)):
            leaves = forest.leaves(buckets[:, block], 0, 0)
            result[block] = _sum(_weighted(forest, leaves))
        return tensor(result, np.float32)

    return predict


def _weighted(forest: Forest, leaves: Any) -> Array:
    return forest.weights[:, None, None] * forest.nodes.values[leaves]


# ---- TrainingPredict


@training_predict_op.shape
def training_predict_shape(node: Node) -> OutputDims:
    examples = _examples(node)
    return [(examples, node.logits_dimension), (examples,), (examples,)]


@training_predict_op.kernel
def training_predict_kernel(node: Node) -> Kernel:
    width = node.logits_dimension

    def predict(
        slot: Any, tree_ids: Any, node_ids: Any, *features: Any
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        trees = array(tree_ids, "cached_tree_ids", 1,
                      "cached_tree_ids must be a vector, received shape ")  # fmt: skip
        nodes = array(node_ids, "cached_node_ids", 1,
                      "cached_node_ids must be a vector, received shape ")  # fmt: skip
        buckets = _features(features)
        examples = buckets.shape[1]
        if not len(trees) == len(nodes) == examples:
            raise refused(
                f"There are {examples} examples, {len(trees)} cached trees and {len(nodes)} nodes"
            )
        logits, reached = np.zeros((examples, width), np.float32), np.zeros(examples, np.int32)
        with slot.lock:
            ensemble = slot.state
            latest = ensemble.num_trees - 1
            if latest >= 0:
                ensemble.forest().check(buckets, width)
                for tree in np.unique(trees):
                    chosen = np.flatnonzero(trees == tree)
                    logits[chosen], reached[chosen] = _go_on(
                        ensemble, int(tree), nodes[chosen], buckets[:, chosen]
                    )
                trees = np.full(examples, latest)
        return tensor(logits, np.float32), tensor(trees, np.int32), tensor(reached, np.int32)

    return predict


def _go_on(ensemble: Ensemble, tree: int, nodes: Any, buckets: Any) -> tuple[Any, Any]:
    """Return the change since examples were at nodes of a tree (-1: none), and their new nodes."""
    forest = ensemble.forest()
    if not 0 <= tree < ensemble.num_trees:
        raise refused(f"cached_tree_ids has {tree}, but there are {ensemble.num_trees} trees")
    start, correction = _remembered(ensemble, tree, nodes)
    logits = np.empty((len(nodes), forest.nodes.values.shape[1]), np.float32)
    reached = np.empty(len(nodes), np.int64)
    for block in blocks(len(nodes), ensemble.num_trees - tree):
        leaves = forest.leaves(buckets[:, block], tree, start[block])
        values = forest.nodes.values[leaves]
        values[0] += correction[block]
        logits[block] = _sum(forest.weights[tree:, None, None] * values)
        reached[block] = leaves[-1] - forest.roots[-1]
    return logits, reached


def _remembered(ensemble: Ensemble, tree: int, nodes: Any) -> tuple[Any, Any]:
    """Return the nodes where examples continue, and the part already counted to subtract."""
    forest, known = ensemble.forest(), nodes >= 0
    width = forest.nodes.values.shape[1]
    correction = np.zeros((len(nodes), width), np.float32)
    start = np.where(known, nodes, 0).astype(np.int64)
    metadata = ensemble.message.tree_metadata[tree]
    pruned = metadata.post_pruned_nodes_meta
    size = len(ensemble.message.trees[tree].nodes)
    if metadata.is_finalized and len(pruned):
        _check_nodes(start, len(pruned))
        moved = np.array([each.new_node_id for each in pruned], np.int64)
        change = np.array([list(each.logit_change) for each in pruned], np.float32)
        correction[known] = change[start[known]]
        start = np.where(known, moved[start], 0)
    _check_nodes(start, size)
    at = forest.roots[tree] + start
    counted = known & forest.nodes.valued[at]
    correction[counted] -= forest.nodes.values[at[counted]]
    return start, correction


def _check_nodes(nodes: Any, size: int) -> None:
    if nodes.max(initial=0) >= size:
        raise refused(f"cached_node_ids has {nodes.max()}, but the tree has {size} nodes")


# ---- ExampleDebugOutputs


@example_debug_outputs_op.shape
def example_debug_outputs_shape(node: Node) -> OutputDims:
    return (_examples(node),)


@example_debug_outputs_op.kernel
def example_debug_outputs_kernel(node: Node) -> Kernel:
    if node.logits_dimension != 1:
        raise refused("Currently only one dimensional outputs are supported.")

    def explain(slot: Any, *features: Any) -> Array:
        buckets = _features(features)
        with slot.lock:
            ensemble = slot.state
            if ensemble.num_trees <= 0:
                raise refused("The ensemble has no trees that could be explained")
            forest = ensemble.forest()
        forest.check(buckets, 1)
        return _explained(forest, buckets)

    return explain


def _explained(forest: Forest, buckets: Any) -> Array:
    """Return a `DebugOutput` for each example: the deciding features, and the logits after each."""
    nodes, examples = forest.nodes, np.arange(buckets.shape[1])
    if not nodes.valued[0]:
        raise internal("Expected tree_logits.size() == 1, got 0")
    logit = np.full(len(examples), forest.weights[0] * nodes.values[0, 0], np.float32)
    past = np.zeros(len(examples), np.float32)
    features, logits, used = [], [logit], []
    for tree, root in enumerate(forest.roots):
        at = np.full(len(examples), root)
        while not nodes.leaf[at].all():
            inner = ~nodes.leaf[at]
            features.append(nodes.feature[at])
            at = forest.step(at, buckets, examples)
            logit = np.where(inner, forest.weights[tree] * nodes.values[at, 0], logit)
            logits.append(logit + past)
            used.append(inner)
        past = np.where((at != root) | (tree == 0), past + logit, past)
    result = np.empty(len(examples), object)
    for example in examples:
        steps = [step for step, inner in enumerate(used) if inner[example]]
        result[example] = MESSAGES["DebugOutput"](
            feature_ids=[int(features[step][example]) for step in steps],
            logits_path=[logits[0][example], *(logits[step + 1][example] for step in steps)],
        ).SerializeToString()
    return result
