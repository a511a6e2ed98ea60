"""Fixtures for tests of several folders."""

from __future__ import annotations

import copy
import functools
import os
import signal
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import hypothesis
import numpy as np
import pytest

os.environ.setdefault("STILLFLOW_VERIFY_PLANS", "1")  # read when the runtime is imported
os.environ["STILLFLOW_ENGINE_CACHE"] = "0"  # tests leave no files in the home folder

from tests import disorder, first_device

import stillflow as tf
from stillflow import native
from stillflow.runtime.devices.devices import gpu_count

# The same examples every time, and no clock: a busy machine is no failure.
hypothesis.settings.register_profile("suite", deadline=None, derandomize=True)
hypothesis.settings.load_profile("suite")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--first-device", choices=first_device.CHOICES, default="machine",
        help="what sessions find first: the machine's, the CPU, or a GPU that is simulated",
    )  # fmt: skip
    parser.addoption(
        "--golden-session", default="plain",
        choices=("plain", "traced", "watched", "cluster", "meta_graph", "saved_model"),
        help="how golden programs run: see tests/golden/sessions.py",
    )  # fmt: skip
    disorder.add_options(parser)
    parser.addoption(
        "--fuzz-rounds", type=int, default=1, help="random calls of each operation"
    )  # fmt: skip
    parser.addoption("--fuzz-seed", default="suite", help="which random calls are made")


def pytest_configure(config: pytest.Config) -> None:
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        # A shell starts background programs with it ignored; tests of Ctrl-C would hang.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if when := config.getoption("--collect-garbage"):
        config.pluginmanager.register(disorder.Collector(when))


@pytest.hookimpl(trylast=True)  # after pytest's own order, which shares fixtures of modules
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    disorder.shuffle(items, config.getoption("--shuffle"))
    first_device.mark(items, config.getoption("--first-device"))


@pytest.fixture(autouse=True, scope="session")
def _first_device(pytestconfig: pytest.Config) -> Iterator[None]:
    """Before the fixtures of modules, whose sessions stay."""
    with first_device.in_front(pytestconfig.getoption("--first-device")):
        yield


@pytest.fixture(autouse=True)
def _cpu_alone(request: pytest.FixtureRequest) -> Iterator[None]:
    if "cpu" not in request.fixturenames:
        yield
    else:
        with first_device.cpu_alone():
            yield


@pytest.fixture
def cpu() -> None:
    """Hide all GPUs from sessions, for tests and fixtures of CPU-only behaviour."""


@pytest.fixture(autouse=True)
def _python_3(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unset the mark of Python 2, which a program passes to the programs it starts."""
    monkeypatch.delenv("STILLFLOW_PYTHON2", raising=False)


@pytest.fixture(autouse=True)
def _numbers_of_its_own(request: pytest.FixtureRequest) -> None:
    """Set the generators of a module back, so that no test draws what another has left."""
    for generator, state in _generators(request.module):
        generator.__setstate__(state)


@functools.cache
def _generators(module: ModuleType) -> list[tuple[Any, Any]]:
    """Return the generators of a module, and their states before its first test."""
    kinds = (np.random.RandomState, np.random.Generator)
    found = [each for each in vars(module).values() if isinstance(each, kinds)]
    bits = [each.bit_generator if isinstance(each, kinds[1]) else each for each in found]
    return [(each, copy.deepcopy(each.__getstate__())) for each in bits]


@pytest.fixture
def graph() -> Iterator[tf.Graph]:
    """Yield a graph, which is the default one."""
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def session() -> Iterator[tf.Session]:
    """Yield a session on a graph of its own, which is the default one."""
    with tf.Graph().as_default(), tf.Session() as session:
        yield session


@pytest.fixture(params=[pytest.param("real", marks=pytest.mark.gpu), "simulated"])
def cuda(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Provide a CUDA device: that of the machine, and a simulated one."""
    monkeypatch.setenv("TF_CPP_MIN_LOG_LEVEL", "1")
    if request.param == "simulated":
        from tests.simulated_cuda import simulated_cuda

        with simulated_cuda():
            yield request.param
    elif gpu_count() == 0:
        pytest.skip("there is no CUDA device")
    else:
        yield request.param


@pytest.fixture(params=["native", "plain"])
def either_way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Once with the loops in C, if they were built, and once without."""
    if request.param == "plain":
        monkeypatch.setattr(native, "library", lambda: None)
    elif native.library() is None:
        pytest.skip("the loops in C were not built")
    return str(request.param)
