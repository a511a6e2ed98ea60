"""Room on Python's own stack for the calls of a long function.

Python keeps frames in chunks of 16 KiB. Where the frame of a plan of a thousand steps happens to
fill one up, every kernel that it calls gets a new chunk from the operating system and gives it
back when it returns: steps of tiny kernels then take twice as long. A frame larger than a chunk
gets one of its own, which Python makes with room to spare.
"""

from __future__ import annotations

from types import FunctionType

_CHUNK = 16 << 10  # bytes, as in pystate.c
_WORD = 8
LONG = 256  # steps of a plan: one chunk costs less than they do


def with_own_chunk(function: FunctionType) -> FunctionType:
    """Make a function's frame begin a chunk of the stack that has room for its calls."""
    code = function.__code__
    words = max(code.co_stacksize, _CHUNK // _WORD)
    function.__code__ = code.replace(co_stacksize=words)
    return function
