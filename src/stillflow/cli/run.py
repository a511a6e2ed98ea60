"""Run a program as plain Python would, with ``tensorflow`` served."""

from __future__ import annotations

import importlib.machinery
import os
import sys
from collections.abc import Callable
from types import CodeType, ModuleType

from stillflow.cli import python2_signs, tf0_signs
from stillflow.cli.frames import without_ours
from stillflow.facade.say import say


def run(arguments: list[str], revive: bool, find_nan: bool = False, python2: bool = False) -> None:
    """Run ``program.py``, ``-m module``, ``-c code`` or ``-`` with its arguments.

    `revive` brings back what Python and NumPy have removed; `find_nan` has sessions look for the
    first NaN; `python2` is for sources that Python 3 can read, and are Python 2's all the same.
    Errors of the program are raised, so that the interpreter ends as it always does.
    """
    import stillflow

    stillflow.install(revive=revive)
    from stillflow.cli import spawn

    spawn.serve_in_children(revive)
    if python2:
        from stillflow.facade.revive.sources import PYTHON2

        os.environ[PYTHON2] = "1"
    if find_nan:
        from stillflow.debug.nan_origin import find_nans

        find_nans()
    kind, *rest = arguments
    if kind == "-m":
        _guard(lambda: _run_module(rest))
    elif kind == "-c":
        _start(["-c", *rest[1:]], "")
        _guard(lambda: _execute(compile(rest[0], "<string>", "exec", dont_inherit=True)))
    elif kind == "-":
        _start(["-", *rest], "").__file__ = "<stdin>"
        _guard(lambda: _execute(compile(sys.stdin.read(), "<stdin>", "exec", dont_inherit=True)))
    else:
        _guard(lambda: _run_path(kind, rest))


def _run_path(path: str, rest: list[str]) -> None:
    if os.path.isdir(path) or path.endswith((".pyc", ".zip", ".pyz", ".egg")):
        import runpy

        if os.path.isdir(path) and not _has_main(path):
            where = os.path.join(os.getcwd(), path)
            print(f"{sys.executable}: can't find '__main__' module in {where!r}", file=sys.stderr)
            raise SystemExit(1)
        _start([path, *rest], None)
        runpy.run_path(path, run_name="__main__")
        return
    try:
        with open(path, "rb") as file:
            source = file.read()
    except OSError as error:
        where = os.path.join(os.getcwd(), path)
        reason = f"[Errno {error.errno}] {error.strerror}"
        print(f"{sys.executable}: can't open file {where!r}: {reason}", file=sys.stderr)
        raise SystemExit(2) from None
    module = _start([path, *rest], os.path.dirname(os.path.realpath(path)))
    file_name = os.path.abspath(path)
    module.__file__ = file_name
    module.__dict__["__cached__"] = None
    module.__loader__ = importlib.machinery.SourceFileLoader("__main__", file_name)
    from stillflow.facade.revive.sources import compiled

    _execute(compiled(source, file_name))


def _has_main(folder: str) -> bool:
    names = (f"__main__{suffix}" for suffix in importlib.machinery.all_suffixes())
    return any(os.path.exists(os.path.join(folder, name)) for name in names)


def _run_module(arguments: list[str]) -> None:
    import runpy

    _start(["-m", *arguments[1:]], os.getcwd())
    # What `python -m` itself does; the public run_module() would undo its work when the program's
    # last line is done, under the feet of threads and exit handlers.
    runpy._run_module_as_main(arguments[0])  # type: ignore[attr-defined]


def _start(argv: list[str], folder: str | None) -> ModuleType:
    """Set up ``sys.argv``, ``sys.path[0]`` (unless None) and a fresh ``__main__``."""
    sys.argv[:] = argv
    safe = sys.flags.isolated or getattr(sys.flags, "safe_path", False)
    if folder is not None and not safe:
        sys.path[0] = folder
    module = ModuleType("__main__")
    module.__dict__.update(__builtins__=__builtins__, __annotations__={})
    # The module that started us goes on living in our frames.
    sys.modules["__main__"] = module
    return module


def _execute(code: CodeType) -> None:
    exec(code, sys.modules["__main__"].__dict__)


def _guard(program: Callable[[], None]) -> None:
    """Run a program; report its error with a traceback that begins in the program.

    The exception then goes on to the interpreter, which reports it no more, but ends with the exit
    status, and the signal, that belong to it.
    """
    try:
        program()
    except SystemExit:
        raise
    except BaseException as error:
        without_ours(error)
        sys.last_type, sys.last_value = type(error), error
        sys.last_traceback = error.__traceback__
        sys.stdout.flush()
        sys.excepthook(type(error), error, error.__traceback__)
        sys.excepthook = _silent
        advice = tf0_signs.hint(error) or python2_signs.hint(error)
        if advice is not None:
            say(advice)
        raise


def _silent(*reported: object) -> None:
    """Take the place of ``sys.excepthook`` for an exception that was reported."""
