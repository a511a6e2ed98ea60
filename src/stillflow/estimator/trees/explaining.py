"""Contributions of features to an ensemble, and to a single prediction."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import stillflow as tf
from stillflow.estimator.mode_keys import ModeKeys
from stillflow.estimator.trees.columns import is_float, transformed_features
from stillflow.estimator.trees.model import make_parts
from stillflow.graph.arrays import Array
from stillflow.ops.boosted_trees.ensemble import MESSAGES
from stillflow.ops.boosted_trees.predicting import example_debug_outputs_op, predict_op
from stillflow.ops.control_flow.identity_and_group import no_op

if TYPE_CHECKING:
    from stillflow.estimator.spec import EstimatorSpec


# Key of the explanations in predictions.
SERIALIZED = "_serialized_debug_outputs_proto"


def feature_importances(
    serialized: bytes, names: Sequence[str], normalize: bool
) -> OrderedDict[str, float]:
    """Return the total gain of the splits by each column, the largest first.

    `serialized` is a `TreeEnsemble` message; `names` has the column of each feature. The sum of all
    is 1 if `normalize`, or AssertionError.
    """
    if not serialized:
        raise ValueError(
            "Found empty serialized string for TreeEnsemble.You should only call this method after "
            "training."
        )
    ensemble: Any = MESSAGES["TreeEnsemble"]()
    ensemble.ParseFromString(serialized)
    by_tree = np.array([_importances(tree, len(names)) for tree in ensemble.trees])
    weights = np.array(ensemble.tree_weights).reshape(-1, 1)
    importances = np.sum(by_tree * weights, axis=0)
    if normalize:
        if not np.all(importances >= 0):
            raise AssertionError("feature_importances must be non-negative.")
        total = np.sum(importances)
        if not total > 0:
            raise AssertionError("Trees are all empty or contain only a root node.")
        importances /= total
    return by_column(names, importances)


def _importances(tree: Any, count: int) -> Array:
    found = np.zeros(count)
    for node in tree.nodes:
        kind = node.WhichOneof("node")
        if kind == "bucketized_split":
            found[node.bucketized_split.feature_id] += node.metadata.gain
        elif kind != "leaf":
            raise ValueError(f"Unexpected split type {kind}")
    return found


def by_column(names: Sequence[str], values: Iterable[float]) -> OrderedDict[str, float]:
    """Return sums by column, in decreasing order of absolute value."""
    sums: dict[str, float] = {}
    for name, value in zip(names, values):
        sums[name] = sums.get(name, 0) + value
    return OrderedDict(sorted(sums.items(), key=lambda item: abs(item[1]), reverse=True))


def explained(
    serialized: bytes, names: Sequence[str], classification: bool
) -> tuple[Any, OrderedDict[str, float]]:
    """Return a prediction in a `DebugOutput` message as the bias, and each column's addition.

    `names` has the column of each feature; logits stand for probabilities in classification.
    """
    output: Any = MESSAGES["DebugOutput"]()
    output.ParseFromString(serialized)
    logits = np.array(list(output.logits_path))
    path = 1 / (1 + np.exp(-logits)) if classification else logits
    steps = path[1:] - path[:-1]
    added = np.bincount(output.feature_ids, weights=steps, minlength=len(names))
    return path[0], by_column(names, added)


def explaining_spec(
    features: Any, head: Any, columns: Sequence[Any], epsilon: float, name: str = "boosted_trees"
) -> EstimatorSpec:
    """Return the `EstimatorSpec` of predictions with explanations; `epsilon` is ranks' error."""
    with tf.name_scope(name) as scope:
        numbers = [column for column in columns if is_float(column)]
        ensemble, _, boundaries = make_parts(scope, numbers, epsilon)
        vectors = transformed_features(features, columns, boundaries)
        width = head.logits_dimension
        logits = predict_op(ensemble.resource_handle, vectors, logits_dimension=width)
        spec = head.create_estimator_spec(
            features=features, mode=ModeKeys.PREDICT, labels=None, train_op_fn=no_op,
            logits=logits,
        )  # fmt: skip
        spec.predictions[SERIALIZED] = example_debug_outputs_op(
            ensemble.resource_handle, vectors, logits_dimension=width
        )
        return spec
