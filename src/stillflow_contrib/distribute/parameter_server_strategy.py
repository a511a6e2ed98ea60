"""The older `ParameterServerStrategy`, which counts GPUs and reads TF_CONFIG at once."""

from __future__ import annotations

from stillflow.distribute.cluster_resolver.base import SimpleClusterResolver
from stillflow.distribute.cluster_resolver.tf_config import TFConfigClusterResolver
from stillflow.distribute.parameter_server import ParameterServerExtended
from stillflow.distribute.strategy import Strategy
from stillflow.graph.export import export
from stillflow_contrib.distribute.batches import BatchesOfReplicas


def resolver_of_tf_config(num_gpus_per_worker: int | None) -> SimpleClusterResolver:
    """Return the cluster and task of TF_CONFIG, with some number of GPUs at each worker."""
    found = TFConfigClusterResolver()
    return SimpleClusterResolver(
        found.cluster_spec(), task_type=found.task_type, task_id=found.task_id,
        num_accelerators={"GPU": num_gpus_per_worker}, rpc_layer=found.rpc_layer,
    )  # fmt: skip


class ParameterServerStrategyExtended(BatchesOfReplicas, ParameterServerExtended):
    """Extension of the newer strategy, for batches of one replica each."""

    def __init__(self, container_strategy: Strategy, num_gpus_per_worker: int) -> None:
        super().__init__(container_strategy, resolver_of_tf_config(num_gpus_per_worker))


@export("contrib.distribute.ParameterServerStrategy")
class ParameterServerStrategy(Strategy):
    """Variables on parameter servers, which workers change each at its own pace.

    Args:
      num_gpus_per_worker: how many GPUs of each worker replicas run on; 0 for its CPU.

    Raises:
      ValueError: if TF_CONFIG names a cluster without parameter servers, or no task of it.
    """

    def __init__(self, num_gpus_per_worker: int = 0) -> None:
        super().__init__(ParameterServerStrategyExtended(self, num_gpus_per_worker))
