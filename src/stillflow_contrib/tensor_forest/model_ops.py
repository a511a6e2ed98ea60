"""`tf.contrib.tensor_forest.model_ops`: trees."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.train.saveables import SaveableObject, SaveSpec
from stillflow_contrib.ops.tensor_forest import tree_cards as cards
from stillflow_contrib.tensor_forest.resources import ForestResource, registered


@export("contrib.tensor_forest.model_ops.TreeVariableSavable")
class TreeVariableSavable(SaveableObject):
    """Saveable of a tree.

    Args:
      params: with the message that operations carry as `serialized_params_proto`.
      tree_handle: of the tree.
      stats_handle: of its statistics, has no effect.
      create_op: the operation that creates the tree.
      name: in the checkpoint.
    """

    def __init__(
        self, params: Any, tree_handle: Tensor, stats_handle: Any, create_op: Operation, name: str
    ) -> None:
        self.params = params
        specs = [SaveSpec(cards.tree_serialize_op(tree_handle), "", name)]
        super().__init__(tree_handle, specs, name)
        self._tree_handle, self._create_op = tree_handle, create_op

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Operation:
        """Set the tree that was read."""
        params = self.params.serialized_params_proto
        with tf.control_dependencies([self._create_op]):
            return cards.tree_deserialize_op(self._tree_handle, restored_tensors[0], params=params)


@export("contrib.tensor_forest.model_ops.TreeVariable")
class TreeVariable(ForestResource):
    """A tree.

    Args:
      params: with the message that operations carry as `serialized_params_proto`.
      tree_config: the initial state, a `Model` message; an empty one is for a single leaf.
      stats_handle: of its statistics.
      name: of the handle.
      container: of the resource.
    """

    _kind = "tree_variable"
    _handle_op = staticmethod(cards.decision_tree_resource_handle_op)
    _create_op = staticmethod(cards.create_tree_variable_op)
    _is_initialized_op = staticmethod(cards.tree_is_initialized_op_op)

    def __init__(
        self, params: Any, tree_config: Any, stats_handle: Any, name: str, container: Any = None
    ) -> None:
        self._stats_handle = stats_handle
        super().__init__(params, tree_config, name, container)

    def _saveable(self, name: str) -> SaveableObject:
        return TreeVariableSavable(
            self._params, self.resource_handle, self._stats_handle, self.initializer, name
        )


@export("contrib.tensor_forest.model_ops.tree_variable")
def tree_variable(
    params: Any, tree_config: Any, stats_handle: Any, name: str | None, container: Any = None
) -> Tensor:
    """Make a tree that is initialized and saved with variables; give its handle.

    Args: as of `TreeVariable`.
    """
    with tf.name_scope(name, "TreeVariable") as scope:
        return registered(TreeVariable(params, tree_config, stats_handle, scope, container))


@export("contrib.tensor_forest.model_ops.tree_size")
def tree_size(tree_handle: Any, name: str | None = None) -> Tensor:
    """Return the number of nodes of a tree, including leaves, a scalar int32."""
    return cards.tree_size_op(tree_handle, name=name)


@export("contrib.tensor_forest.model_ops.traverse_tree_v4")
def traverse_tree_v4(
    tree_handle: Any, input_data: Any, sparse_input_indices: Any, sparse_input_values: Any,
    sparse_input_shape: Any, input_spec: Any, params: Any, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Return the leaf in which each example ends, int32 [batch].

    Args:
      tree_handle: of the tree.
      input_data: dense features, float32 [batch, features], or an empty vector.
      sparse_input_indices, sparse_input_values, sparse_input_shape: those of a sparse tensor of
        float32, or empty vectors.
      input_spec: the result of `TensorForestDataSpec.SerializeToString`.
      params: a `TensorForestParams` message, serialized.
      name: of the operation.
    """
    return cards.traverse_tree_v4_op(
        tree_handle, input_data, sparse_input_indices, sparse_input_values, sparse_input_shape,
        input_spec=input_spec, params=params, name=name,
    )  # fmt: skip


@export("contrib.tensor_forest.model_ops.tree_predictions_v4")
def tree_predictions_v4(
    tree_handle: Any, input_data: Any, sparse_input_indices: Any, sparse_input_values: Any,
    sparse_input_shape: Any, input_spec: Any, params: Any, name: str | None = None,
) -> Any:  # fmt: skip
    """Return a tree's predictions of examples.

    Args: as of `traverse_tree_v4`.

    Returns:
      Shares of classes, or means, float32 [batch, outputs]; and the paths to the leaves as
      `TreePath` messages, strings [batch], or none unless the forest asks for them.
    """
    return cards.tree_predictions_v4_op(
        tree_handle, input_data, sparse_input_indices, sparse_input_values, sparse_input_shape,
        input_spec=input_spec, params=params, name=name,
    )  # fmt: skip


@export("contrib.tensor_forest.model_ops.update_model_v4")
def update_model_v4(
    tree_handle: Any, leaf_ids: Any, input_labels: Any, input_weights: Any, params: Any,
    name: str | None = None,
) -> Operation:  # fmt: skip
    """Count examples at leaves.

    Args:
      tree_handle: of the tree.
      leaf_ids: the leaf of each example, int32 [batch].
      input_labels: the labels, float32 [batch] or [batch, outputs].
      input_weights: the weights, float32 [batch]; an empty vector is for 1.
      params: a `TensorForestParams` message, serialized.
      name: of the operation.

    Raises:
      InvalidArgumentError: when run with a label that is no class.
    """
    return cards.update_model_v4_op(
        tree_handle, leaf_ids, input_labels, input_weights, params=params, name=name
    )


@export("contrib.tensor_forest.model_ops.feature_usage_counts")
def feature_usage_counts(tree_handle: Any, params: Any, name: str | None = None) -> Tensor:
    """Return the number of a tree's tests of each feature, int32 [features].

    Args:
      tree_handle: of the tree.
      params: a `TensorForestParams` message, serialized.
      name: of the operation.
    """
    return cards.feature_usage_counts_op(tree_handle, params=params, name=name)
