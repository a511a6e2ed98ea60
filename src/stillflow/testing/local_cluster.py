"""`tf.test.create_local_cluster`: servers of one process as a cluster."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import Any

from stillflow.graph.export import export
from stillflow.train.server import Server


@export("test.create_local_cluster")
def create_local_cluster(
    num_workers: int,
    num_ps: int,
    protocol: str = "grpc",
    worker_config: Any = None,
    ps_config: Any = None,
) -> tuple[list[Server], list[Server]]:
    """Start the servers of the jobs "worker" and "ps", in this process.

    Args:
      num_workers: how many tasks "worker" has.
      num_ps: how many tasks "ps" has.
      protocol: as for `tf.train.Server`.
      worker_config: the `ConfigProto` of the workers, or None.
      ps_config: the `ConfigProto` of the parameter servers, or None.

    Returns:
      The workers, and the parameter servers.
    """
    ports = free_ports(num_workers + num_ps)
    cluster = {
        "worker": [f"localhost:{port}" for port in ports[:num_workers]],
        "ps": [f"localhost:{port}" for port in ports[num_workers:]],
    }

    def started(job: str, config: Any) -> list[Server]:
        tasks = range(len(cluster[job]))
        return [Server(cluster, job, task, protocol, config, start=True) for task in tasks]

    return started("worker", worker_config), started("ps", ps_config)


def free_ports(count: int) -> list[int]:
    """Ports that nobody has, all different: they are held together until all are found."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for bound in sockets:
            bound.bind(("localhost", 0))
        return [bound.getsockname()[1] for bound in sockets]
