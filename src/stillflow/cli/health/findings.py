"""Findings from the facts, each with a remedy for a problem."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from stillflow import __stillflow_version__
from stillflow.cli.health.facts import Facts
from stillflow.cli.health.tested import PYTHONS, RANGES, Range, is_newer, is_older
from stillflow.cli.health.variables import VARIABLES

GOOD, NOTE, WRONG = "ok", "note", "wrong"

# Less free GPU memory than this, in MiB, and most programs will fail.
_LITTLE = 1024
_LIBRARY = re.compile(
    r"\b(lib(?:cudnn|cublas|cusolver|cusparse|cufft|curand|cudart|nccl|cuda)[\w.]*\w)"
)


class Finding(NamedTuple):
    """Finding of a check.

    Attributes:
      topic: what it is about.
      level: GOOD, NOTE (it works, but one should know) or WRONG.
      text: the finding.
      remedy: what to do about it; empty if there is nothing to do.
    """

    topic: str
    level: str
    text: str
    remedy: str = ""


def findings(facts: Facts) -> list[Finding]:
    """Judges the facts, most basic things first."""
    return [finding for look in _LOOKS for finding in look(facts)]


def _stillflow(facts: Facts) -> Iterator[Finding]:
    yield Finding("Stillflow", GOOD, f"{__stillflow_version__} on {facts.machine or facts.system}")


def _python(facts: Facts) -> Iterator[Finding]:
    version = ".".join(map(str, facts.python))
    text = f"{version}, {facts.bits} bits, {facts.executable}"
    oldest, newest = (".".join(map(str, python)) for python in PYTHONS)
    if facts.python < PYTHONS[0] or facts.bits < 64:
        yield Finding("Python", WRONG, text, f"Use a Python of 64 bits, {oldest} or newer.")
    elif facts.python > PYTHONS[1]:
        yield Finding(
            "Python", NOTE, f"{text}; tested are those up to {newest}",
            f"Newer ones work as far as is known; if this one does not, use {newest}.",
        )  # fmt: skip
    else:
        yield Finding("Python", GOOD, text)


def _packages(facts: Facts) -> Iterator[Finding]:
    for name, tested in RANGES.items():
        version = facts.packages.get(name)
        if version is not None:
            yield _version(name, version, tested)
        elif not tested.extra and facts.python >= tested.since:
            yield Finding(
                name, WRONG, "not installed", f'Run: pip install "{name}>={tested.oldest}"'
            )
    if facts.packages.get("tensorboard") is None:
        yield Finding("tensorboard", NOTE, "not installed; event files are written all the same",
                      "To look at them: pip install tensorboard")  # fmt: skip


def _version(name: str, version: str, tested: Range) -> Finding:
    """Judges the version of a package that is installed."""
    if is_older(version, tested.oldest):
        return Finding(
            name, WRONG, f"{version}, too old: Stillflow needs {tested.oldest} or newer",
            f'Run: pip install "{name}>={tested.oldest}"',
        )  # fmt: skip
    if is_newer(version, tested.newest):
        return Finding(
            name, NOTE, f"{version}, newer than tested: {tested.oldest} to {tested.newest}",
            "Newer ones work as far as is known; if this one does not, run: "
            f'pip install "{name}=={tested.newest}"',
        )  # fmt: skip
    return Finding(name, GOOD, version)


def _torch(facts: Facts) -> Iterator[Finding]:
    if facts.torch_error is None or facts.packages.get("torch") is None:
        return
    library = _LIBRARY.search(facts.torch_error)
    if library is None:
        remedy = "Reinstall torch: pip install --force-reinstall torch"
    else:
        remedy = (
            f"{library[1]} belongs to torch's own packages, not to a CUDA installation: "
            "reinstall torch, and leave folders of other CUDA versions out of LD_LIBRARY_PATH."
        )
    yield Finding("torch import", WRONG, facts.torch_error, remedy)


def _old_libraries(facts: Facts) -> Iterator[Finding]:
    folders = [
        folder for folder in facts.library_path.split(os.pathsep)
        if re.search(r"cuda|cudnn", folder, re.IGNORECASE)
    ]  # fmt: skip
    if folders and facts.torch_cuda is not None:
        yield Finding(
            "LD_LIBRARY_PATH", NOTE, f"names CUDA libraries: {os.pathsep.join(folders)}",
            "torch brings its own; if it cannot load them, take these folders out.",
        )  # fmt: skip


def _driver(facts: Facts) -> Iterator[Finding]:
    if facts.system == "Darwin":
        yield Finding("GPU", GOOD if facts.mps else NOTE,
                      "Apple's, by MPS" if facts.mps else "none that torch can use")  # fmt: skip
        return
    if facts.driver_error is not None:
        missing = "No such file" in facts.driver_error or "cannot find" in facts.driver_error
        if missing:
            yield Finding("GPU", NOTE, "no NVIDIA driver here; programs run on the CPU")
        else:
            yield Finding("GPU driver", WRONG, facts.driver_error,
                          "Restart the machine or reinstall the driver.")  # fmt: skip
        return
    for index, gpu in enumerate(facts.gpus):
        free = gpu.total - gpu.used
        text = f"{gpu.name}, driver {gpu.driver}, {free} of {gpu.total} MiB free"
        if free >= _LITTLE:
            yield Finding(f"GPU {index}", GOOD, text)
        else:
            yield Finding(f"GPU {index}", WRONG, text, _who_holds(facts))


def _who_holds(facts: Facts) -> str:
    holders = sorted(facts.processes, key=lambda process: -process[2])
    if not holders:
        return "Memory is held by processes that this account cannot see."
    named = ", ".join(f"{name} (process {number}, {used} MiB)" for number, name, used in holders)
    return f"Memory is held by {named}; stop programs that are not needed."


def _cuda(facts: Facts) -> Iterator[Finding]:
    if not facts.gpus or facts.torch_error is not None:
        return
    if facts.torch_cuda is None:
        yield Finding("CUDA", WRONG, "there is a GPU, but torch is built without CUDA",
                      "Install torch's build for CUDA.")  # fmt: skip
    elif facts.visible is not None and facts.cuda_devices < len(facts.gpus):
        hidden = len(facts.gpus) - facts.cuda_devices
        yield Finding(
            "CUDA", NOTE,
            f"CUDA_VISIBLE_DEVICES={facts.visible} hides {hidden} of {len(facts.gpus)} GPUs",
            "Unset it to use them." if not facts.cuda_devices else "",
        )  # fmt: skip
    elif facts.cuda_error is not None:
        yield Finding("CUDA", WRONG, facts.cuda_error, _cuda_remedy(facts))
    elif facts.cuda_devices < len(facts.gpus):
        yield Finding("CUDA", WRONG, f"torch sees {facts.cuda_devices} of {len(facts.gpus)} GPUs",
                      _cuda_remedy(facts))  # fmt: skip
    else:
        yield Finding("CUDA", GOOD, f"{facts.torch_cuda}, {facts.cuda_devices} devices")


def _cuda_remedy(facts: Facts) -> str:
    error = facts.cuda_error or ""
    if "driver" in error and ("old" in error or "insufficient" in error):
        return (
            f"torch is built for CUDA {facts.torch_cuda}: install a newer driver, or torch's build "
            "for an older CUDA."
        )
    if library := _LIBRARY.search(error):
        return f"Reinstall torch: {library[1]} is missing from its packages."
    return "Restart the machine; a driver that was updated while in use does this."


def _devices(facts: Facts) -> Iterator[Finding]:
    for device, error in facts.hello.items():
        short = device.rpartition("/")[2]
        if error is None:
            yield Finding(short, GOOD, "ran a small program")
        else:
            yield Finding(short, WRONG, error, "The lines above may say why.")


def _tensorflow(facts: Facts) -> Iterator[Finding]:
    if facts.tensorflow is not None:
        served = "Stillflow" if facts.enabled else "that one"
        yield Finding(
            "TensorFlow", NOTE,
            f"one is installed at {facts.tensorflow}; for plain `python`, import tensorflow is "
            f"{served}",
            "`python -m stillflow program.py` always means Stillflow.",
        )  # fmt: skip
        return
    left = [
        name for name, version in facts.packages.items()
        if name.startswith("tensorflow") and version is not None
    ]  # fmt: skip
    if left:
        yield Finding("TensorFlow", WRONG, f"{', '.join(left)}: installed, but without files",
                      f"Run: pip uninstall {' '.join(left)}")  # fmt: skip


def _compiler(facts: Facts) -> Iterator[Finding]:
    if facts.compiler is None:
        yield Finding("compiler", NOTE, "no C++ compiler; programs that ask for XLA run uncompiled")
    else:
        yield Finding("compiler", GOOD, facts.compiler)


def _native(facts: Facts) -> Iterator[Finding]:
    if facts.native:
        yield Finding("native", GOOD, "the loops in C are there")
    else:
        yield Finding("native", NOTE, "the loops in C were not built; all works without, slower",
                      "Install a C compiler, then reinstall Stillflow.")  # fmt: skip


def _collectives(facts: Facts) -> Iterator[Finding]:
    if facts.torch_error is not None:
        return
    if facts.collectives:
        served = "" if facts.horovod else "; serves horovod.tensorflow and horovod.keras"
        yield Finding("all-reduce", GOOD, ", ".join(facts.collectives) + served)
    else:
        yield Finding("all-reduce", NOTE, "torch is built without gloo and NCCL: programs of "
                      "several ranks do not run",
                      "Install one of PyTorch's own builds.")  # fmt: skip
    if facts.horovod:
        yield Finding("Horovod", NOTE, "is installed, and is built for TensorFlow or another "
                      "framework; Stillflow serves its modules only where it is not",
                      "pip uninstall horovod")  # fmt: skip


def _variables(facts: Facts) -> Iterator[Finding]:
    for name, value in facts.variables.items():
        effect = VARIABLES[name].replace("`", "")
        yield Finding("environment", NOTE, f"{name} is set to {value} ({effect})")


_LOOKS: tuple[Callable[[Facts], Iterator[Finding]], ...] = (
    _stillflow, _python, _packages, _torch, _driver, _cuda, _old_libraries, _devices, _tensorflow,
    _compiler, _native, _collectives, _variables,
)  # fmt: skip
