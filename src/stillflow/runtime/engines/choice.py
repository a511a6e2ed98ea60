"""Choice of a session's engines."""

from __future__ import annotations

import importlib.util
import os
import threading
from collections.abc import Callable
from typing import Any

from stillflow import errors, protos
from stillflow.runtime.engines import forks
from stillflow.runtime.engines.region import Engine

PLAN = "plan"
NAMES = ("auto", PLAN, "onnxruntime", "openvino", "compile")
_MODULES = {"onnxruntime": "onnx_runtime", "openvino": "open_vino", "compile": "compiled"}
_AUTOMATIC = ("onnxruntime", "openvino")  # a compiler takes longer than most programs run
_MOST = 32  # plans for any sizes that a session keeps
OPTION = "stillflow"  # the name among the custom optimizers of a `ConfigProto`


class Choice:
    """The engines of a session, and their plans for any sizes.

    Attributes:
      engines: those that may run regions, in the order in which they are tried.
      timed: whether a run keeps what is fastest; otherwise it keeps the first engine.
    """

    def __init__(self, engines: tuple[Engine, ...], timed: bool) -> None:
        self.engines, self.timed = engines, timed
        self._shared: dict[Any, Any] = {}
        self._lock = threading.Lock()
        forks.note(self)

    def after_fork(self) -> None:
        """Forget the plans of the process that was forked."""
        self._lock = threading.Lock()
        self._shared.clear()

    def shared(self, key: Any, make: Callable[[], Any]) -> Any:
        """Return the object of a key, or make it; the oldest of many keys are dropped."""
        with self._lock:
            if key not in self._shared:
                while len(self._shared) >= _MOST:
                    del self._shared[next(iter(self._shared))]
                self._shared[key] = make()
            return self._shared[key]


def use(name: str, config: Any = None) -> Any:
    """Return a `ConfigProto` whose session runs pure regions by an engine.

    Args:
      name: "auto", "plan", "onnxruntime", "openvino" or "compile".
      config: a `ConfigProto` that is changed and returned; a new one if None.

    Raises:
      tf.errors.InvalidArgumentError: if there is no such engine.
    """
    _require_known(name)
    config = protos.ConfigProto() if config is None else config
    optimizers = config.graph_options.rewrite_options.custom_optimizers
    found = [each for each in optimizers if each.name == OPTION]
    option = found[0] if found else optimizers.add(name=OPTION)
    option.parameter_map["engine"].s = name.encode()
    return config


def engines_of(config: Any) -> Choice | None:
    """Return the engines of a session; None where the plan's own kernels run everything.

    Args:
      config: a `ConfigProto`, or None. An engine chosen there precedes `STILLFLOW_ENGINE`.

    Raises:
      tf.errors.InvalidArgumentError: if there is no such engine.
      tf.errors.FailedPreconditionError: if it is not installed.
    """
    name = os.environ.get("STILLFLOW_ENGINE", "") or PLAN
    if config is not None:
        for option in config.graph_options.rewrite_options.custom_optimizers:
            if option.name == OPTION and "engine" in option.parameter_map:
                name = option.parameter_map["engine"].s.decode()
    _require_known(name)
    if name == PLAN:
        return None
    if name == "auto":
        found = tuple(engine for engine in map(_engine, _AUTOMATIC) if not missing(engine))
        return Choice(found, timed=True) if found else None
    engine = _engine(name)
    lacking = missing(engine)
    if lacking:
        raise errors.failed_precondition(
            f"The engine {name} needs {' and '.join(lacking)}: "
            f"pip install 'stillflow[{engine.extra}]'"
        )
    return Choice((engine,), timed=False)


def missing(engine: Engine) -> list[str]:
    """Return the packages of an engine that are not installed."""
    return [name for name in engine.packages if importlib.util.find_spec(name) is None]


def _engine(name: str) -> Engine:
    module = importlib.import_module(f"stillflow.runtime.engines.{_MODULES[name]}")
    engine: Engine = module.ENGINE
    return engine


def _require_known(name: str) -> None:
    if name not in NAMES:
        raise errors.invalid_argument(
            f"There is no engine {name!r}; there are {', '.join(NAMES)} (STILLFLOW_ENGINE, or "
            "stillflow.runtime.engines.use)"
        )
