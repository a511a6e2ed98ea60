"""Internal names of boosted trees that have an equivalent of our own."""

from __future__ import annotations

from stillflow.facade.tree_operations import NAMES

_TREES = "stillflow.estimator.trees"

OBJECTS: dict[str, dict[str, str]] = {
    "tensorflow.python.estimator.canned.boosted_trees": {
        "*": f"{_TREES}.estimators {_TREES}.hooks",
    },
    "tensorflow.python.ops.boosted_trees_ops": {
        **{name: f"stillflow.facade.tree_operations:{name}" for name in NAMES},
        "*": f"{_TREES}.resources",
    },
}
