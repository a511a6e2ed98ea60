"""Serve the name ``tensorflow`` in this process, and stop doing so."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.machinery import ModuleSpec

from stillflow import errors
from stillflow.facade import callers
from stillflow.facade import horovod_names as horovod
from stillflow.facade.finder import ROOT, Finder, InsideFinder, real_spec

_MIXED = (
    "A real TensorFlow {version} is already imported in this process ({file}), and Stillflow will "
    "not mix with it. Call stillflow.install() before anything imports tensorflow, or run the "
    "program with `python -m stillflow program.py`, or use an environment without TensorFlow."
)
_OURS, _THEIRS = errors.__name__, "tensorflow.python.framework.errors_impl"
_finder: Finder | None = None
_find_spec = importlib.util.find_spec


def install(shadow: bool = True) -> None:
    """Serve ``tensorflow`` from now on; does nothing if it is served already.

    Args:
      shadow: whether to take the place of a TensorFlow that is installed but not imported.
        If not, that one is imported as if Stillflow were not there.

    Raises:
      ImportError: a real TensorFlow is already imported in this process.
    """
    global _finder
    loaded = sys.modules.get(ROOT)
    if loaded is not None and not getattr(loaded, "__stillflow__", False):
        raise ImportError(
            _MIXED.format(
                version=getattr(loaded, "__version__", ""),
                file=getattr(loaded, "__file__", "no file"),
            )
        )
    if _finder is not None:
        return
    if shadow and real_spec() is not None:
        from stillflow.facade.say import say

        say("TensorFlow is installed in this environment; this process uses Stillflow in its place")
    _finder = Finder(shadow)
    _name_errors(_OURS, _THEIRS)
    sys.meta_path.insert(0, _finder)
    sys.meta_path += [InsideFinder, horovod.HorovodFinder]
    importlib.util.find_spec = _probe
    importlib.invalidate_caches()


def serving() -> bool:
    """Return whether ``import tensorflow`` means Stillflow in this process."""
    return _finder is not None and (_finder.shadow or real_spec() is None)


def spec() -> ModuleSpec | None:
    """Return the spec of ``tensorflow`` as it is served."""
    return _finder.find_spec(ROOT) if _finder is not None else None


def uninstall() -> None:
    """Stop serving ``tensorflow``; programs keep the modules that they hold already."""
    global _finder
    if _finder is None:
        return
    if _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
        sys.meta_path.remove(InsideFinder)
        sys.meta_path.remove(horovod.HorovodFinder)
    if importlib.util.find_spec is _probe:
        importlib.util.find_spec = _find_spec
    _finder = None
    _name_errors(_THEIRS, _OURS)
    for name in [name for name in sys.modules if name == ROOT or name.startswith(ROOT + ".")]:
        del sys.modules[name]
    for name in horovod.MODULES.keys() & sys.modules.keys() if not horovod.is_installed() else ():
        del sys.modules[name]


def _name_errors(before: str, now: str) -> None:
    """Have tracebacks, logs and pickles name error classes as members of another module."""
    for kind in vars(errors).values():
        if isinstance(kind, type) and issubclass(kind, Exception) and kind.__module__ == before:
            kind.__module__ = now


def _probe(name: str, package: str | None = None) -> ModuleSpec | None:
    """Find a module's spec as usual, except that probes for TensorFlow find none."""
    if (name == ROOT or name.startswith(ROOT + ".")) and callers.denied():
        return None
    return _find_spec(name, package)


def install_and_revive(shadow: bool = True, revive: bool = True) -> None:
    """Serve the name `tensorflow`; see `stillflow.install`."""
    install(shadow=shadow)
    if os.environ.get("STILLFLOW_TF0"):
        from stillflow.facade.tf0 import activate_as_parent

        activate_as_parent()
    if revive:
        from stillflow.facade.revive import activate

        activate()
