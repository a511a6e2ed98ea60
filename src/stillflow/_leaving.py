"""The end of the process, which is not to take longer than what a short program does.

PyTorch consists of 180,000 objects, and the interpreter would search them for garbage, again and
again, before it goes: 0.4 seconds.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import sys
from types import ModuleType

_FILE = io.IOBase.__base__  # of files written in C as well
_LIBRARY = os.path.dirname(os.__file__)


def leave_quickly() -> None:
    """Leave reference cycles to the end of the process; to be called last.

    Objects that modules hold outside of reference cycles are finalized as ever. Of the rest, which
    Python need not finalize either, files are flushed.
    """
    if "torch" not in sys.modules:
        return
    import ctypes

    are_files: dict[type, bool] = {}
    for each in gc.get_objects():
        kind = type(each)
        if kind not in are_files:
            are_files[kind] = _FILE in kind.__mro__
        if are_files[kind]:
            with contextlib.suppress(Exception):  # closed, or a pipe that nobody reads
                each.flush()
    for module in list(sys.modules.values()):
        if _is_of_the_program(module):
            # Functions and their module are a cycle. The interpreter empties modules that are
            # still there after its search for garbage.
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(module))
    gc.freeze()


def _is_of_the_program(module: ModuleType) -> bool:
    """Return True if a module belongs to the program: not to Python, an installed package or us."""
    name, file = getattr(module, "__name__", ""), getattr(module, "__file__", None) or ""
    others = file.startswith(_LIBRARY) or "-packages" in file or name.startswith("stillflow")
    return name == "__main__" or bool(file and not others)
