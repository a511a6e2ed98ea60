"""Plugin of pytest that writes down which modules of src each test executes.

    python -m pytest -p tests.tracing.plugin --trace-to FILE ...

A line `M`, number, path names a module; a line `T`, test, numbers follows each test that passes.
Fixtures count as the test's, and so do the processes that it starts.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

SITE = Path(__file__).with_name("site")


def _load_tracer():
    spec = importlib.util.spec_from_file_location("tracing_site", SITE / "sitecustomize.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


tracing = _load_tracer()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--trace-to", help="file for the modules that each test executes")


def pytest_configure(config: pytest.Config) -> None:
    if path := config.getoption("--trace-to"):
        config.pluginmanager.register(Recorder(Path(path)))


def _traced(start: Callable[..., None]) -> Callable[..., None]:
    """Return the constructor of Popen with the tracer in environments that tests make up."""

    @functools.wraps(start)
    def traced(self: Any, *args: Any, env: Any = None, **kwargs: Any) -> None:
        if env is not None and tracing.VARIABLE in os.environ:
            path = os.pathsep.join(filter(None, [str(SITE), env.get("PYTHONPATH")]))
            env = {**env, "PYTHONPATH": path, tracing.VARIABLE: os.environ[tracing.VARIABLE]}
        start(self, *args, env=env, **kwargs)

    return traced


class Recorder:
    """Traces each test and appends its modules to a file."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._out = path.open("a", encoding="utf-8")
        self._folder = tempfile.TemporaryDirectory()
        self._numbers: dict[str, int] = {}
        self._passed = False
        self._tracer = tracing.Tracer()
        self._tracer.start()
        os.environ["PYTHONPATH"] = os.pathsep.join(
            [str(SITE), *filter(None, [os.environ.get("PYTHONPATH")])]
        )
        subprocess.Popen.__init__ = _traced(subprocess.Popen.__init__)  # type: ignore[method-assign]
        if hasattr(os, "fork"):
            os.register_at_fork(after_in_child=self._write_to_file)

    def _write_to_file(self) -> None:
        """Write to the file in a forked process, which cannot reach the set of its parent."""
        self._tracer.on_module = tracing.append

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        file = Path(self._folder.name, str(id(item)))
        os.environ[tracing.VARIABLE] = str(file)
        self._passed = False
        self._tracer.restart()
        result = yield
        modules = set(self._tracer.modules)
        if file.exists():
            modules |= set(file.read_text(encoding="utf-8").splitlines())
            file.unlink()
        if self._passed:
            self._write(item.nodeid, sorted(modules))
        return result

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call":
            self._passed = report.passed and not hasattr(report, "wasxfail")

    def _write(self, test: str, modules: list[str]) -> None:
        for name in modules:
            if name not in self._numbers:
                self._numbers[name] = len(self._numbers)
                self._out.write(f"M\t{self._numbers[name]}\t{name}\n")
        numbers = " ".join(str(self._numbers[name]) for name in modules)
        self._out.write(f"T\t{test}\t{numbers}\n")
        self._out.flush()
