"""Choice of a session's engines."""

from __future__ import annotations

import importlib.util
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from stillflow import errors
from stillflow.graph.constant_value import Dims
from stillflow.graph.operation import Tensor
from stillflow.runtime.engines import forks, stored
from stillflow.runtime.engines.region import Engine
from stillflow.runtime.engines.setting import PLAN, chosen

if TYPE_CHECKING:
    from stillflow.runtime.session.fetches import Fetches

_MODULES = {"onnxruntime": "onnx_runtime", "openvino": "open_vino", "compile": "compiled"}
_AUTOMATIC = ("onnxruntime", "openvino")  # a compiler takes longer than most programs run
_MOST = 32  # plans for any sizes that a session keeps, and changes of its graph that are followed


class Choice:
    """The engines of a session, and their plans for any sizes.

    Attributes:
      engines: those that may run regions, in the order in which they are tried.
      timed: whether a run keeps what is fastest; otherwise it keeps the first engine.
      options: what else decides about a run: `timed`, and the `ConfigProto` as bytes.
    """

    def __init__(self, engines: tuple[Engine, ...], timed: bool, options: bytes = b"") -> None:
        self.engines, self.timed, self.options = engines, timed, (timed, options)
        self._digest = (-1, b"", 0)  # of the graph as it was last, and how often it has changed
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

    def key(self, tensors: Sequence[Tensor], feeds: Mapping[Tensor, Dims]) -> str:
        """Return the key of a run among those on disk; "" for one that is not kept there."""
        if stored.folder() is None:
            return ""
        graph, (edition, digest, changes) = tensors[0].graph, self._digest
        if edition != graph._edition:
            digest = stored.graph_digest(graph) if changes < _MOST else b""
            self._digest = graph._edition, digest, changes + 1
        return stored.run_key(digest, self.engines, self.options, tensors, feeds)

    def plan_of(
        self, fetches: Fetches, feeds: Mapping[Tensor, Dims], make_plan: Callable[[], Any]
    ) -> Any:
        """Return a run by a model on disk, or the plan, which `make_plan` makes."""
        tensors = [] if fetches.targets else fetches.tensors
        key = self.key(tensors, feeds) if tensors else ""
        found = stored.find(key, self.engines, len(feeds), len(tensors)) if key else None
        return make_plan() if found is None else stored.StoredRun(*found, make_plan)


def engines_of(config: Any) -> Choice | None:
    """Return the engines of a session; None where the plan's own kernels run everything.

    Args:
      config: a `ConfigProto`, or None. An engine chosen there precedes `STILLFLOW_ENGINE`.

    Raises:
      tf.errors.InvalidArgumentError: if there is no such engine.
      tf.errors.FailedPreconditionError: if it is not installed.
    """
    name = chosen(config)
    if name == PLAN:
        return None
    options = b"" if config is None else config.SerializeToString(deterministic=True)
    if name == "auto":
        found = tuple(engine for engine in map(_engine, _AUTOMATIC) if not missing(engine))
        return Choice(found, True, options) if found else None
    engine = _engine(name)
    lacking = missing(engine)
    if lacking:
        raise errors.failed_precondition(
            f"The engine {name} needs {' and '.join(lacking)}: "
            f"pip install 'stillflow[{engine.extra}]'"
        )
    return Choice((engine,), False, options)


def missing(engine: Engine) -> list[str]:
    """Return the packages of an engine that are not installed."""
    return [name for name in engine.packages if importlib.util.find_spec(name) is None]


def _engine(name: str) -> Engine:
    module = importlib.import_module(f"stillflow.runtime.engines.{_MODULES[name]}")
    engine: Engine = module.ENGINE
    return engine
