"""The cluster that the tasks of a Slurm job make."""

from __future__ import annotations

import os
import subprocess
from typing import Any

from stillflow.distribute.cluster_resolver.base import ClusterResolver
from stillflow.graph.export import export
from stillflow.train.cluster_spec import ClusterSpec


@export(
    "distribute.cluster_resolver.SlurmClusterResolver",
    "contrib.cluster_resolver.SlurmClusterResolver",
)
class SlurmClusterResolver(ClusterResolver):
    """Resolver of the processes that Slurm (or mpirun) started.

    Args:
      jobs: how many tasks each job has.
      port_base: the port of the first task of each machine; the others' follow.
      gpus_per_node: how many GPUs a machine has.
      gpus_per_task: how many of them a task gets.
      tasks_per_node: how many tasks a machine runs; SLURM_NTASKS_PER_NODE if None.
      auto_set_gpu: whether `cluster_spec` sets CUDA_VISIBLE_DEVICES to the GPUs of this task.
      rpc_layer: the protocol of targets.

    Raises:
      RuntimeError: if there are not as many GPUs or tasks, or their number is unknown.
    """

    def __init__(
        self,
        jobs: dict[str, int],
        port_base: int = 8888,
        gpus_per_node: int = 1,
        gpus_per_task: int = 1,
        tasks_per_node: int | None = None,
        auto_set_gpu: bool = True,
        rpc_layer: str = "grpc",
    ) -> None:
        names = "SLURM_PROCID", "SLURM_NTASKS"
        if "OMPI_COMM_WORLD_RANK" in os.environ:
            names = "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"
        self._rank, count = (int(os.environ[name]) for name in names)
        if tasks_per_node is None:
            if "SLURM_NTASKS_PER_NODE" not in os.environ:
                raise RuntimeError("Neither `tasks_per_node` or SLURM_NTASKS_PER_NODE is set.")
            tasks_per_node = int(os.environ["SLURM_NTASKS_PER_NODE"])
        if tasks_per_node * gpus_per_task > gpus_per_node:
            raise RuntimeError("Requested more GPUs per node then available.")
        if sum(jobs.values()) != count:
            raise RuntimeError("Requested more tasks then assigned tasks.")
        self._jobs = dict(sorted(jobs.items()))
        self._port_base, self._tasks_per_node = port_base, tasks_per_node
        self._gpus_per_node, self._gpus_per_task = gpus_per_node, gpus_per_task
        self._auto_set_gpu = auto_set_gpu
        self.task_type = self.task_id = None
        self.rpc_layer = rpc_layer

    def _resolve_hostnames(self) -> list[str]:
        """Return the machines of the Slurm job."""
        said = subprocess.check_output(["scontrol", "show", "hostname"])
        return said.decode().strip().split("\n")

    def cluster_spec(self) -> ClusterSpec:
        """Return the cluster; finds out which task of it this process is."""
        addresses, gpus = [], []
        firsts = range(0, self._gpus_per_node, self._gpus_per_task)
        for host in self._resolve_hostnames():
            for number, first in zip(range(self._tasks_per_node), firsts, strict=False):
                addresses.append(f"{host}:{self._port_base + number}")
                gpus.append(",".join(map(str, range(first, first + self._gpus_per_task))))
        cluster, begin = {}, 0
        for job, count in self._jobs.items():
            cluster[job] = addresses[begin : begin + count]
            if begin <= self._rank < begin + count:
                self.task_type, self.task_id = job, self._rank - begin
            begin += count
        if self._auto_set_gpu is True:
            os.environ["CUDA_VISIBLE_DEVICES"] = gpus[self._rank]
        return ClusterSpec(cluster)

    def get_task_info(self) -> tuple[Any, Any]:
        """Return the job and the index of this process, as `cluster_spec` found them.

        None before.
        """
        return self.task_type, self.task_id

    def master(
        self, task_type: str | None = None, task_id: int | None = None, rpc_layer: str | None = None
    ) -> str:
        """Return the target for a task, this one if none is named; "" before `cluster_spec`."""
        return self._target(task_type, task_id, rpc_layer)

    def num_accelerators(
        self, task_type: str | None = None, task_id: int | None = None, config_proto: Any = None
    ) -> dict[str, int]:
        """Return the GPUs of a machine."""
        del task_type, task_id, config_proto
        return {"GPU": self._gpus_per_node}
