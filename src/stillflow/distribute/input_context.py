"""Context of input functions: the place of their pipelines."""

from __future__ import annotations

import enum

from stillflow.graph.export import export


@export("distribute.InputReplicationMode")
class InputReplicationMode(enum.Enum):
    """Replication of input pipelines: one for each worker."""

    PER_WORKER = "PER_WORKER"


@export("distribute.InputContext")
class InputContext:
    """Context of an input function: the place of its pipeline."""

    def __init__(
        self,
        num_input_pipelines: int = 1,
        input_pipeline_id: int = 0,
        num_replicas_in_sync: int = 1,
    ) -> None:
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """Return a replica's share of a batch.

        Raises:
          ValueError: if the batch cannot be shared evenly.
        """
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size!r} is not divisible by "
                f"`num_replicas_in_sync` {self.num_replicas_in_sync!r} "
            )
        return global_batch_size // self.num_replicas_in_sync
