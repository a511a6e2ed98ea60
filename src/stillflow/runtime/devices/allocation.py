"""Settings of the C library that keep memory between steps."""

from __future__ import annotations

import ctypes
import sys

# Parameters of glibc's mallopt.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
_LARGEST_MMAP_THRESHOLD = 32 << 20  # glibc's maximum
_KEEP = 1 << 30


def keep_freed_memory() -> None:
    """Make the process reuse large buffers instead of requesting them at every step.

    By default glibc maps every large tensor again; a training step then spends a good part of its
    time on page faults. Does nothing where the C library is another one.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(_M_MMAP_THRESHOLD, _LARGEST_MMAP_THRESHOLD)
    mallopt(_M_TRIM_THRESHOLD, _KEEP)
