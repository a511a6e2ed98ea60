"""Device of the tests: the machine's first, the CPU, or a simulated GPU.

    pytest --first-device simulated_gpu tests/ops

makes every session find the GPU of tests/simulated_cuda.py, in any test. A test of CPU-only
behaviour takes the fixture `cpu`, and sees no GPU, not even on a machine that has one. Other
differences are listed in tests/simulated_gpu.tsv with a reason: those tests have to fail.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.expected_failures import ExpectedFailures

from stillflow.runtime.devices.devices import pretend_gpus

CHOICES = ("machine", "cpu", "simulated_gpu")
LIST = Path(__file__).with_name("simulated_gpu.tsv")


def mark(items: list[pytest.Item], device: str) -> None:
    """Mark collected tests that fail, or are left out, if this device is the first."""
    if device == "machine":
        return
    apart = pytest.mark.skip(reason=f"has a device of its own, which is not the first: {device}")
    expected = ExpectedFailures(LIST) if device == "simulated_gpu" else None
    for item in items:
        if "cuda" in getattr(item, "fixturenames", ()):
            item.add_marker(apart)
        elif expected and (reason := expected.reason(item.nodeid)):
            item.add_marker(pytest.mark.xfail(reason=reason, strict=True))


@contextlib.contextmanager
def in_front(device: str) -> Iterator[None]:
    """Sessions made inside have this first device."""
    if device == "simulated_gpu":
        from tests.simulated_cuda import simulated_cuda

        with simulated_cuda():
            yield
    elif device == "cpu":
        with cpu_alone():
            yield
    else:
        yield


@contextlib.contextmanager
def cpu_alone() -> Iterator[None]:
    """Sessions made inside see no GPU."""
    from tests.simulated_cuda import forget_eager_context

    with pretend_gpus(0):
        forget_eager_context()
        yield
    forget_eager_context()
