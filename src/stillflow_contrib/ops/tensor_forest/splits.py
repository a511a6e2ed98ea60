"""Tests of one feature that send an example to the left or to the right."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stillflow.graph.arrays import Array
from stillflow.ops.boosted_trees.resources import refused
from stillflow.protos import file
from stillflow_contrib.ops.tensor_forest.examples import CATEGORICAL, FLOAT, Examples

TREES = file("tensorflow/contrib/decision_trees/proto/generic_tree_model.proto")
_EXTENSIONS = file("tensorflow/contrib/decision_trees/proto/generic_tree_model_extensions.proto")

# The numbers of `InequalityTest.Type`, and one for categories.
_COMPARISONS = (np.less_equal, np.less, np.greater_equal, np.greater, np.equal)
_EQUAL = 4

ROW = np.dtype([("feature", np.int64), ("threshold", np.float32), ("kind", np.int64)])


class Split(NamedTuple):
    """A test; who passes it goes to the left.

    Attributes:
      feature: its number.
      threshold: what its value is compared with, float32.
      kind: how, a number of `_COMPARISONS`.
    """

    feature: int
    threshold: Any
    kind: int

    @property
    def is_inequality(self) -> bool:
        """True if numbers are compared, not categories."""
        return self.kind != _EQUAL

    def write(self, node: Any) -> None:
        """Put the test into a `BinaryNode`."""
        if self.is_inequality:
            test = node.inequality_left_child_test
            test.feature_id.id.value = str(self.feature)
            test.threshold.float_value = self.threshold
            test.type = self.kind
            return
        test = _EXTENSIONS["MatchingValuesTest"]()
        test.feature_id.id.value = str(self.feature)
        test.value.add().float_value = self.threshold
        node.custom_left_child_test.Pack(test)


def split_of(feature: int, threshold: Any, data: int, comparison: int) -> Split:
    """Return the test that an example suggests; InvalidArgumentError for another kind."""
    if data not in (FLOAT, CATEGORICAL):
        raise refused(f"Unknown feature type {data}, not sure which node type to use.")
    return Split(feature, threshold, comparison if data == FLOAT else _EQUAL)


def splits_of(features: Any, thresholds: Any, data: Any, comparison: int) -> Array:
    """Return the tests that examples suggest, of `ROW` [n]; InvalidArgumentError as `split_of`."""
    for other in sorted({*np.unique(data).tolist()} - {FLOAT, CATEGORICAL}):
        split_of(0, 0, other, comparison)
    found = np.empty(len(features), ROW)
    found["feature"], found["threshold"] = features, thresholds
    found["kind"] = np.where(data == FLOAT, comparison, _EQUAL)
    return found


def read_split(node: Any) -> Split:
    """Return the test in a `BinaryNode`; InvalidArgumentError for tests that do not grow here."""
    if node.HasField("inequality_left_child_test"):
        test = node.inequality_left_child_test
        if test.HasField("oblique"):
            raise refused("Tests of sums of features are not supported in forests")
        kind, threshold = test.type, test.threshold
    else:
        test = _EXTENSIONS["MatchingValuesTest"]()
        if not node.custom_left_child_test.Unpack(test):
            raise refused(f"Unknown split test: {node}")
        if len(test.value) != 1 or test.inverse:
            raise refused("Tests of several categories are not supported in forests")
        kind, threshold = _EQUAL, test.value[0]
    number = test.feature_id.id.value
    if not number.isdigit():
        raise refused(f"Invalid feature ID: [{number}]")
    return Split(int(number), np.float32(threshold.float_value), kind)


def passes(examples: Examples, places: Any, tests: Any) -> Array:
    """Return True where each example passes its own test, bool [n]; `tests` is of `ROW` [n]."""
    values = examples.values(places, tests["feature"])
    return _compared(values, tests["threshold"], tests["kind"])


def passes_each(examples: Examples, places: Any, tests: Any) -> Array:
    """Return True where examples pass their tests, bool [n, tests]; `tests` has that shape."""
    values = examples.values(places[:, None], tests["feature"])
    return _compared(values, tests["threshold"], tests["kind"])


def _compared(values: Any, thresholds: Any, kinds: Any) -> Array:
    if not values.size:
        return np.zeros(values.shape, bool)
    if kinds.min() == kinds.max():
        return _COMPARISONS[int(kinds.flat[0])](values, thresholds)
    present = np.unique(kinds)
    results = [_COMPARISONS[int(kind)](values, thresholds) for kind in present]
    return np.select([kinds == kind for kind in present], results, False)
