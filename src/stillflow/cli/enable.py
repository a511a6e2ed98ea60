"""Make plain ``python`` of this environment serve tensorflow.

A file of one line in this environment's site-packages puts a finder of a few microseconds before
the others; Stillflow itself is imported when something imports tensorflow, or NumPy: cells of
notebooks use what NumPy has removed before they come to tensorflow.
"""

from __future__ import annotations

import os
import sys
import sysconfig

from stillflow.cli import takes_nothing

NAME = "stillflow-enabled.pth"
_HOOK = """\
import sys, os
class StillflowEnabled:
    is_fallback = True
    old_world = False
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name not in ("tensorflow", "numpy") or os.environ.get("STILLFLOW_ENABLED") == "0":
            return None
        if name == "numpy" and cls.old_world:
            return None
        cls.old_world = True
        try:
            from stillflow.cli import enable
        except ImportError:
            sys.meta_path.remove(cls)
            return None
        if name == "numpy":
            return enable.bring_back(name)
        sys.meta_path.remove(cls)
        return enable.take_over(cls)
sys.meta_path.insert(0, StillflowEnabled)
"""


def main(arguments: list[str]) -> int:
    """Write the file; returns the exit status."""
    takes_nothing("enable", arguments)
    path = location()
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"import sys; exec({_HOOK!r}, {{'__name__': 'stillflow.enabled'}})\n")
    except OSError as error:
        print(f"stillflow: cannot write {path}: {error.strerror}", file=sys.stderr)
        return 1
    print(
        f"`import tensorflow` is now served by Stillflow for {sys.executable}\n  ({path})\n"
        "Undo with: python -m stillflow disable"
    )
    return 0


def location() -> str:
    """Return the path of the file in this environment's site-packages."""
    return os.path.join(sysconfig.get_path("purelib"), NAME)


def take_over(hook: type) -> object:
    """Serve tensorflow, as `hook` was asked to; a TensorFlow that is installed goes first.

    Returns the spec, None for a library that only probes or where a real one is installed.
    """
    import stillflow
    from stillflow.facade import callers, install
    from stillflow.facade.finder import real_spec

    if real_spec() is not None:
        return None
    if callers.denied():
        sys.meta_path.insert(0, hook)  # type: ignore[arg-type]
        return None
    stillflow.install(shadow=False)
    return install.spec()


def bring_back(name: str) -> object:
    """Bring the old world back where Stillflow is TensorFlow, before a program imports that.

    Returns the spec of the module that the program imports first.
    """
    import importlib.util

    from stillflow.facade.finder import real_spec
    from stillflow.facade.revive import activate

    if real_spec() is None:
        activate()
    return importlib.util.find_spec(name)
