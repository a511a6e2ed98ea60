"""The modules `horovod.common.util` and `horovod.common.exceptions`."""

from __future__ import annotations

import itertools
from typing import Any

from stillflow_contrib.horovod import basics
from stillflow_contrib.horovod.reductions import check_num_rank_power_of_2 as num_rank_is_power_2

__all__ = [
    "HorovodInternalError", "HostsUpdatedInterrupt", "ccl_built", "check_extension", "ddl_built",
    "extension_available", "gloo_built", "gpu_available", "mpi_built", "nccl_built",
    "num_rank_is_power_2", "split_list",
]  # fmt: skip
ccl_built, ddl_built, mpi_built = basics.ccl_built, basics.ddl_built, basics.mpi_built
gloo_built, nccl_built = basics.gloo_built, basics.nccl_built


class HorovodInternalError(RuntimeError):
    """Error of a collective operation, in elastic training."""


class HostsUpdatedInterrupt(RuntimeError):
    """Interrupt when machines come or go, in elastic training."""


def check_extension(ext_name: str, ext_env_var: str, pkg_path: str, *args: Any) -> None:
    """Raise ImportError for any extension but TensorFlow's."""
    if ext_name not in ("horovod.tensorflow", "horovod.keras", "horovod.tensorflow.keras"):
        raise ImportError(f"Extension {ext_name} is not served; TensorFlow's is.")


def extension_available(ext_base_name: str, verbose: bool = False) -> bool:
    """Return True for TensorFlow."""
    return ext_base_name == "tensorflow"


def gpu_available(ext_base_name: str, verbose: bool = False) -> bool:
    """Return True if there is a CUDA device."""
    return bool(basics.cuda_built())


def split_list(items: list[Any], n: int) -> list[list[Any]]:
    """Return a list in `n` parts, the first ones an item longer."""
    size, rest = divmod(len(items), n)
    ends = [number * size + min(number, rest) for number in range(n + 1)]
    return [items[start:end] for start, end in itertools.pairwise(ends)]
