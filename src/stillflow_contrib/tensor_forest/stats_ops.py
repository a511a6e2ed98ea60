"""`tf.contrib.tensor_forest.stats_ops`: statistics of the leaves of trees, and growth."""

from __future__ import annotations

from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.train.saveables import SaveableObject, SaveSpec
from stillflow_contrib.ops.tensor_forest import growth_cards as cards
from stillflow_contrib.tensor_forest.resources import ForestResource, registered


@export("contrib.tensor_forest.stats_ops.FertileStatsVariableSavable")
class FertileStatsVariableSavable(SaveableObject):
    """Saveable of statistics.

    Args:
      params: with the message that operations carry as `serialized_params_proto`.
      stats_handle: of the statistics.
      create_op: the operation that creates them.
      name: in the checkpoint.
    """

    def __init__(self, params: Any, stats_handle: Tensor, create_op: Operation, name: str) -> None:
        self.params = params
        stored = cards.fertile_stats_serialize_op(
            stats_handle, params=params.serialized_params_proto
        )
        super().__init__(stats_handle, [SaveSpec(stored, "", name)], name)
        self._stats_handle, self._create_op = stats_handle, create_op

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Operation:
        """Set the statistics that were read."""
        params = self.params.serialized_params_proto
        with tf.control_dependencies([self._create_op]):
            return cards.fertile_stats_deserialize_op(
                self._stats_handle, restored_tensors[0], params=params
            )


@export("contrib.tensor_forest.stats_ops.FertileStatsVariable")
class FertileStatsVariable(ForestResource):
    """The statistics of the leaves of a tree.

    Args:
      params: with the message that operations carry as `serialized_params_proto`.
      stats_config: the initial state, a `FertileStats` message, or an empty one.
      name: of the handle.
      container: of the resource.
    """

    _kind = "fertile_stats_variable"
    _handle_op = staticmethod(cards.fertile_stats_resource_handle_op)
    _create_op = staticmethod(cards.create_fertile_stats_variable_op)
    _is_initialized_op = staticmethod(cards.fertile_stats_is_initialized_op_op)

    def __init__(self, params: Any, stats_config: Any, name: str, container: Any = None) -> None:
        super().__init__(params, stats_config, name, container)

    def _saveable(self, name: str) -> SaveableObject:
        return FertileStatsVariableSavable(
            self._params, self.resource_handle, self.initializer, name
        )


@export("contrib.tensor_forest.stats_ops.fertile_stats_variable")
def fertile_stats_variable(
    params: Any, stats_config: Any, name: str | None, container: Any = None
) -> Tensor:
    """Make statistics that are initialized and saved with variables; give their handle.

    Args: as of `FertileStatsVariable`.
    """
    with tf.name_scope(name, "FertileStatsVariable") as scope:
        return registered(FertileStatsVariable(params, stats_config, scope, container))


@export("contrib.tensor_forest.stats_ops.process_input_v4")
def process_input_v4(
    tree_handle: Any, stats_handle: Any, input_data: Any, sparse_input_indices: Any,
    sparse_input_values: Any, sparse_input_shape: Any, input_labels: Any, input_weights: Any,
    leaf_ids: Any, random_seed: int, input_spec: Any, params: Any, name: str | None = None,
) -> Tensor:  # fmt: skip
    """Add a batch to statistics.

    Args:
      tree_handle, stats_handle: of the tree and of its statistics.
      input_data: dense features, float32 [batch, features], or an empty vector.
      sparse_input_indices, sparse_input_values, sparse_input_shape: those of a sparse tensor of
        float32, or empty vectors.
      input_labels: the labels, float32 [batch] or [batch, outputs].
      input_weights: the weights, float32 [batch]; an empty vector is for 1.
      leaf_ids: the leaf of each example, int32 [batch].
      random_seed: of the tests that are drawn; 0 is for others at every step.
      input_spec: the result of `TensorForestDataSpec.SerializeToString`.
      params: a `TensorForestParams` message, serialized.
      name: of the operation.

    Returns:
      The leaves that have seen enough to grow, int32 [n].
    """
    return cards.process_input_v4_op(
        tree_handle, stats_handle, input_data, sparse_input_indices, sparse_input_values,
        sparse_input_shape, input_labels, input_weights, leaf_ids, random_seed=random_seed,
        input_spec=input_spec, params=params, name=name,
    )  # fmt: skip


@export("contrib.tensor_forest.stats_ops.grow_tree_v4")
def grow_tree_v4(
    tree_handle: Any, stats_handle: Any, finished_nodes: Any, params: Any, name: str | None = None
) -> Operation:
    """Put the best tests at leaves, each of which gets two leaves below it.

    Args:
      tree_handle, stats_handle: of the tree and of its statistics.
      finished_nodes: the leaves, int32 [n].
      params: a `TensorForestParams` message, serialized.
      name: of the operation.
    """
    return cards.grow_tree_v4_op(
        tree_handle, stats_handle, finished_nodes, params=params, name=name
    )


@export("contrib.tensor_forest.stats_ops.finalize_tree")
def finalize_tree(
    tree_handle: Any, stats_handle: Any, params: Any, name: str | None = None
) -> Operation:
    """Make shares of the counts at leaves; of TensorFlow's only that of regression runs.

    Args:
      tree_handle, stats_handle: of the tree and of its statistics.
      params: a `TensorForestParams` message, serialized.
      name: of the operation.
    """
    return cards.finalize_tree_op(tree_handle, stats_handle, params=params, name=name)
