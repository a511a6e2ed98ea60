"""`tensorflow.python.eager.profiler`: the operations of sessions between two moments.

TensorFlow keeps it as a `Trace` message (tensorflow/core/protobuf/trace_events.proto), which the
profile plugin of TensorBoard draws: a row for each thread that asks for work, and beneath it one
for the operations that this work consists of.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from stillflow.eager.immediate import ImmediateGraph
from stillflow.files import gfile
from stillflow.files.events import EventsWriter
from stillflow.functional.immediate_calls import ImmediateCalls
from stillflow.graph.operation import Tensor
from stillflow.protos import RunMetadata, RunOptions, file
from stillflow.runtime.session.session import BaseSession

_EVENT_FILE_SUFFIX = ".profile-empty"
_HOST = "/host:CPU"
_PICOSECONDS = 1000  # in a nanosecond
_LARGEST = 0xFFFFFFFF  # number of a row
_AT_ONCE = "id=0,device=/job:localhost/replica:0/task:0/device:CPU:0,async=false"
_steps = itertools.count(1)


class ProfilerAlreadyRunningError(Exception):
    """A profiler is started while one is running."""


class ProfilerNotRunningError(Exception):
    """A profiler is stopped while none is running."""


class _Recording:
    """Everything that runs from now on until it ends, in sessions and at once.

    The operations inside of a traced function are not recorded, its calls are.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[tuple[str, int], tuple[str, list[dict[str, Any]]]] = {}
        self._began = time.time_ns()
        self._replaced = [
            self._replace(BaseSession, "run", self._recorded_run),
            self._replace(ImmediateGraph, "_run", self._recorded_operation),
            self._replace(ImmediateCalls, "__call__", self._recorded_function),
        ]

    def end(self) -> bytes:
        """Stop recording; return the recorded data as the bytes of a `Trace`."""
        for owner, name, plain in self._replaced:
            setattr(owner, name, plain)
        trace = file("tensorflow/core/protobuf/trace_events.proto")["Trace"]()
        if not self._rows:
            return b""
        places = sorted({place for place, _ in self._rows} - {_HOST})
        numbers = {place: number for number, place in enumerate([_HOST, *places])}
        for place, number in numbers.items():
            device = trace.devices[number]
            device.name, device.device_id = place, number
            device.resources[0].name = "0"
        for (place, row), (kind, events) in self._rows.items():
            resource = trace.devices[numbers[place]].resources[row]
            resource.name, resource.resource_id = kind, row
            for event in events:
                trace.trace_events.add(device_id=numbers[place], resource_id=row, **event)
        return bytes(trace.SerializeToString())

    def _replace(self, owner: type, name: str, recorded: Any) -> tuple[type, str, Any]:
        plain = getattr(owner, name)
        setattr(owner, name, recorded(plain))
        return owner, name, plain

    def _add(
        self, name: str, start: int, length: int, *, place: str = _HOST, computes: bool = False,
        label: str = "", long_name: str = "",
    ) -> None:  # fmt: skip
        """Add an event: its name, time of day and length, in nanoseconds, and its device `place`.

        If it `computes`, it belongs to the row beneath that of this thread.
        """
        row = threading.get_ident() + computes & _LARGEST
        args = {"label": label, "long name": long_name}
        event = {
            "name": name,
            "timestamp_ps": max(0, start - self._began) * _PICOSECONDS,
            "duration_ps": length * _PICOSECONDS,
            "args": {key: value for key, value in args.items() if value},
        }
        with self._lock:
            kind = "tf_Compute" if computes else "python"
            self._rows.setdefault((place, row), (kind, []))[1].append(event)

    def _recorded_run(self, plain: Any) -> Callable[..., Any]:
        recording = self

        def run(
            self: BaseSession, fetches: Any, feed_dict: Any = None, options: Any = None,
            run_metadata: Any = None,
        ) -> Any:  # fmt: skip
            traced = RunOptions()
            if options is not None:
                traced.CopyFrom(options)
            traced.trace_level = RunOptions.FULL_TRACE
            data = RunMetadata() if run_metadata is None else run_metadata
            start = time.time_ns()
            result = plain(self, fetches, feed_dict, traced, data)
            recording._add_run(data.step_stats, start, time.time_ns() - start)
            return result

        return run

    def _add_run(self, stats: Any, start: int, length: int) -> None:
        step = f"id={next(_steps)}"
        self._add("SessionRun ", start, length, label=step)
        for device in stats.dev_stats:
            place = _HOST if "CPU:" in device.device else device.device
            label = f"{step},device={device.device},async=false"
            for node in device.node_stats:
                kind = _type_of(node)
                self._add(
                    kind, node.all_start_nanos, node.op_end_rel_nanos, place=place, computes=True,
                    label=label, long_name=f"{node.node_name}:{kind}",
                )  # fmt: skip

    def _recorded_operation(self, plain: Any) -> Callable[..., Any]:
        recording = self

        def run(
            self: ImmediateGraph, kernel: Any, tensors: Sequence[Any], name: str | None = None
        ) -> list[Tensor]:
            start = time.time_ns()
            outputs = plain(self, kernel, tensors, name)
            kind, length = kernel.card.name, time.time_ns() - start
            recording._add(kind, start, length, label=_AT_ONCE, long_name=f"{kind}:{kind}")
            return outputs

        return run

    def _recorded_function(self, plain: Any) -> Callable[..., Any]:
        recording = self

        def run(self: ImmediateCalls, inputs: Sequence[Any]) -> list[Tensor]:
            start = time.time_ns()
            outputs = plain(self, inputs)
            length, long_name = time.time_ns() - start, f"FunctionRun:{self.name}"
            recording._add(self.name, start, length, long_name=long_name)
            return outputs

        return run


def _type_of(node: Any) -> str:
    """Return the type of an operation, of which its label tells: `name = Type(inputs)`."""
    _, _, told = node.timeline_label.partition(" = ")
    return told.partition("(")[0] or node.node_name


class _State:
    """The recording that is running, if any."""

    lock = threading.Lock()
    recording: _Recording | None = None


def start() -> None:
    """Start profiling: of all sessions and of operations that run when they are called."""
    with _State.lock:
        if _State.recording is not None:
            raise ProfilerAlreadyRunningError("Another profiler is running.")
        _State.recording = _Recording()


def stop() -> bytes:
    """Stop profiling; return a serialized `Trace` of what ran, no bytes if nothing did."""
    with _State.lock:
        if _State.recording is None:
            raise ProfilerNotRunningError("Cannot stop profiling. No profiler is running.")
        recording, _State.recording = _State.recording, None
        return recording.end()


def maybe_create_event_file(logdir: str) -> None:
    """Have TensorBoard look for profiles in a directory: make an event file, if there is none."""
    if not any(name.endswith(_EVENT_FILE_SUFFIX) for name in gfile.list_directory(logdir)):
        writer = EventsWriter(os.path.join(logdir, "events"))
        writer.InitWithSuffix(_EVENT_FILE_SUFFIX)
        writer.Close()


def save(logdir: str, result: bytes) -> None:
    """Write a profile, as of `stop`, where TensorBoard looks for it.

    It is written below `logdir`, as `plugins/profile/TIME/local.trace`.
    """
    folder = os.path.join(logdir, "plugins", "profile", time.strftime("%Y-%m-%d_%H-%M-%S"))
    gfile.recursive_create_dir(folder)
    maybe_create_event_file(logdir)
    gfile.write_string_to_file(os.path.join(folder, "local.trace"), result)


def start_profiler_server(port: int) -> None:
    """Raise NotImplementedError: profiles cannot be asked for over the network."""
    raise NotImplementedError(
        f"start_profiler_server({port}) is not supported by Stillflow: use start, stop and save of "
        "tensorflow.python.eager.profiler"
    )


class Profiler:
    """A context whose sessions and operations are profiled.

    Args:
      logdir: where the profile is written in the end; see `save`.
    """

    def __init__(self, logdir: str) -> None:
        self._logdir = logdir

    def __enter__(self) -> None:
        start()

    def __exit__(self, *unused: Any) -> None:
        save(self._logdir, stop())
