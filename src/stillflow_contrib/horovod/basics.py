"""The processes of a Horovod program: `init`, ranks, and what was built in."""

from __future__ import annotations

import functools
from typing import Any

from stillflow import errors
from stillflow.runtime.processes import kernels
from stillflow.runtime.processes.process_group import ProcessGroup
from stillflow.runtime.processes.transfers import ADASUM, AVERAGE, SUM

# The names that `horovod.tensorflow` and its Keras share.
__all__ = [
    "Average", "Sum", "ccl_built", "cross_rank", "cross_size", "cuda_built", "ddl_built",
    "gloo_built", "gloo_enabled", "init", "is_homogeneous", "is_initialized", "local_rank",
    "local_size", "mpi_built", "mpi_enabled", "mpi_threads_supported", "nccl_built", "rank",
    "rocm_built", "shutdown", "size", "start_timeline", "stop_timeline",
]  # fmt: skip

Average, Sum, Adasum = AVERAGE, SUM, ADASUM


class _State:
    """The group, between `init` and `shutdown`."""

    group: ProcessGroup | None = None


_state = _State()


def group() -> ProcessGroup:
    """Return the group of all ranks.

    Raises:
      ValueError: if `init` was not called.
    """
    if _state.group is None:
        raise ValueError("Horovod has not been initialized; use hvd.init().")
    return _state.group


def group_of_kernels() -> ProcessGroup:
    """Return the group for an operation that runs; FailedPreconditionError before `init`."""
    try:
        return group()
    except ValueError as error:
        raise errors.failed_precondition(str(error)) from None


def init(comm: Any = None, process_sets: Any = None) -> None:
    """Join the processes that the launcher started with this one.

    Args:
      comm: None or an empty list: all of them. A part of the ranks is not supported.
      process_sets: not supported.

    Raises:
      UnimplementedError: for a part of the ranks.
      DeadlineExceededError: if some ranks do not come.
    """
    ranks = getattr(comm, "Get_size", None)
    if process_sets or (comm and ranks is None and list(comm) != list(range(len(comm)))):
        raise errors.unimplemented("hvd.init of a part of the ranks is not supported")
    if _state.group is None:
        _state.group = kernels.of_launcher()


def shutdown() -> None:
    """Leave the other processes; operations of theirs that wait for this one fail."""
    if _state.group is not None:
        _state.group.close()
        _state.group = None


def is_initialized() -> bool:
    """Return True between `init` and `shutdown`."""
    return _state.group is not None


def start_timeline(file_path: str, mark_cycles: bool = False) -> None:
    """Write a timeline of all operations; rank 0's file counts.

    With `mark_cycles` it has a mark wherever rank 0 calls operations that all ranks have come to.
    """
    if group().world.rank == 0:
        group().timeline.start(file_path, mark_cycles)


def stop_timeline() -> None:
    """Finish the timeline."""
    group().timeline.stop()


def _fact(name: str, text: str) -> Any:
    def fact() -> int:
        found: int = getattr(group().world, name)
        return found

    fact.__name__ = fact.__qualname__ = name
    fact.__doc__ = f"Return the {text}; ValueError before `init`."
    return fact


rank = _fact("rank", "number of this process")
size = _fact("size", "number of processes")
local_rank = _fact("local_rank", "number of this process on its machine")
local_size = _fact("local_size", "number of processes of this machine")
cross_rank = _fact("cross_rank", "number of this machine")
cross_size = _fact("cross_size", "number of machines")


def is_homogeneous() -> bool:
    """Return True if all machines have the same number of processes."""
    world = group().world
    return world.size == world.local_size * world.cross_size


def mpi_threads_supported() -> bool:
    """Return True: threads and MPI do not get into each other's way, as no MPI is used."""
    group()
    return True


def _built(name: str, answer: Any) -> Any:
    @functools.wraps(answer)
    def built(verbose: bool = False) -> Any:
        del verbose
        return answer()

    built.__name__ = built.__qualname__ = name
    built.__doc__ = f"Return the answer to `{name}`: gloo, and NCCL for CUDA, are torch's."
    return built


def _nccl() -> int:
    import torch

    if not torch.cuda.is_available() or not torch.distributed.is_nccl_available():
        return 0
    version: Any = torch.cuda.nccl.version()
    major, minor, patch = version[:3]
    return int(major * 10000 + minor * 100 + patch)


def _yes() -> bool:
    return True


def _no() -> bool:
    return False


def _cuda() -> bool:
    import torch

    return torch.cuda.is_available()


mpi_enabled = _built("mpi_enabled", _no)
mpi_built = _built("mpi_built", _no)
gloo_enabled = _built("gloo_enabled", _yes)
gloo_built = _built("gloo_built", _yes)
nccl_built = _built("nccl_built", _nccl)
ddl_built = _built("ddl_built", _no)
ccl_built = _built("ccl_built", _no)
cuda_built = _built("cuda_built", _cuda)
rocm_built = _built("rocm_built", _no)
