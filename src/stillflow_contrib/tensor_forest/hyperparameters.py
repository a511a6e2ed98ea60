"""Settings of a forest, and the message that its operations carry."""

from __future__ import annotations

import math
import numbers
import random
from typing import Any

from google.protobuf import text_format

from stillflow.graph.export import export
from stillflow_contrib.ops.tensor_forest.parameters import MESSAGES
from stillflow_contrib.ops.tensor_forest.splits import TREES

_TYPES: dict[str, int] = {
    value: number
    for enum in ("LeafModelType", "StatsModelType", "SplitCollectionType",
                 "SplitFinishStrategyType", "SplitPruningStrategyType")
    for value, number in MESSAGES[enum].items()
}  # fmt: skip

# By `model_name`: the contents of leaves, and of their statistics.
CLASSIFICATION_LEAF_MODEL_TYPES = {
    "all_dense": (_TYPES["MODEL_DENSE_CLASSIFICATION"], _TYPES["STATS_DENSE_GINI"]),
    "all_sparse": (_TYPES["MODEL_SPARSE_CLASSIFICATION"], _TYPES["STATS_SPARSE_GINI"]),
    "sparse_then_dense": (
        _TYPES["MODEL_SPARSE_OR_DENSE_CLASSIFICATION"], _TYPES["STATS_SPARSE_THEN_DENSE_GINI"],
    ),
}  # fmt: skip
REGRESSION_MODEL_TYPE = (
    _TYPES["MODEL_REGRESSION"], _TYPES["STATS_LEAST_SQUARES_REGRESSION"],
    _TYPES["COLLECTION_BASIC"],
)  # fmt: skip
FINISH_TYPES = {
    "basic": _TYPES["SPLIT_FINISH_BASIC"],
    "hoeffding": _TYPES["SPLIT_FINISH_DOMINATE_HOEFFDING"],
    "bootstrap": _TYPES["SPLIT_FINISH_DOMINATE_BOOTSTRAP"],
}
PRUNING_TYPES = {
    "none": _TYPES["SPLIT_PRUNE_NONE"],
    "half": _TYPES["SPLIT_PRUNE_HALF"],
    "quarter": _TYPES["SPLIT_PRUNE_QUARTER"],
    "10_percent": _TYPES["SPLIT_PRUNE_10_PERCENT"],
    "hoeffding": _TYPES["SPLIT_PRUNE_HOEFFDING"],
}
SPLIT_TYPES = {
    "less_or_equal": TREES["InequalityTest"].LESS_OR_EQUAL,
    "less": TREES["InequalityTest"].LESS_THAN,
}


@export("contrib.tensor_forest.tensor_forest.parse_number_or_string_to_proto")
def parse_number_or_string_to_proto(proto: Any, param: Any) -> None:
    """Fill a `DepthDependentParam` message.

    Args:
      proto: the message.
      param: a number, digits, or the message as text.
    """
    if isinstance(param, numbers.Number):
        proto.constant_value = param
    elif param.isdigit():
        proto.constant_value = int(param)
    else:
        text_format.Merge(param, proto)


@export("contrib.tensor_forest.tensor_forest.build_params_proto")
def build_params_proto(params: Any) -> Any:
    """Return the `TensorForestParams` message of settings that are filled."""
    proto: Any = MESSAGES["TensorForestParams"](
        num_trees=params.num_trees, max_nodes=params.max_nodes, is_regression=params.regression,
        num_outputs=params.num_classes, num_features=params.num_features,
        leaf_type=params.leaf_model_type, stats_type=params.stats_model_type,
        collection_type=_TYPES["COLLECTION_BASIC"], inequality_test_type=params.split_type,
        drop_final_class=False, collate_examples=params.collate_examples,
        checkpoint_stats=params.checkpoint_stats,
        use_running_stats_method=params.use_running_stats_method,
        initialize_average_splits=params.initialize_average_splits,
        inference_tree_paths=params.inference_tree_paths,
    )  # fmt: skip
    proto.pruning_type.type, proto.finish_type.type = params.pruning_type, params.finish_type
    for part, value in (
        (proto.pruning_type.prune_every_samples, params.prune_every_samples),
        (proto.finish_type.check_every_steps, params.early_finish_check_every_samples),
        (proto.split_after_samples, params.split_after_samples),
        (proto.num_splits_to_consider, params.num_splits_to_consider),
    ):
        parse_number_or_string_to_proto(part, value)
    proto.dominate_fraction.constant_value = params.dominate_fraction
    if params.param_file:
        with open(params.param_file) as file:
            text_format.Merge(file.read(), proto)
    return proto


@export("contrib.tensor_forest.tensor_forest.ForestHParams")
class ForestHParams:
    """Settings of a forest; `fill` finds those that are not given.

    Args:
      num_trees: how many trees there are.
      max_nodes: how many nodes a tree may have.
      bagging_fraction: the share of the examples that a tree sees.
      num_splits_to_consider: among how many tests a leaf chooses; 0 is for the root of the number
        of features, and at least 10.
      feature_bagging_fraction: the share of the features that a tree sees.
      max_fertile_nodes, valid_leaf_threshold, dominate_method: have no effect.
      split_after_samples: how many examples a leaf has to see, a number or a
        `DepthDependentParam` message as text.
      dominate_fraction: how sure an early choice, or pruning, has to be.
      model_name: what leaves hold, "all_dense" or "all_sparse".
      split_finish_name: when a leaf may choose early: "basic" (never), "hoeffding", "bootstrap".
      split_pruning_name: which tests are given up before: "none", "half", "quarter",
        "10_percent", "hoeffding".
      prune_every_samples, early_finish_check_every_samples: how often that is looked at.
      collate_examples: whether a batch is worked off leaf by leaf.
      checkpoint_stats: whether checkpoints hold the statistics of leaves.
      use_running_stats_method: has no effect on what is chosen.
      initialize_average_splits: whether thresholds lie between examples of two classes.
      inference_tree_paths: whether predictions come with the nodes on the way to the leaf.
      param_file: a `TensorForestParams` message as text, which goes before these settings.
      split_name: "less_or_equal" or "less".
      **kwargs: others; `num_classes` and `num_features` are needed, `regression` and
        `base_random_seed` known.
    """

    num_splits_to_consider: Any
    prune_every_samples: Any
    early_finish_check_every_samples: Any

    def __init__(
        self, num_trees: int = 100, max_nodes: int = 10000, bagging_fraction: float = 1.0,
        num_splits_to_consider: Any = 0, feature_bagging_fraction: float = 1.0,
        max_fertile_nodes: int = 0, split_after_samples: Any = 250, valid_leaf_threshold: int = 1,
        dominate_method: str = "bootstrap", dominate_fraction: float = 0.99,
        model_name: str = "all_dense", split_finish_name: str = "basic",
        split_pruning_name: str = "none", prune_every_samples: Any = 0,
        early_finish_check_every_samples: Any = 0, collate_examples: bool = False,
        checkpoint_stats: bool = False, use_running_stats_method: bool = False,
        initialize_average_splits: bool = False, inference_tree_paths: bool = False,
        param_file: str | None = None, split_name: str = "less_or_equal", **kwargs: Any,
    ) -> None:  # fmt: skip
        given = dict(locals())
        del given["self"], given["kwargs"]
        self.__dict__.update(given, **kwargs)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def values(self) -> dict[str, Any]:
        """Return the settings by name."""
        return self.__dict__

    def fill(self) -> ForestHParams:
        """Find the settings that are not given.

        Raises:
          AttributeError: if `num_classes` or `num_features` is missing.
          TypeError: for an early choice, or pruning, without saying how often to look; TensorFlow
            cannot find that out either.
        """
        classes, features = self.num_classes, self.num_features
        self.bagged_num_features = int(self.feature_bagging_fraction * features)
        self.bagged_features = None
        if self.feature_bagging_fraction < 1.0:
            self.bagged_features = [
                random.sample(range(features), self.bagged_num_features)
                for _ in range(self.num_trees)
            ]
        self.regression = getattr(self, "regression", False)
        self.num_outputs = classes if self.regression else 1
        self.num_output_columns = classes + 1
        self.num_splits_to_consider = self.num_splits_to_consider or min(
            max(10, math.floor(math.sqrt(features))), 1000
        )
        self.base_random_seed = getattr(self, "base_random_seed", 0)
        self._fill_types()
        self.prune_every_samples = _how_often(
            self.pruning_type == _TYPES["SPLIT_PRUNE_NONE"], self.prune_every_samples
        )
        self.early_finish_check_every_samples = _how_often(
            self.finish_type == _TYPES["SPLIT_FINISH_BASIC"], self.early_finish_check_every_samples
        )
        self.split_type = SPLIT_TYPES[self.split_name]
        return self

    def _fill_types(self) -> None:
        if self.regression:
            kinds, finish = REGRESSION_MODEL_TYPE[:2], "basic"
        else:
            kinds = CLASSIFICATION_LEAF_MODEL_TYPES[self.model_name]
            finish = self.split_finish_name
        self.leaf_model_type, self.stats_model_type = kinds
        self.finish_type = FINISH_TYPES[finish]
        self.pruning_type = PRUNING_TYPES[self.split_pruning_name]


def _how_often(never: bool, given: Any) -> int:
    if never:
        return 0
    if not given:
        raise TypeError("isinstance expected 2 arguments, got 1")
    return given
