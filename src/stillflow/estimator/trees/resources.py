"""Ensembles of trees and quantiles of features, as parts of a graph that checkpoints hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from stillflow.graph.api import add_to_collection, control_dependencies, name_scope
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.boosted_trees import quantile_cards as quantiles
from stillflow.ops.boosted_trees import states
from stillflow.ops.control_flow.identity_and_group import identity
from stillflow.train.saveables import SaveableObject, SaveSpec
from stillflow.train.tracking.base import Trackable
from stillflow.variables.resources import register_resource


class PruningMode:
    """Pruning of splits without gain: before they are made, or afterwards."""

    NO_PRUNING, PRE_PRUNING, POST_PRUNING = range(3)
    _map: ClassVar[dict[str, int]] = {
        "none": NO_PRUNING, "pre": PRE_PRUNING, "post": POST_PRUNING,
    }  # fmt: skip

    @classmethod
    def from_str(cls, mode: str) -> int:
        """Return the number of "none", "pre" or "post".

        Raises:
          ValueError: for anything else.
        """
        if mode not in cls._map:
            raise ValueError(f"pruning_mode mode must be one of: {', '.join(sorted(cls._map))}")
        return cls._map[mode]


class _Resource(Trackable):
    """Handle of a resource, with its initializer and a check of it."""

    def __init__(self) -> None:
        self._resource_handle = self._create_resource()
        self._init_op = self._initialize()

    def _create_resource(self) -> Tensor:
        raise NotImplementedError

    def _initialize(self) -> Operation:
        raise NotImplementedError

    @property
    def resource_handle(self) -> Tensor:
        """The handle."""
        return self._resource_handle

    @property
    def initializer(self) -> Operation:
        """The operation that creates the resource."""
        return self._init_op


class QuantileAccumulatorSaveable(SaveableObject):
    """The boundaries that an accumulator has found."""

    def __init__(
        self, resource_handle: Tensor, create_op: Operation, num_streams: int, name: str
    ) -> None:
        self._resource_handle = resource_handle
        self._create_op = create_op
        boundaries = quantiles.get_bucket_boundaries_op(resource_handle, num_features=num_streams)
        specs = [
            SaveSpec(tensor, "", f"{name}_bucket_boundaries_{index}")
            for index, tensor in enumerate(boundaries)
        ]
        super().__init__(resource_handle, specs, name)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Operation:
        """Set the boundaries that were read."""
        with control_dependencies([self._create_op]):
            return quantiles.quantile_resource_deserialize_op(
                self._resource_handle, list(restored_tensors)
            )


class QuantileAccumulator(_Resource):
    """Quantiles of several features, found batch by batch.

    Args:
      epsilon: the error of ranks.
      num_streams: how many features.
      num_quantiles: how many buckets.
      name: of the resource.
      max_elements: has no effect.
    """

    def __init__(
        self, epsilon: float, num_streams: int, num_quantiles: int, name: str | None = None,
        max_elements: int | None = None,
    ) -> None:  # fmt: skip
        self._eps, self._num_streams, self._num_quantiles = epsilon, num_streams, num_quantiles
        with name_scope(name, "QuantileAccumulator") as scope:
            self._name = scope
            super().__init__()
            is_initialized = self.is_initialized()
        register_resource(self.resource_handle, self._init_op, is_initialized)
        self._saveable = QuantileAccumulatorSaveable(
            self.resource_handle, self._init_op, num_streams, self.resource_handle.name
        )
        add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self._saveable)

    def _create_resource(self) -> Tensor:
        return quantiles.quantile_handle_op(container="", shared_name=self._name, name=self._name)

    def _initialize(self) -> Operation:
        return quantiles.create_quantile_stream_resource_op(
            self._resource_handle, self._eps, self._num_streams
        )

    def is_initialized(self) -> Tensor:
        """Return True if it was made, a scalar bool."""
        return quantiles.is_quantile_resource_initialized_op(self.resource_handle)

    @property
    def saveable(self) -> SaveableObject:
        """The saveable of its state."""
        return self._saveable

    def add_summaries(self, float_columns: Sequence[Any], example_weights: Any) -> Operation:
        """Add a batch.

        Args:
          float_columns: the features' values.
          example_weights: the examples' weights, or one for all.
        """
        summaries = quantiles.make_quantile_summaries_op(float_columns, example_weights, self._eps)
        return quantiles.quantile_add_summaries_op(self.resource_handle, summaries)

    def flush(self) -> Operation:
        """Compute the boundaries, and start again."""
        return quantiles.quantile_flush_op(self.resource_handle, self._num_quantiles)

    def get_bucket_boundaries(self) -> list[Tensor]:
        """Return the boundaries of each feature; none until they are found."""
        return quantiles.get_bucket_boundaries_op(
            self.resource_handle, num_features=self._num_streams
        )


class _TreeEnsembleSavable(SaveableObject):
    """An ensemble and its stamp."""

    def __init__(self, resource_handle: Tensor, create_op: Operation, name: str) -> None:
        stamp, serialized = states.serialize_ensemble_op(resource_handle)
        specs = [
            SaveSpec(stamp, "", f"{name}_stamp"), SaveSpec(serialized, "", f"{name}_serialized"),
        ]  # fmt: skip
        super().__init__(resource_handle, specs, name)
        self._resource_handle = resource_handle
        self._create_op = create_op

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> Operation:
        """Set the state that was read."""
        with control_dependencies([self._create_op]):
            return states.deserialize_ensemble_op(self._resource_handle, *restored_tensors)


class TreeEnsemble(_Resource):
    """An ensemble of trees.

    Args:
      name: of the resource.
      stamp_token: the number of its first state.
      is_local: whether it is a copy that is neither saved nor shared.
      serialized_proto: its first state, a `TreeEnsemble` message.
    """

    def __init__(
        self, name: str, stamp_token: int = 0, is_local: bool = False, serialized_proto: Any = ""
    ) -> None:
        self._stamp_token = stamp_token
        self._serialized_proto = serialized_proto
        self._is_local = is_local
        with name_scope(name, "TreeEnsemble") as scope:
            self._name = scope
            super().__init__()
            is_initialized = self.is_initialized()
            if not is_local:
                self._saveable = _TreeEnsembleSavable(
                    self.resource_handle, self.initializer, self.resource_handle.name
                )
                add_to_collection(GraphKeys.SAVEABLE_OBJECTS, self._saveable)
            register_resource(
                self.resource_handle, self.initializer, is_initialized, is_shared=not is_local
            )

    def _create_resource(self) -> Tensor:
        return states.ensemble_handle_op(container="", shared_name=self._name, name=self._name)

    def _initialize(self) -> Operation:
        return states.create_ensemble_op(
            self._resource_handle, self._stamp_token, self._serialized_proto
        )

    def is_initialized(self) -> Tensor:
        """Return True if it was made, a scalar bool."""
        return states.is_ensemble_initialized_op(self.resource_handle)

    def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
        return {} if self._is_local else {"tree_ensemble": self._saveable}

    def get_stamp_token(self) -> Tensor:
        """Return the number of its state."""
        return states.get_ensemble_states_op(self.resource_handle)[0]

    def get_states(self) -> tuple[Tensor, ...]:
        """Stamp, numbers of trees, of finalized ones and of layers tried, nodes of the last layer.

        The nodes are a range, int32 [2].
        """
        found = states.get_ensemble_states_op(self.resource_handle)
        names = ("stamp_token", "num_trees", "num_finalized_trees", "num_attempted_layers",
                 "last_layer_nodes_range")  # fmt: skip
        return tuple(identity(each, name=name) for each, name in zip(found, names, strict=True))

    def serialize(self) -> Any:
        """Return the number of its state, and the state as a message."""
        return states.serialize_ensemble_op(self.resource_handle)

    def deserialize(self, stamp_token: Any, serialized_proto: Any) -> Operation:
        """Set another state.

        Args:
          stamp_token: the state's number.
          serialized_proto: the state, a string.
        """
        return states.deserialize_ensemble_op(self.resource_handle, stamp_token, serialized_proto)
