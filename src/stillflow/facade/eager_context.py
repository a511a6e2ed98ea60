"""``tensorflow.python.eager.context``: graphs, and operations that run when they are called."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stillflow.eager import callbacks
from stillflow.eager.devices_and_modes import (
    async_clear_error,
    async_wait,
    execution_mode,
    num_gpus,
    set_execution_mode,
)
from stillflow.eager.placement_log import get_log_device_placement, set_log_device_placement
from stillflow.functional.executors import function_executor_type
from stillflow.graph.eager_mode import (
    ASYNC,
    DEVICE_PLACEMENT_EXPLICIT,
    DEVICE_PLACEMENT_SILENT,
    DEVICE_PLACEMENT_SILENT_FOR_INT32,
    DEVICE_PLACEMENT_WARN,
    SYNC,
    eager_mode,
    executing_eagerly,
    graph_mode,
)

if TYPE_CHECKING:
    from stillflow.eager.immediate import ImmediateGraph


__all__ = [
    "ASYNC", "DEVICE_PLACEMENT_EXPLICIT", "DEVICE_PLACEMENT_SILENT",
    "DEVICE_PLACEMENT_SILENT_FOR_INT32", "DEVICE_PLACEMENT_WARN", "SYNC", "async_clear_error",
    "async_wait", "eager_mode", "executing_eagerly", "execution_mode", "function_executor_type",
    "get_log_device_placement", "graph_mode", "num_gpus", "set_execution_mode",
    "set_log_device_placement",
]  # fmt: skip

GRAPH_MODE, EAGER_MODE = 0, 1


in_eager_mode = executing_eagerly


def ensure_initialized() -> None:
    """Do nothing: there is nothing to wait for."""


def global_seed() -> int | None:
    """Return the seed of operations that run when they are called."""
    seed: int | None = _eager_graph().seed
    return seed


def set_global_seed(seed: int | None) -> None:
    """Set the seed of operations that run when they are called."""
    _eager_graph().seed = seed


def internal_operation_seed() -> int:
    """Return the next seed for an operation that has none."""
    seed: int = _eager_graph().next_op_seed()
    return seed


def _eager_graph() -> ImmediateGraph:
    from stillflow.eager.immediate import context

    return context()


def shared_name(name: Any = None) -> Any:
    """Return the name by which a resource is shared: as given, but nothing is shared eagerly."""
    return "" if executing_eagerly() else name


def in_graph_mode() -> bool:
    """Return whether operations are added to a graph."""
    return not executing_eagerly()


def device(name: Any) -> Any:
    """Place operations on a device in this context."""
    from stillflow.graph.api import device as scope

    return scope(name)


class Executor:
    """The order in which a thread's operations run: each is done when its call returns."""

    def __init__(self, enable_async: bool = False) -> None:
        self._is_async = enable_async

    def is_async(self) -> bool:
        """Return True if calls were asked to return before their operations are done."""
        return self._is_async

    def wait(self) -> None:
        """Do nothing: no operation is under way."""

    def clear_error(self) -> None:
        """Do nothing: errors are raised by the call that fails."""


def new_executor(enable_async: bool) -> Executor:
    """Return an executor."""
    return Executor(enable_async)


class _OfThread(threading.local):
    """The values that each thread has of a context of its own."""

    scope_name = device_name = ""
    writer: Any = None
    condition: Any = None
    step: Any = None
    execution_mode: int | None = None
    executor: Executor | None = None


class ContextSwitch(NamedTuple):
    """A change between graphs and eager execution that a thread has made."""

    is_building_function: bool
    enter_context_fn: Any
    device_stack: Any


class _Switches(NamedTuple):
    stack: list[ContextSwitch]


class Context:
    """Settings of eager execution.

    Operations run in the context that `context()` returns; another one only keeps its settings.

    Args:
      config: a `ConfigProto`.
      device_policy: one of the constants, None for the usual one.
      execution_mode: `SYNC` or `ASYNC`; operations are done when their calls return.
      server_def: not supported.

    Raises:
      ValueError: `execution_mode` is none of these, or there is a `server_def`.
    """

    executing_eagerly = staticmethod(executing_eagerly)
    in_eager_mode = staticmethod(in_eager_mode)
    in_graph_mode = staticmethod(in_graph_mode)
    num_gpus = staticmethod(num_gpus)
    ensure_initialized = staticmethod(ensure_initialized)
    add_post_execution_callback = staticmethod(callbacks.add_execution_callback)
    clear_post_execution_callbacks = staticmethod(callbacks.clear_execution_callbacks)

    def __init__(
        self,
        config: Any = None,
        device_policy: int | None = None,
        execution_mode: int | None = None,
        server_def: Any = None,
    ) -> None:
        _check_mode(execution_mode)
        if server_def is not None:
            raise ValueError("Eager execution on the servers of a server_def is not supported.")
        self.config = config
        self.device_policy = DEVICE_PLACEMENT_SILENT if device_policy is None else device_policy
        self._mode = SYNC if execution_mode is None else execution_mode
        self._own = _OfThread()

    @property
    def _handle(self) -> Context:
        """The context as `TFE_Py_FastPathExecute` takes it."""
        return self

    _context_handle = _handle

    @property
    def _thread_local_data(self) -> Context:
        return self

    @property
    def execution_mode(self) -> int:
        """`SYNC` or `ASYNC`, as this thread asked."""
        mode = self._own.execution_mode
        return self._mode if mode is None else mode

    @execution_mode.setter
    def execution_mode(self, mode: int | None) -> None:
        _check_mode(mode)
        self._own.execution_mode = SYNC if mode is None else mode

    @property
    def executor(self) -> Executor:
        """The executor of this thread."""
        if self._own.executor is None:
            self._own.executor = Executor(self.execution_mode == ASYNC)
        return self._own.executor

    @executor.setter
    def executor(self, executor: Executor) -> None:
        self._own.executor = executor

    def _set_global_seed(self, seed: Any) -> None:
        """Set the seed of operations; of this context alone, unless it is the one in use."""
        number = int(np.asarray(seed))
        if self is _context:
            set_global_seed(number)

    @property
    def device_name(self) -> str:
        """The device that scopes ask for, "" if none does."""
        if self is not _context:
            return self._own.device_name
        from stillflow.graph.graph import get_default_graph

        asked = get_default_graph()._device_functions_outer_to_inner
        return _full_name(asked[-1]) if asked else ""

    @property
    def device_spec(self) -> Any:
        """The device that scopes ask for, as a `DeviceSpec`."""
        from stillflow.graph.device import DeviceSpec

        return DeviceSpec.from_string(self.device_name)

    @contextlib.contextmanager
    def device(self, name: str | None) -> Iterator[None]:
        """Ask for a device within the context.

        Raises:
          ValueError: it is neither a device's name nor None.
        """
        before, self._own.device_name = self._own.device_name, _full_name(name)
        try:
            with device(name) if self is _context else contextlib.nullcontext():
                yield
        finally:
            self._own.device_name = before

    def has_function(self, name: str | bytes) -> bool:
        """Return True if a traced function of that name is in use."""
        from stillflow.functional.concrete import traced_functions

        return (name.decode() if isinstance(name, bytes) else name) in traced_functions

    def devices(self) -> list[str]:
        """Return the names of all devices."""
        from stillflow.platform.config import list_logical_devices

        return [each.name for each in list_logical_devices()]

    @property
    def _summaries(self) -> Any:
        if self is not _context:
            return self._own
        from stillflow.summary.recording import state

        return state

    @property
    def summary_writer(self) -> str | None:
        """The writer of this thread's summaries, None if there is none."""
        return self._summaries.writer

    @summary_writer.setter
    def summary_writer(self, writer: Any) -> None:
        self._summaries.writer = writer

    @property
    def summary_recording(self) -> str:
        """The condition of this thread's summaries, None where nothing was said."""
        return self._summaries.condition

    @summary_recording.setter
    def summary_recording(self, condition: Any) -> None:
        self._summaries.condition = condition

    @property
    def summary_step(self) -> str | None:
        """The step of this thread's summaries."""
        return self._summaries.step

    @summary_step.setter
    def summary_step(self, step: Any) -> None:
        self._summaries.step = step

    @property
    def post_execution_callbacks(self) -> list[Any]:
        """The callbacks after each eager operation."""
        return list(callbacks.active)

    _post_execution_callbacks = post_execution_callbacks

    @property
    def scope_name(self) -> str:
        """The name scope of eager execution."""
        if self is not _context:
            return self._own.scope_name
        name = _eager_graph()._name_stack
        return name + "/" if name else ""

    @scope_name.setter
    def scope_name(self, name: str) -> None:
        if self is _context:
            _eager_graph()._name_stack = name.rstrip("/")
        else:
            self._own.scope_name = name

    @property
    def context_switches(self) -> Any:
        """The changes between graphs and eager execution that this thread is within."""
        from stillflow.graph import graph as graphs

        stack = []
        if graphs.make_global_graph is not graphs.Graph:
            stack.append(ContextSwitch(False, eager_mode, None))
        for graph in graphs._default.stack:
            if graph.runs_at_once:
                stack.append(ContextSwitch(False, eager_mode, None))
            else:
                in_function = bool(graph.building_function)
                stack.append(ContextSwitch(in_function, graph.as_default, graph._device_stack))
        return _Switches(stack)


def _check_mode(mode: Any) -> None:
    if mode not in (None, SYNC, ASYNC):
        raise ValueError(f"Execution mode should be None/SYNC/ASYNC. Got {mode}")


def _full_name(name: Any) -> str:
    """Return a device's name with the job, replica and task of this process; "" for None."""
    from stillflow.graph.device import DeviceSpec

    if not name:
        return ""
    if not isinstance(name, str):
        raise ValueError(f"Expecting a string device name. Got {type(name)}({name})")
    here = DeviceSpec.from_string("/job:localhost/replica:0/task:0/device:CPU:0")
    return str(here.make_merged_spec(DeviceSpec.from_string(name)).to_string())


_context = _first = Context()


def context() -> Context:
    """Return the context in which operations run."""
    return _context


def _set_context(new: Context) -> None:
    """Have operations run in a context, which lives as long as a tensor that they make."""
    global _context
    from stillflow.eager.eager_tensor import EagerTensor

    def made(tensor: Any, *args: Any, **kwargs: Any) -> None:
        _make_tensor[0](tensor, *args, **kwargs)
        tensor._context = new

    if not _make_tensor:
        _make_tensor.append(EagerTensor.__init__)
    kind: Any = EagerTensor
    kind.__init__ = _make_tensor[0] if new is _first else made
    _context = new


_make_tensor: list[Any] = []  # the class' own constructor


class _EagerTensorCache:
    """Tensors of at most so many elements by key, of which the oldest one goes first."""

    def __init__(self, max_items: int = 256, max_tensor_size: int = 10000) -> None:
        self._data: dict[Any, Any] = {}
        self._max_items, self._max_tensor_size = max_items, max_tensor_size

    def put(self, key: Any, value: Any) -> None:
        """Keep a tensor, unless it is too large."""
        if value.shape.num_elements() <= self._max_tensor_size:
            self._data[key] = value
            if len(self._data) > self._max_items:
                del self._data[next(iter(self._data))]

    def get(self, key: Any) -> Any:
        """Return the tensor of a key, None if there is none."""
        return self._data.get(key)

    def flush(self) -> None:
        """Forget all tensors."""
        self._data.clear()


@contextlib.contextmanager
def executor_scope(e: Executor) -> Iterator[None]:
    """Have this thread's executor be `e` within the context."""
    before, _context.executor = _context.executor, e
    try:
        yield
    finally:
        _context.executor = before


def __getattr__(name: str) -> Any:
    from stillflow.platform import config  # not before a program asks for devices
    from stillflow.runtime.devices import devices

    for module in () if name.startswith("_") else (config, devices):
        if hasattr(module, name):
            return getattr(module, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
