"""`tf.contrib.tensor_forest.tensor_forest`: graphs that train forests and ask them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import stillflow as tf
from stillflow.contrib.framework.variables import VariableDeviceChooser
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.select import where_v2
from stillflow.platform import tf_logging as logging
from stillflow_contrib.ops.tensor_forest.parameters import MESSAGES
from stillflow_contrib.tensor_forest import data_ops, model_ops, stats_ops
from stillflow_contrib.tensor_forest.hyperparameters import (
    CLASSIFICATION_LEAF_MODEL_TYPES,
    FINISH_TYPES,
    PRUNING_TYPES,
    REGRESSION_MODEL_TYPE,
    SPLIT_TYPES,
    ForestHParams,
    build_params_proto,
    parse_number_or_string_to_proto,
)

__all__ = [
    "CLASSIFICATION_LEAF_MODEL_TYPES", "FINISH_TYPES", "PRUNING_TYPES", "REGRESSION_MODEL_TYPE",
    "SPLIT_TYPES", "ForestHParams", "ForestVariables", "RandomForestGraphs", "RandomTreeGraphs",
    "TreeVariables", "build_params_proto", "get_epoch_variable", "parse_number_or_string_to_proto",
]  # fmt: skip


@export("contrib.tensor_forest.tensor_forest.get_epoch_variable")
def get_epoch_variable() -> list[int]:
    """Return the number of the epoch that input queues count, [1]; [0] if none does."""
    for variable in tf.local_variables():
        if "limit_epochs/epoch" in variable.op.name:
            return tf.reshape(variable, [1])
    return [0]


@export("contrib.tensor_forest.tensor_forest.TreeVariables")
class TreeVariables:
    """The handles of a tree: `tree`, and `stats`, which is None but for training.

    Args:
      params: a `ForestHParams` that is filled.
      tree_num: which tree of the forest it is.
      training: whether it will grow.
      tree_config, tree_stat: the initial state, messages.
    """

    def __init__(
        self, params: Any, tree_num: int, training: bool, tree_config: Any = "", tree_stat: Any = ""
    ) -> None:
        kind = MESSAGES["TensorForestParams"]
        if not isinstance(getattr(params, "params_proto", None), kind):
            params.params_proto = build_params_proto(params)
        params.serialized_params_proto = params.params_proto.SerializeToString()
        stats, tree = (self.get_tree_name(part, tree_num) for part in ("stats", "tree"))
        self.stats: Any = (
            stats_ops.fertile_stats_variable(params, tree_stat, stats) if training else None
        )
        self.tree = model_ops.tree_variable(params, tree_config, self.stats, tree)

    def get_tree_name(self, name: str, num: int) -> str:
        """Return the name of a handle."""
        return f"{name}-{num}"


@export("contrib.tensor_forest.tensor_forest.ForestVariables")
class ForestVariables:
    """The `TreeVariables` of all trees, by number.

    Args:
      params: a `ForestHParams` that is filled.
      device_assigner: says where each tree is.
      training: whether they will grow.
      tree_variables_class: makes the variables of a tree.
      tree_configs, tree_stats: the initial state, messages for each tree.
    """

    def __init__(
        self, params: Any, device_assigner: Any, training: bool = True,
        tree_variables_class: Any = TreeVariables, tree_configs: Any = None, tree_stats: Any = None,
    ) -> None:  # fmt: skip
        self.variables: list[Any] = []
        self.device_dummies: list[Any] = []  # all that belongs to a tree is where its variable is
        with tf.device(device_assigner):
            for number in range(params.num_trees):
                self.device_dummies.append(tf.get_variable(name=f"device_dummy_{number}", shape=0))
        for number in range(params.num_trees):
            begun = {}
            if tree_configs is not None:
                begun["tree_config"] = tree_configs[number]
            if tree_stats is not None:
                begun["tree_stat"] = tree_stats[number]
            with tf.device(self.device_dummies[number].device):
                self.variables.append(tree_variables_class(params, number, training, **begun))

    def __setitem__(self, t: int, val: Any) -> None:
        self.variables[t] = val

    def __getitem__(self, t: int) -> TreeVariables:
        return self.variables[t]


def _random_rows(count: Any, share: float, seed: int) -> Tensor:
    """Return the numbers of some of `count` rows, each drawn with the probability `share`."""
    drawn = tf.random_uniform(count, seed=seed)
    is_drawn = tf.less(drawn, tf.ones_like(drawn) * share)
    return tf.squeeze(where_v2(is_drawn), axis=[1])


@export("contrib.tensor_forest.tensor_forest.RandomForestGraphs")
class RandomForestGraphs:
    """Graphs of a forest.

    Args:
      params: a `ForestHParams` that is filled.
      tree_configs, tree_stats: the initial state, messages for each.
      device_assigner: says where each tree is.
      variables: a `ForestVariables`, if there is one already.
      tree_variables_class: makes the variables of a tree.
      tree_graphs: what builds graphs of a tree, `RandomTreeGraphs` if None.
      training: whether the trees will grow.
    """

    def __init__(
        self, params: Any, tree_configs: Any = None, tree_stats: Any = None,
        device_assigner: Any = None, variables: Any = None,
        tree_variables_class: Any = TreeVariables, tree_graphs: Any = None, training: bool = True,
    ) -> None:  # fmt: skip
        self.params, self.device_assigner = params, device_assigner or VariableDeviceChooser()
        for message in ("Constructing forest with params = ", params.__dict__):
            logging.info(message)
        self.variables = variables or ForestVariables(
            params, self.device_assigner, training, tree_variables_class, tree_configs, tree_stats
        )
        graphs = tree_graphs or RandomTreeGraphs
        numbers = range(params.num_trees)
        self.trees: list[Any] = [
            graphs(self.variables[number], params, number) for number in numbers
        ]

    def _of_trees(self, build: Callable[[int], Any], numbers: range | None = None) -> list[Any]:
        """Return what `build` makes for the number of each tree, on the tree's device."""
        built = []
        for number in range(self.params.num_trees) if numbers is None else numbers:
            with tf.device(self.variables.device_dummies[number].device):
                built.append(build(number))
        return built

    def _bag_features(self, tree_num: int, input_data: Any) -> Tensor:
        """Return the features that a tree sees."""
        parts = tf.split(value=input_data, num_or_size_splits=self.params.num_features, axis=1)
        return tf.concat([parts[number] for number in self.params.bagged_features[tree_num]], 1)

    def _features_of(self, tree_num: int, dense: Any, sparse: Any) -> Tensor | None:
        if not self.params.bagged_features:
            return dense
        if sparse is not None:
            raise NotImplementedError("Feature bagging not supported with sparse features.")
        return self._bag_features(tree_num, dense)

    def _bag_examples(self, dense: Any, labels: Any, seed: int) -> tuple[Tensor, Tensor]:
        """Return the examples that a tree sees."""
        count = tf.strided_slice(tf.shape(dense), [0], [1])
        rows = _random_rows(count, self.params.bagging_fraction, seed)
        return tf.gather(dense, rows), tf.gather(labels, rows)

    def get_all_resource_handles(self) -> list[Any]:
        """Return the handles of all trees, then those of all statistics."""
        found = self.variables.variables[: len(self.trees)]
        return [each.tree for each in found] + [each.stats for each in found]

    def training_graph(
        self, input_data: Any, input_labels: Any, num_trainers: int = 1, trainer_id: int = 0,
        **tree_kwargs: Any,
    ) -> Operation:  # fmt: skip
        """Return a step of training.

        Args:
          input_data: features, a tensor or tensors by name.
          input_labels: their labels.
          num_trainers: number of trainers that divide the trees.
          trainer_id: which of them this is.
          **tree_kwargs: for `RandomTreeGraphs.training_graph`.

        Raises:
          NotImplementedError: for shares of examples or features if there are sparse features.
        """
        dense, sparse, spec = data_ops.ParseDataTensorOrDict(input_data)
        labels = None
        if input_labels is not None:
            labels = data_ops.ParseLabelTensorOrDict(input_labels)

        def grow(number: int) -> Any:
            seed = self.params.base_random_seed
            seed += number if seed != 0 else 0
            tree_data, tree_labels = dense, labels
            if self.params.bagging_fraction < 1.0:
                if sparse is not None:
                    raise NotImplementedError("Bagging not supported with sparse features.")
                tree_data, tree_labels = self._bag_examples(dense, labels, seed)
            tree_data = self._features_of(number, tree_data, sparse)
            return self.trees[number].training_graph(
                tree_data, tree_labels, seed, data_spec=spec, sparse_features=sparse, **tree_kwargs
            )

        share = self.params.num_trees / num_trainers
        numbers = range(int(trainer_id * share), int((trainer_id + 1) * share))
        grown = self._of_trees(grow, numbers)
        return tf.group(*grown, name="train")

    def inference_graph(self, input_data: Any, **inference_args: Any) -> tuple[Any, Any, Any]:
        """Return the forest's predictions.

        Args:
          input_data: features as in training.
          **inference_args: for `RandomTreeGraphs.inference_graph`.

        Returns:
          Means over trees [batch, outputs], the paths through each tree [batch, trees], and the
          variance over trees [batch, outputs].

        Raises:
          NotImplementedError: for shares of features if there are sparse ones.
        """
        dense, sparse, spec = data_ops.ParseDataTensorOrDict(input_data)
        count = self.params.num_trees

        def predict(number: int) -> Any:
            return self.trees[number].inference_graph(
                self._features_of(number, dense, sparse), spec, sparse_features=sparse,
                **inference_args,
            )  # fmt: skip

        predictions, paths = zip(*self._of_trees(predict), strict=True)
        with tf.device(self.variables.device_dummies[0].device):
            of_trees = tf.stack(predictions, axis=1)
            means = tf.div(tf.reduce_sum(of_trees, 1), count, name="probabilities")
            tree_paths = tf.stack(paths, axis=1)
            square_means = tf.div(tf.reduce_sum(of_trees * of_trees, 1), count)
            return means, tree_paths, tf.maximum(0.0, square_means - means * means)

    def average_size(self) -> Tensor:
        """Return the mean number of nodes of a tree, a scalar float32."""
        sizes = tf.stack(self._of_trees(lambda number: self.trees[number].size()))
        return tf.reduce_mean(tf.cast(sizes, tf.float32))

    def training_loss(self, features: Any, labels: Any, name: str = "training_loss") -> Tensor:
        """Return minus the forest's size; features and labels have no effect."""
        return tf.negative(self.average_size(), name=name)

    def validation_loss(self, features: Any, labels: Any) -> Tensor:
        """Return minus the forest's size; features and labels have no effect."""
        return tf.negative(self.average_size())

    def average_impurity(self) -> Tensor:
        """Return the mean over trees of their `average_impurity`.

        Those here have none.
        """
        impurities = self._of_trees(lambda number: self.trees[number].average_impurity())
        return tf.reduce_mean(tf.stack(impurities))

    def feature_importances(self) -> Tensor:
        """Return the share of tests that each feature has, float64 [features]."""
        counts = [tree.feature_usage_counts() for tree in self.trees[: self.params.num_trees]]
        total = tf.reduce_sum(tf.stack(counts, 0), 0)
        return total / tf.reduce_sum(total)


@export("contrib.tensor_forest.tensor_forest.RandomTreeGraphs")
class RandomTreeGraphs:
    """Graphs of a tree.

    Args:
      variables: its `TreeVariables`.
      params: a `ForestHParams` that is filled.
      tree_num: which tree of the forest it is.
    """

    def __init__(self, variables: Any, params: Any, tree_num: int) -> None:
        self.variables, self.params, self.tree_num = variables, params, tree_num

    def training_graph(
        self, input_data: Any, input_labels: Any, random_seed: int, data_spec: Any,
        sparse_features: Any = None, input_weights: Any = None,
    ) -> Operation:  # fmt: skip
        """Return a step of training.

        Args:
          input_data: dense features, float32 [batch, features], or None.
          input_labels: the labels, float32 [batch] or [batch, outputs].
          random_seed: of the tests that are drawn; 0 is for others at every step.
          data_spec: a `TensorForestDataSpec`.
          sparse_features: a sparse tensor of float32, or None.
          input_weights: the weights, float32 [batch]; None is for 1.
        """
        tf.cast(get_epoch_variable(), tf.int32)  # nobody looks at it, but the graph has it
        weights = [] if input_weights is None else input_weights
        features = _features(input_data, sparse_features)
        spec, params = data_spec.SerializeToString(), self.params.serialized_params_proto
        tree, stats = self.variables.tree, self.variables.stats
        leaves = model_ops.traverse_tree_v4(tree, *features, input_spec=spec, params=params)
        update = model_ops.update_model_v4(tree, leaves, input_labels, weights, params=params)
        finished = stats_ops.process_input_v4(
            tree, stats, *features, input_labels, weights, leaves, input_spec=spec,
            random_seed=random_seed, params=params,
        )  # fmt: skip
        with tf.control_dependencies([update]):
            return stats_ops.grow_tree_v4(tree, stats, finished, params=params)

    def inference_graph(self, input_data: Any, data_spec: Any, sparse_features: Any = None) -> Any:
        """Return the tree's predictions: see `model_ops.tree_predictions_v4`.

        Args:
          input_data: dense features, float32 [batch, features], or None.
          data_spec: a `TensorForestDataSpec`.
          sparse_features: a sparse tensor of float32, or None.
        """
        return model_ops.tree_predictions_v4(
            self.variables.tree, *_features(input_data, sparse_features),
            input_spec=data_spec.SerializeToString(), params=self.params.serialized_params_proto,
        )  # fmt: skip

    def size(self) -> Tensor:
        """Return the number of nodes, a scalar int32."""
        return model_ops.tree_size(self.variables.tree)

    def feature_usage_counts(self) -> Tensor:
        """Return the number of tests of each feature, int32 [features]."""
        return model_ops.feature_usage_counts(
            self.variables.tree, params=self.params.serialized_params_proto
        )


def _features(dense: Any, sparse: Any) -> tuple[Any, Any, Any, Any]:
    """Return features as operations take them, with empty vectors for missing ones."""
    if sparse is None:
        return ([] if dense is None else dense), [], [], []
    return ([] if dense is None else dense), sparse.indices, sparse.values, sparse.dense_shape
