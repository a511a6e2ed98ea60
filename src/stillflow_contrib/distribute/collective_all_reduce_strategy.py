"""The older `MultiWorkerMirroredStrategy`, which counts GPUs."""

from __future__ import annotations

from stillflow.distribute.strategy import Strategy
from stillflow.graph.export import export
from stillflow_contrib.distribute.collective import (
    CollectiveAllReduceExtended,
    CollectiveCommunication,
)
from stillflow_contrib.distribute.parameter_server_strategy import resolver_of_tf_config


@export("contrib.distribute.CollectiveAllReduceStrategy")
class CollectiveAllReduceStrategy(Strategy):
    """Copies of variables at each of several workers, which make their steps together.

    Args:
      num_gpus_per_worker: how many GPUs of each worker replicas run on; 0 for its CPU.
      communication: a `CollectiveCommunication`.
    """

    def __init__(
        self, num_gpus_per_worker: int = 0,
        communication: CollectiveCommunication = CollectiveCommunication.AUTO,
    ) -> None:  # fmt: skip
        resolver = resolver_of_tf_config(num_gpus_per_worker)
        super().__init__(CollectiveAllReduceExtended(self, communication, resolver))
