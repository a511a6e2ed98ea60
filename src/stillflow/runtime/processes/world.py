"""The processes that a launcher started together, and the place of this one.

`torchrun`, `mpirun`, `srun` and Horovod's launcher tell it by variables of the environment.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from stillflow import errors

_PORT = 29500  # torch.distributed's own default
_OFFSET = 7919  # from the port of a cluster's task to that of collective operations
_PORTS = 20_000  # ports that jobs of one machine are spread over


class World(NamedTuple):
    """The ranks of a program.

    Attributes:
      rank: of this process, from 0.
      size: the number of processes.
      local_rank: the number of this process on its machine.
      local_size: the number of processes of this machine.
      cross_rank: the number of this machine.
      cross_size: the number of machines.
      address: host and port of rank 0, where all of them meet.
      hosted: True if the launcher serves that address itself, as torchrun does.
    """

    rank: int = 0
    size: int = 1
    local_rank: int = 0
    local_size: int = 1
    cross_rank: int = 0
    cross_size: int = 1
    address: tuple[str, int] = ("127.0.0.1", _PORT)
    hosted: bool = False


class _Launcher(NamedTuple):
    """The names of a launcher's variables; the first one set of several counts."""

    name: str
    rank: str
    size: str
    local_rank: str
    local_size: str
    node: str
    job: str


_LAUNCHERS = (
    _Launcher(
        "Horovod", "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_LOCAL_SIZE",
        "HOROVOD_CROSS_RANK", "",
    ),
    _Launcher(
        "torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK",
        "TORCHELASTIC_RUN_ID",
    ),
    _Launcher(
        "Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
        "OMPI_COMM_WORLD_LOCAL_SIZE", "", "OMPI_MCA_ess_base_jobid",
    ),
    _Launcher(
        "MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", "", "PMI_JOBID",
    ),
    # Of a job step alone: a script of sbatch is one process, also in a job of many tasks.
    _Launcher(
        "Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_TASKS_PER_NODE",
        "SLURM_NODEID", "SLURM_JOB_ID",
    ),
)  # fmt: skip


def from_environment(environ: Mapping[str, str] | None = None) -> World:
    """Return the world that the launcher describes; a world of one if there is no launcher.

    Raises:
      InvalidArgumentError: if a variable holds no number, or a rank beyond the size.
      FailedPreconditionError: if processes of several machines do not know where rank 0 is.
    """
    environ = os.environ if environ is None else environ
    for launcher in _LAUNCHERS:
        if environ.get(launcher.rank) and environ.get(launcher.size):
            return _world(launcher, environ)
    return World()


def from_tf_config(environ: Mapping[str, str] | None = None) -> World | None:
    """Return the workers of the cluster in TF_CONFIG, the chief first.

    They meet at the host of the first one, at a port some way from that of its server, or at
    MASTER_ADDR and MASTER_PORT.

    Returns:
      None if there is no cluster, or the task is no worker.

    Raises:
      InvalidArgumentError: if TF_CONFIG names no task of its cluster.
    """
    environ = os.environ if environ is None else environ
    try:
        config = json.loads(environ.get("TF_CONFIG") or "{}")
        jobs, task = config.get("cluster") or {}, config.get("task") or {}
        job, index = task.get("type"), int(task.get("index", 0))
        workers = [*jobs.get("chief", ()), *jobs.get("worker", ())]
        if not workers or job not in ("chief", "worker"):
            return None
        rank = index + (len(jobs.get("chief", ())) if job == "worker" else 0)
        own = workers[rank]
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise errors.invalid_argument(
            f"TF_CONFIG describes no task of a cluster: {error}"
        ) from None
    hosts = [address.rpartition(":")[0] for address in workers]
    same = [number for number, host in enumerate(hosts) if host == hosts[rank]]
    machines = list(dict.fromkeys(hosts))
    host, _, port = workers[0].rpartition(":")
    address = environ.get("MASTER_ADDR") or host, int(environ.get("MASTER_PORT") or _beside(port))
    return World(
        rank, len(workers), same.index(rank), len(same), machines.index(own.rpartition(":")[0]),
        len(machines), address, bool(environ.get("MASTER_PORT")) and _is_hosted(environ),
    )  # fmt: skip


def _beside(port: str) -> int:
    """Return a port that belongs to the address of a server, which has the address itself."""
    return (int(port) - 1024 + _OFFSET) % (65536 - 1024) + 1024


def _world(launcher: _Launcher, environ: Mapping[str, str]) -> World:
    rank, size = _number(environ, launcher.rank), _number(environ, launcher.size)
    if not 0 <= rank < size:
        raise errors.invalid_argument(
            f"{launcher.rank}={rank} is no rank of {launcher.size}={size} processes"
        )
    local_size = _number(environ, launcher.local_size, 1 if launcher.name == "Slurm" else size)
    local_rank = _number(environ, launcher.local_rank, rank % max(local_size, 1))
    node = _number(environ, launcher.node, rank // max(local_size, 1))
    return World(
        rank, size, local_rank, local_size, node, max(1, -(-size // max(local_size, 1))),
        _address(launcher, environ, local_size == size, size),
        launcher.name == "torchrun" and _is_hosted(environ),
    )  # fmt: skip


def _is_hosted(environ: Mapping[str, str]) -> bool:
    """Return True if torchrun serves the address."""
    return environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True"


def _number(environ: Mapping[str, str], name: str, default: int | None = None) -> int:
    """Return the number that a variable begins with: Slurm writes 2(x3) for three nodes of two."""
    text = environ.get(name, "") if name else ""
    found = re.match(r"\d+", text)
    if found is not None:
        return int(found.group())
    if text or default is None:
        raise errors.invalid_argument(f"{name}={text!r} is no number of processes")
    return default


def _address(
    launcher: _Launcher, environ: Mapping[str, str], is_local: bool, size: int
) -> tuple[str, int]:
    host = environ.get("MASTER_ADDR") or environ.get("HOROVOD_GLOO_RENDEZVOUS_ADDR") or ""
    if not host and launcher.name == "Slurm":
        nodes = environ.get("SLURM_STEP_NODELIST") or environ.get("SLURM_JOB_NODELIST", "")
        host = first_host(nodes)
    if not host and is_local:
        host = "127.0.0.1"
    if not host and size > 1:
        raise errors.failed_precondition(
            f"{launcher.name} does not tell which machine has rank 0: set MASTER_ADDR to its "
            "name or address for all processes (mpirun -x MASTER_ADDR=...)"
        )
    if environ.get("MASTER_PORT"):
        return host, _number(environ, "MASTER_PORT")
    digits = re.findall(r"\d+", environ.get(launcher.job, "") if launcher.job else "")
    return host, _PORT + int("".join(digits) or 0) % _PORTS


def first_host(nodes: str) -> str:
    """Return the first machine of Slurm's list: `gpu[07-09,12],login1` begins with `gpu07`."""
    found = re.match(r"([^,\[]+)(?:\[(\d+)[^\]]*\])?", nodes)
    return "" if found is None else found.group(1) + (found.group(2) or "")
