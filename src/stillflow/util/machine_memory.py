"""The machine's total and free memory, on each operating system."""

from __future__ import annotations

import ctypes
import os
import sys


class _WindowsMemory(ctypes.Structure):
    """MEMORYSTATUSEX of the Windows API."""

    _fields_ = [
        ("length", ctypes.c_uint32),
        ("load", ctypes.c_uint32),
        ("total", ctypes.c_uint64),
        ("available", ctypes.c_uint64),
        *((name, ctypes.c_uint64) for name in ("a", "b", "c", "d", "e")),
    ]


def total_bytes() -> int | None:
    """Return the size of the physical memory; None where the system does not tell."""
    return _windows().total if sys.platform == "win32" else _pages("SC_PHYS_PAGES")


def available_bytes() -> int | None:
    """Return how much memory new tensors can take; None where the system does not tell."""
    if sys.platform == "win32":
        return _windows().available
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) << 10
    except OSError:  # macOS has no /proc
        pass
    return _pages("SC_AVPHYS_PAGES")


def room_below_limit() -> int | None:
    """Return how much the process may grow until its limit (`ulimit -v`); None without one."""
    if sys.platform == "win32":
        return None
    import resource

    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return limit - int(file.read().split()[0]) * resource.getpagesize()
    except OSError:
        return None


def _windows() -> _WindowsMemory:
    status = _WindowsMemory(length=ctypes.sizeof(_WindowsMemory))
    if sys.platform == "win32":
        ctypes.windll.kernel32.GlobalMemoryStatusEx(ctypes.byref(status))
    return status


def _pages(name: str) -> int | None:
    if sys.platform == "win32":
        return None
    try:
        return os.sysconf(name) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):  # a name that this system does not know
        return None
