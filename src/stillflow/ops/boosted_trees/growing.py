"""Growth of ensembles of trees: new layers, and the bias of the first leaf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.graph import dims as dims_lib
from stillflow.graph.card import op
from stillflow.graph.lazy import torch
from stillflow.graph.node import Node
from stillflow.graph.parts import Kernel
from stillflow.ops.boosted_trees.ensemble import SPLIT_TYPES, TOLERANCE, Candidate
from stillflow.ops.boosted_trees.gains import weights_and_gains
from stillflow.ops.boosted_trees.resources import array, internal, number, scalar_shape, tensor
from stillflow.ops.io.stored import to_stored

update_ensemble_op = op(
    """
    BoostedTreesUpdateEnsemble(tree_ensemble_handle: resource, feature_ids: int32,
        node_ids: num_features*int32, gains: num_features*float, thresholds: num_features*int32,
        left_node_contribs: num_features*float, right_node_contribs: num_features*float,
        max_depth: int32, learning_rate: float)
    pruning_mode: int >= 0
    num_features: int >= 0
    flags: stateful
""",
    differentiable=False,
    devices="host",
)
update_ensemble_v2_op = op(
    """
    BoostedTreesUpdateEnsembleV2(tree_ensemble_handle: resource, feature_ids: int32,
        dimension_ids: num_features*int32, node_ids: num_features*int32,
        gains: num_features*float, thresholds: num_features*int32,
        left_node_contribs: num_features*float, right_node_contribs: num_features*float,
        split_types: num_features*string, max_depth: int32, learning_rate: float,
        pruning_mode: int32)
    num_features: int >= 0
    flags: stateful
""",
    differentiable=False,
    devices="host",
)
center_bias_op = op(
    """
    BoostedTreesCenterBias(tree_ensemble_handle: resource, mean_gradients: float,
        mean_hessians: float, l1: float, l2: float) -> continue_centering: bool
    flags: stateful
""",
    differentiable=False,
    devices="host",
)

# The lists of both versions, with the rank of their elements; the order is that of the newer.
_LISTS = (
    ("dimension_id", 1), ("node_id", 1), ("gain", 1), ("threshold", 1), ("left_node_contrib", 2),
    ("right_node_contrib", 2), ("split_type", 1),
)  # fmt: skip
_OLD_LISTS = _LISTS[1:6]


def _check(node: Node, lists: Sequence[tuple[str, int]]) -> None:
    count = node.num_features
    dims_lib.merge(dims_lib.with_rank(node.dims(1), 1), (count,))
    names = [name for name, _ in lists]
    for feature in range(count):
        at = {name: 2 + place * count + feature for place, name in enumerate(names)}
        size = dims_lib.dim(dims_lib.with_rank(node.dims(at["node_id"]), 1), 0)
        for name, rank in lists:
            dims = dims_lib.with_rank(node.dims(at[name]), rank)
            if name not in ("dimension_id", "node_id"):
                dims_lib.merge(dims, (size, 1)[:rank])


@update_ensemble_op.check
def update_ensemble_check(node: Node) -> None:
    _check(node, _OLD_LISTS)


@update_ensemble_v2_op.check
def update_ensemble_v2_check(node: Node) -> None:
    _check(node, _LISTS)


@update_ensemble_op.kernel
def update_ensemble_kernel(node: Node) -> Kernel:
    count, pruning = node.num_features, node.pruning_mode

    def update(slot: Any, feature_ids: Any, *rest: Any) -> None:
        lists = _read(rest, count, _OLD_LISTS)
        same = [np.zeros(len(each), np.int32) for each in lists[0]]
        kinds = [[SPLIT_TYPES[0].encode()] * len(each) for each in lists[0]]
        _update(slot, feature_ids, [same, *lists, kinds], rest[-2:], pruning)

    return update


@update_ensemble_v2_op.kernel
def update_ensemble_v2_kernel(node: Node) -> Kernel:
    count = node.num_features

    def update(slot: Any, feature_ids: Any, *rest: Any) -> None:
        pruning = int(number(rest[-1], "pruning_mode"))
        _update(slot, feature_ids, _read(rest, count, _LISTS), rest[-3:-1], pruning)

    return update


def _read(values: Sequence[Any], count: int, lists: Sequence[tuple[str, int]]) -> list[Any]:
    return [
        [
            array(values[place * count + feature], name, rank, _refusal(name, rank))
            for feature in range(count)
        ]
        for place, (name, rank) in enumerate(lists)
    ]


def _refusal(name: str, rank: int) -> str:
    kind = "vector" if rank == 1 else "matrix"
    if rank == 2:
        return f"Each {name}s in {name}s_list must be a {kind}, received shape "
    return f"Each {name} in {name}s_list must be a {kind}, received shape "


def _update(slot: Any, feature_ids: Any, lists: Any, settings: Any, pruning: int) -> None:
    features = array(feature_ids, "feature_ids", 1,
                     "feature_ids must be a vector, received shape ")  # fmt: skip
    max_depth = int(number(settings[0], "max_depth"))
    rate = number(settings[1], "learning_rate")
    with slot.lock:
        ensemble = slot.state
        ensemble.stamp += 1
        ensemble.grow(_best(features.tolist(), lists, rate), max_depth, pruning)


def _best(features: list[int], lists: Any, rate: Any) -> dict[int, Candidate]:
    """Return the best split of each node; of equally good ones that of the first feature."""
    best: dict[int, Candidate] = {}
    for place, feature in enumerate(features):
        dimensions, nodes, gains, thresholds, left, right, kinds = (
            values[place] for values in lists
        )
        rows = zip(
            *(values.tolist() for values in (dimensions, nodes, gains, thresholds)),
            rate * left[:, 0], rate * right[:, 0], kinds, strict=True,
        )  # fmt: skip
        for dimension, node, gain, threshold, to_left, to_right, kind in rows:
            known = best.get(node)
            if known is not None and abs(gain - known.gain) < TOLERANCE:
                if feature >= known.feature:
                    continue
            elif known is not None and not gain - known.gain >= TOLERANCE:
                continue
            name = kind.decode()
            if name not in SPLIT_TYPES:
                raise internal("Parse failed")
            best[node] = Candidate(feature, dimension, gain, threshold, to_left, to_right, name)
    return best


# ---- the bias


@center_bias_op.check
def center_bias_check(node: Node) -> None:
    gradients = dims_lib.with_rank(node.dims(1), 2)
    dims_lib.merge(gradients, dims_lib.with_rank(node.dims(2), 2))
    dims_lib.with_rank(node.dims(3), 0)
    dims_lib.with_rank(node.dims(4), 0)


center_bias_op.shape(scalar_shape)


@center_bias_op.kernel
def center_bias_kernel(node: Node) -> Kernel:
    def center(slot: Any, gradients: Any, hessians: Any, l1: Any, l2: Any) -> torch.Tensor:
        l1, l2 = number(l1, "l1"), number(l2, "l2")
        width = gradients.shape[1]
        if width != 1:
            raise internal(f"Expected logits_dim == 1, got {width}")
        means = to_stored(gradients)[0], to_stored(hessians)[0]
        weights, _ = weights_and_gains(*means, l1, l2)
        with slot.lock:
            slot.state.stamp += 1
            return tensor(slot.state.center(weights[0]), np.bool_)

    return center
