"""Origin of an exception: a `raise` statement, or the inside of a library."""

from __future__ import annotations

import dis
import os
import sysconfig

from stillflow._home import FOLDERS

_RAISE = dis.opmap["RAISE_VARARGS"]
_LIBRARIES = tuple(
    {os.path.abspath(sysconfig.get_path(key)) + os.sep for key in ("stdlib", "purelib", "platlib")}
)


def is_deliberate(error: BaseException) -> bool:
    """Return True for an error of a `raise` statement, whose text is meant for users.

    False for one that the interpreter, NumPy or torch raised at a statement of other code: its
    text is about values that the user has never seen.
    """
    trace = error.__traceback__
    if trace is None:
        return True
    while trace.tb_next is not None:
        trace = trace.tb_next
    code = trace.tb_frame.f_code
    if isinstance(error, AssertionError) or code.co_code[trace.tb_lasti] != _RAISE:
        return False
    return code.co_filename.startswith(FOLDERS) or not code.co_filename.startswith(_LIBRARIES)
