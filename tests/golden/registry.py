"""Golden programs: a builder ``def program(tf)`` and the runs that it returns."""

from __future__ import annotations

import importlib
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "programs"
PROGRAMS: dict[str, Program] = {}


class Run:
    """Fetches and feeds of a run in the program's session.

    Args:
        fetches: name -> fetch structure, run together at every step (after ``train``).
        feeds: a feed dict, or a list of them, one per step (taken in turn).
        setup: ops run once, one after the other, before the first step.
        train: fetch structure run first at every step; tensors in it are recorded as ``train/...``.
        steps: how often to repeat ``train`` and ``fetches``.
        facts: name -> Python or NumPy value found out while building; recorded as it is.
        call: ``call(session)`` returns a dict of values, for programs that use the session freely.
        fails: the run is expected to raise; class and first line of the message are recorded.
    """

    def __init__(
        self,
        fetches: dict[str, Any] | None = None,
        feeds: dict[Any, Any] | Sequence[dict[Any, Any]] | None = None,
        setup: Sequence[Any] = (),
        train: Any = None,
        steps: int = 1,
        facts: dict[str, Any] | None = None,
        call: Callable[[Any], dict[str, Any]] | None = None,
        fails: bool = False,
    ) -> None:
        self.fetches = fetches or {}
        self.feeds = feeds
        self.setup = list(setup)
        self.train = train
        self.steps = steps
        self.facts = facts or {}
        self.call = call
        self.fails = fails

    def feed(self, step: int) -> dict[Any, Any] | None:
        """Return the feed dict of one step."""
        if self.feeds is None or isinstance(self.feeds, dict):
            return self.feeds
        return self.feeds[step % len(self.feeds)]


class Program:
    """One registered builder, with how closely its values have to agree."""

    def __init__(
        self,
        name: str,
        build: Callable[[Any], Run | list[Run]],
        rtol: float | None = None,
        atol: float | None = None,
        reason: str | None = None,
        fails: bool = False,
    ) -> None:
        if (rtol is not None or atol is not None) and not reason:
            raise ValueError(name + ": a tolerance of its own needs a reason")
        self.name = name
        self.build = build
        self.rtol = rtol
        self.atol = atol
        self.fails = fails


def program(build: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Register a builder under ``<family>/<function name>``.

    The family is the path of its module below programs/, such as ``ops/math/reductions``.

    Options: ``rtol``, ``atol`` with a ``reason`` (tolerance for floating-point values), and
    ``fails=True`` for a builder that is expected to raise while it builds.
    """

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        family = function.__module__.partition(".programs.")[2].replace(".", "/")
        name = family + "/" + function.__name__
        if name in PROGRAMS:
            raise ValueError("two golden programs are called " + name)
        PROGRAMS[name] = Program(name, function, **options)
        return function

    return register(build) if build is not None else register


def raised(function: Callable[..., Any], *args: Any, **kwargs: Any) -> dict[str, str]:
    """Call something that must raise; return class name and first line of the message."""
    try:
        result = function(*args, **kwargs)
    except Exception as error:
        return describe_error(error)
    raise AssertionError(f"nothing was raised, but {result!r} returned")


def describe_error(error: BaseException) -> dict[str, str]:
    """Class name and first line of the message, without addresses and names of machines."""
    message = getattr(error, "message", None)
    text = message if isinstance(message, str) else str(error)
    first = (text.splitlines() or [""])[0]
    first = re.sub(r"running on \S+\.", "running on HOST.", first)
    first = re.sub(r"0x[0-9a-f]{6,}", "0x...", first)
    first = re.sub(r"Stack\[(\w+)_\d+\]", r"Stack[\1_N]", first)  # a process numbers its stacks
    return {"class": type(error).__name__, "message": first}


def families() -> list[str]:
    """Paths of the modules with programs, below programs/ and in alphabetical order."""
    files = [path for path in FOLDER.rglob("*.py") if path.name != "__init__.py"]
    return sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in files)


def split_name(name: str) -> tuple[str, str]:
    """Family and function name of a program."""
    family, _, function = name.rpartition("/")
    return family, function


def load_programs() -> dict[str, Program]:
    """Import every family and return all programs by name, in order of definition."""
    for family in families():
        importlib.import_module("tests.golden.programs." + family.replace("/", "."))
    return PROGRAMS


def internal_module(tf: Any, ours: str, theirs: str) -> Any:
    """Return a module outside of the public API: `stillflow.<ours>`, or `tensorflow.<theirs>`."""
    path = ours if tf.__name__ == "stillflow" else theirs
    rare = path.startswith("stillflow_contrib.")
    return importlib.import_module(path if rare else f"{tf.__name__}.{path}")


class InternalNames:
    """The names of an internal module of TensorFlow's, by its path below `tensorflow`."""

    def __init__(self, tf: Any, path: str) -> None:
        self._tf, self._path = tf, path

    def __getattr__(self, name: str) -> Any:
        if self._tf.__name__ == "stillflow":
            from stillflow.facade.lookup import lookup

            return lookup("tensorflow." + self._path, name)
        return getattr(internal_module(self._tf, "", self._path), name)


def eagerly(tf: Any, compute: Callable[[Any], dict[str, Any]], seed: int = 1) -> Run:
    """Return a run of what `compute(tf)` finds out while operations run when they are called."""
    context = internal_module(tf, "graph.eager_mode", "python.eager.context")
    with tf.Graph().as_default(), context.eager_mode():
        begin_anew = getattr(tf.get_default_graph(), "begin_anew", None)
        if begin_anew is not None:  # TensorFlow keeps collections in the graph above, a new one
            begin_anew()
        tf.set_random_seed(seed)
        return Run(facts=compute(tf))
