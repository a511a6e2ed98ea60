"""Models on disk: of runs that an engine did, with answers that the plan agreed to.

A process that finds the model of a run needs neither the plan nor torch for it. A run is known by
its graph, fetches, feeds with their shapes, options, the versions of packages, and the processor.
A file is an ONNX message, named by its digest, or a small JSON object; none is a pickle.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import stat
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from stillflow import errors
from stillflow.files.atomic import remove, write_file
from stillflow.graph.constant_value import Dims
from stillflow.graph.graph import Graph
from stillflow.graph.graphdef import node_def
from stillflow.graph.operation import Tensor
from stillflow.runtime.engines import forks
from stillflow.runtime.engines.onnx_models import OnnxEngine, OnnxFunction
from stillflow.runtime.engines.region import Assignment, Guarded, OnnxModel

if TYPE_CHECKING:
    from stillflow.runtime.engines.choice import Choice
    from stillflow.runtime.ir.request import PlanRequest

_RELEASE = sys.modules["stillflow"].__stillflow_version__
_MOST = 1 << 30  # bytes of all files; those used least recently are deleted
_LARGEST = _MOST // 2
_ENDINGS = (".json", ".onnx")
_UNTIMED = 8  # runs by a model that no process has timed yet; as many as it takes to do so


class Verified(NamedTuple):
    """A whole run as a model.

    Attributes:
      engine: the name of the engine.
      model: its model.
      threads: the number of threads it was opened for.
      inputs: the positions of the model's inputs among the feeds.
      outputs: the positions of the fetches among the model's outputs.
    """

    engine: str
    model: OnnxModel
    threads: int
    inputs: Sequence[int]
    outputs: Sequence[int]


def _verified(assignment: Assignment, request: PlanRequest) -> Verified | None:
    """Return a run as a model; None if it is more than one, or hands feeds or constants on."""
    if not assignment.is_whole or len(assignment.regions) != 1:
        return None
    region, function = assignment.regions[0]
    values = region.graph.values
    fed = {values[tensor].name: place for place, tensor in enumerate(request.feeds)
           if tensor in values}  # fmt: skip
    made = {name: place for place, (name, _) in enumerate(region.outputs)}
    fetched = [values[tensor].name if tensor in values else "" for tensor in request.tensors]
    if not fed.keys() >= dict(region.inputs).keys() or not made.keys() >= {*fetched}:
        return None
    inputs, outputs = [fed[name] for name, _ in region.inputs], [made[name] for name in fetched]
    twice = len(set(outputs)) < len(outputs)  # would share memory
    if twice or not isinstance(function, OnnxFunction):
        return None
    return Verified(function.engine, function.model, region.threads, inputs, outputs)


def note_of(
    choice: Choice, request: PlanRequest, assignments: Mapping[str, Assignment]
) -> Callable[[str, bool], None]:
    """Return a function that keeps, or forgets, the model of a run when it is decided.

    The function takes the name of the engine, or that of the plan, and whether it was timed.
    """
    odd = request.skip or request.known or not request.tensors
    key = "" if odd else choice.key(request.tensors, request.feeds)

    def note(name: str, timed: bool) -> None:
        assignment = assignments.get(name)
        verified = None if assignment is None else _verified(assignment, request)
        if key and verified is not None:
            keep(key, verified, timed)
        elif key:
            forget(key)

    return note


def folder() -> str | None:
    """Return the folder of the files; None if it is off, or not this user's alone."""
    root = os.environ.get("XDG_CACHE_HOME", "")
    root = root if os.path.isabs(root) else os.path.expanduser("~/.cache")
    path = os.path.join(root, "stillflow")
    if os.environ.get("STILLFLOW_ENGINE_CACHE") == "0":
        return None
    try:
        os.makedirs(root, exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
        about = os.lstat(path)
    except OSError:
        return None
    closed = not hasattr(os, "getuid") or not about.st_mode & 0o077
    return path if stat.S_ISDIR(about.st_mode) and _is_own(about) and closed else None


def _is_own(about: os.stat_result) -> bool:
    """Return True for files of this user; for all on Windows, which closes folders of users."""
    return not hasattr(os, "getuid") or about.st_uid == os.getuid()


def graph_digest(graph: Graph) -> bytes:
    """Return a digest of a graph; b"" if it has state, which no model keeps."""
    if any(op.card.signature.is_stateful for op in graph._operations):
        return b""
    digest = hashlib.sha256()
    for op in graph._operations:
        digest.update(node_def(op).SerializeToString(deterministic=True))
    for name in sorted(graph._functions):
        digest.update(graph._functions[name].definition.SerializeToString(deterministic=True))
    return digest.digest()


def run_key(
    digest: bytes, engines: Sequence[Any], options: Any, tensors: Sequence[Tensor],
    feeds: Mapping[Tensor, Dims],
) -> str:  # fmt: skip
    """Return the key of a run; "" if it has none."""
    flags = any(dims is None or None in dims or (tensor.dtype.name == "bool" and not dims)
                for tensor, dims in feeds.items())  # fmt: skip
    if not digest or flags or not all(isinstance(engine, OnnxEngine) for engine in engines):
        return ""
    processors = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
    parts = (
        digest, options, [tensor.name for tensor in tensors],
        [(tensor.name, dims) for tensor, dims in feeds.items()],
        [each.name for each in engines], _RELEASE, np.__version__,
        sys.version_info[:2], sys.platform,
        _processor(), len(processors),
        [os.environ.get(name) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS")],
    )  # fmt: skip
    return hashlib.sha256(repr(parts).encode()).hexdigest()


def _processor() -> str:
    """Return the model of the processor, and the instructions that it has."""
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            lines = file.read(1 << 14).partition("\n\n")[0].splitlines()
    except OSError:
        return os.environ.get("PROCESSOR_IDENTIFIER", "")
    return "\n".join(line for line in lines if "MHz" not in line and "mips" not in line.lower())


def keep(key: str, verified: Verified, timed: bool) -> None:
    """Write the model of a run; do nothing where that is impossible, as on a full disk."""
    place = folder()
    model = verified.model
    size = len(model.content) + sum(array.nbytes for array in model.weights.values())
    if place is None or size > _LARGEST:
        return
    content = model.whole()
    name = hashlib.sha256(content).hexdigest()
    guards = [(int(guard.lowest), int(guard.highest)) for guard in model.guards]
    about = {
        "key": key, "model": name, "threads": verified.threads,
        "engine": verified.engine, "version": _version(verified.engine),
        "inputs": verified.inputs, "outputs": verified.outputs, "guards": guards, "timed": timed,
    }  # fmt: skip
    with suppress(OSError, errors.OpError):
        if _read(place, f"{name}.onnx") != content:
            write_file(os.path.join(place, f"{name}.onnx"), content, sync=False)
        write_file(os.path.join(place, f"{key}.json"), json.dumps(about).encode(), sync=False)
        _drop_oldest(place)


def _version(engine: str) -> str:
    return str(importlib.import_module(engine).__version__)


def forget(key: str) -> None:
    """Delete the verdict of a run."""
    place = folder()
    if place is not None:
        remove(os.path.join(place, f"{key}.json"))


def _drop_oldest(place: str) -> None:
    """Delete the files that were used least recently, until the rest is within bounds."""
    with os.scandir(place) as entries:
        found = [entry for entry in entries if entry.name.endswith(_ENDINGS)
                 or ".tempstate" in entry.name]  # fmt: skip
    files = sorted((entry.stat(follow_symlinks=False).st_mtime, entry.path) for entry in found)
    sizes = {path: os.lstat(path).st_size for _, path in files}
    total = sum(sizes.values())
    for _, path in files:
        if total <= _MOST:
            return
        remove(path)
        total -= sizes[path]


def _read(place: str, name: str) -> bytes:
    """Return the content of a file, which counts as used now; b"" if it is not a file of ours."""
    path = os.path.join(place, name)
    flags = [getattr(os, flag, 0) for flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_BINARY")]
    try:
        descriptor = os.open(path, os.O_RDONLY | sum(flags))
        with open(descriptor, "rb") as file:
            about = os.fstat(descriptor)
            if not stat.S_ISREG(about.st_mode) or not _is_own(about) or about.st_size > _LARGEST:
                return b""
            content = file.read()
        os.utime(path)
    except OSError:
        return b""
    return content


def find(
    key: str, engines: Sequence[Any], feeds: int, fetches: int
) -> tuple[Callable[..., list[Any]], int] | None:
    """Return the function of a stored run from arrays to arrays, and the runs it is good for.

    None if there is none, or none that is whole.
    """
    place = folder()
    if place is None:
        return None
    try:
        about = json.loads(_read(place, f"{key}.json"))
        name, threads = str(about["model"]), int(about["threads"])
        inputs, outputs = list(about["inputs"]), list(about["outputs"])
        guards = [Guarded("", int(lowest), int(highest)) for lowest, highest in about["guards"]]
        content = _read(place, f"{name}.onnx") if name.isalnum() else b""
        whole = hashlib.sha256(content).hexdigest() == name and len(outputs) == fetches
        engine = {each.name: each for each in engines}[about["engine"]]
        known = (about["key"], about["version"]) == (key, _version(engine.name))
        if not whole or not known or not {*inputs} <= {*range(feeds)}:
            return None
        run = engine.opened(OnnxModel(content, {}, guards), threads)
    except Exception:  # damaged, or of somebody else: the run is done without it, and replaces it
        return None

    def function(arrays: Sequence[np.ndarray]) -> list[Any]:
        found = run([arrays[number] for number in inputs])
        made = [found[number] for number in outputs]
        return [array if array.ndim else array[()] for array in made]

    return function, sys.maxsize if about.get("timed") is True else _UNTIMED


class StoredRun:
    """A run by a stored model; the plan does it after the first failure, and has its errors.

    Args:
      function: the stored function of all feeds.
      most: the number of runs that it may do.
      make_plan: makes the plan.
    """

    def __init__(
        self, function: Callable[..., list[Any]], most: int, make_plan: Callable[[], Any]
    ) -> None:
        self._function, self._left, self._make_plan = function, most, make_plan
        self._plan: Any = None
        self._lock = threading.Lock()
        forks.note(self)

    def __call__(self, *arrays: Any) -> list[Any]:
        if self._left > 0:
            self._left -= 1
            try:
                return self._function(arrays)
            except Exception:  # the plan raises TensorFlow's error, or has an answer
                self._left = 0
        with self._lock:
            self._plan = self._plan or self._make_plan()
        values: list[Any] = self._plan(*arrays)
        return values

    @property
    def chosen(self) -> str:
        """The runtime of the next run."""
        return "stored" if self._left > 0 else getattr(self._plan, "chosen", "plan")

    def after_fork(self) -> None:
        """Leave all runs to the plan, as `Trial` does."""
        self._left, self._lock = 0, threading.Lock()
