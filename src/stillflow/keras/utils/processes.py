"""The processes that make batches, and how they are ended."""

from __future__ import annotations

import contextlib
import gc
import time
from typing import Any

from stillflow.graph.export import export
from stillflow.util.weak import LiveSet

pools: LiveSet[Any] = LiveSet()  # those of processes that still exist


@export("keras.experimental.terminate_keras_multiprocessing_pools")
def terminate_keras_multiprocessing_pools(
    grace_period: float = 0.1, use_sigkill: bool = False
) -> list[str]:
    """Stop all processes that make batches.

    Args:
      grace_period: how long the processes have, in seconds.
      use_sigkill: whether processes that do not end then are killed.

    Returns:
      What did not end, in words.
    """
    gc.collect()
    workers = {worker for pool in pools for worker in pool._pool}
    for pool in pools:
        pool.close()
        pool.terminate()
    if workers:
        time.sleep(grace_period)
    for way in ("terminate", "terminate", *(["kill"] if use_sigkill else [])):
        _end([worker for worker in workers if worker.is_alive()], way, grace_period)
    gc.collect()
    left = [
        f"worker still alive: {worker.name}, pid={worker.pid}, hash={hash(worker)}"
        for worker in workers
        if worker.is_alive()
    ]
    return left + [f"pool still exists: {pool}, hash={hash(pool)}" for pool in pools]


def _end(workers: list[Any], way: str, grace_period: float) -> None:
    for worker in workers:
        with contextlib.suppress(OSError):  # it has ended meanwhile
            getattr(worker, way)()
    for worker in workers:
        worker.join(timeout=grace_period)
