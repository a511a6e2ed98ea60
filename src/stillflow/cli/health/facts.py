"""Facts about this machine and environment, gathered without judging them."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass, field

from stillflow.cli.health.tested import RANGES
from stillflow.cli.health.variables import VARIABLES

_SMI = "nvidia-smi"
PACKAGES = (*RANGES, "tensorflow", "tensorflow-gpu", "tensorflow-cpu")


@dataclass
class Gpu:
    """A GPU as the driver sees it; memory in MiB."""

    name: str
    driver: str
    total: int
    used: int


@dataclass
class Facts:
    """Facts that findings are derived from.

    Attributes:
      python, bits, executable, system: of the interpreter.
      machine: the operating system, its release and the processor; for reports.
      packages: {distribution: version}, None for those that are not installed.
      torch_error: why torch cannot be imported; None if it can.
      torch_cuda: the CUDA version torch is built for; None for a build without CUDA.
      collectives: backends of torch.distributed.
      cuda_devices: how many CUDA devices torch sees.
      cuda_error: why torch sees none, in its words; None if it does or is built without.
      mps: whether torch has Apple's GPU.
      visible: CUDA_VISIBLE_DEVICES; None if it is not set.
      library_path: LD_LIBRARY_PATH.
      driver_error: why the driver's tool cannot be asked; None if it can.
      gpus: what it says.
      processes: (process id, name, MiB) of those that hold GPU memory.
      tensorflow: the folder of a TensorFlow that is installed; None if there is none.
      horovod: whether Horovod itself is installed.
      enabled: whether plain `python` is served.
      hello: {device: why a small program fails on it, or None}.
      compiler: the path of a C++ compiler, None if there is none.
      native: whether the loops in C are there.
      variables: environment variables of Stillflow that are set.
    """

    python: tuple[int, int] = (3, 10)
    bits: int = 64
    executable: str = ""
    system: str = "Linux"
    machine: str = ""
    packages: dict[str, str | None] = field(default_factory=dict)
    torch_error: str | None = None
    torch_cuda: str | None = None
    collectives: tuple[str, ...] = ()
    cuda_devices: int = 0
    cuda_error: str | None = None
    mps: bool = False
    visible: str | None = None
    library_path: str = ""
    driver_error: str | None = None
    gpus: list[Gpu] = field(default_factory=list)
    processes: list[tuple[int, str, int]] = field(default_factory=list)
    tensorflow: str | None = None
    horovod: bool = False
    enabled: bool = False
    hello: dict[str, str | None] = field(default_factory=dict)
    compiler: str | None = None
    native: bool = True
    variables: dict[str, str] = field(default_factory=dict)


def gather() -> Facts:
    """Return the facts of this machine."""
    from stillflow.cli.enable import location
    from stillflow.facade import horovod_names
    from stillflow.facade.finder import real_spec
    from stillflow.native import library

    real = real_spec()
    facts = Facts(
        python=sys.version_info[:2],
        bits=8 * struct.calcsize("P"),
        executable=sys.executable,
        system=platform.system(),
        machine=platform.platform(),
        packages={name: _version(name) for name in PACKAGES},
        visible=os.environ.get("CUDA_VISIBLE_DEVICES"),
        library_path=os.environ.get("LD_LIBRARY_PATH", ""),
        tensorflow=os.path.dirname(real.origin or "") if real is not None else None,
        horovod=horovod_names.is_installed(),
        enabled=os.path.exists(location()),
        compiler=next(filter(None, map(shutil.which, ("c++", "g++", "clang++", "cl"))), None),
        native=library() is not None,
        variables={name: os.environ[name] for name in VARIABLES if name in os.environ},
    )
    _ask_driver(facts)
    _ask_torch(facts)
    if facts.torch_error is None:
        facts.hello = _say_hello()
    return facts


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _ask_torch(facts: Facts) -> None:
    try:
        import torch
    except (ImportError, OSError) as error:
        facts.torch_error = str(error)
        return
    facts.torch_cuda = torch.version.cuda
    facts.collectives = tuple(
        name
        for name in ("gloo", "nccl")
        if torch.distributed.is_available() and getattr(torch.distributed, f"is_{name}_available")()
    )
    facts.mps = torch.backends.mps.is_available()
    if facts.torch_cuda is not None:
        try:
            torch.cuda.init()
            facts.cuda_devices = torch.cuda.device_count()
        except (RuntimeError, AssertionError) as error:
            facts.cuda_error = str(error)


def _ask_driver(facts: Facts) -> None:
    try:
        for name, driver, total, used in _query("--query-gpu=name,driver_version,memory.total,"
                                                "memory.used"):  # fmt: skip
            facts.gpus.append(Gpu(name, driver, _mebibytes(total), _mebibytes(used)))
        for process, name, used in _query("--query-compute-apps=pid,process_name,used_memory"):
            facts.processes.append((int(process), name, _mebibytes(used)))
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        said = getattr(error, "stdout", None) or getattr(error, "stderr", None)
        facts.driver_error = (said or str(error)).strip()


def _query(question: str) -> list[list[str]]:
    """Return the answer of the driver's tool, a list for each line."""
    answer = subprocess.run(
        [_SMI, question, "--format=csv,noheader,nounits"], capture_output=True, text=True,
        timeout=30, check=True,
    )  # fmt: skip
    return [[word.strip() for word in line.split(",")] for line in answer.stdout.splitlines()]


def _mebibytes(text: str) -> int:
    return int(float(text)) if text.replace(".", "").isdigit() else 0  # "[N/A]" in containers


def _say_hello() -> dict[str, str | None]:
    """Run a small program on every device; {device: its error or None}."""
    from stillflow.platform.config import list_devices

    return {name: _hello(name) for name in list_devices()}


def _hello(device: str) -> str | None:
    import numpy as np

    import stillflow as tf

    given = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    try:
        with tf.Graph().as_default(), tf.device(device):
            x = tf.placeholder(tf.float32, [2, 3])
            y = tf.matmul(x, x, transpose_b=True)
            with tf.Session() as session:
                result = session.run(y, {x: given})
    except Exception as error:
        return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
    if not np.allclose(result, given @ given.T):
        return f"a matrix product came out wrong: {result.tolist()}"
    return None
