"""The memory of the machine, where systems tell of it and where they do not."""

from __future__ import annotations

import builtins
import os
import sys

import pytest

from stillflow.util import machine_memory


@pytest.mark.skipif(sys.platform != "linux", reason="Linux tells all of it")
def test_linux_tells_all() -> None:
    total, available = machine_memory.total_bytes(), machine_memory.available_bytes()
    assert 0 < available <= total


@pytest.mark.skipif(sys.platform == "win32", reason="other functions are asked on Windows")
def test_macos_tells_the_size_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    total = machine_memory.total_bytes()
    plain_open, plain_sysconf = builtins.open, os.sysconf

    def without_proc(path, *rest, **options):
        if str(path).startswith("/proc/"):
            raise FileNotFoundError(path)
        return plain_open(path, *rest, **options)

    def without_free_pages(name):
        if name == "SC_AVPHYS_PAGES":
            raise ValueError("unrecognized configuration name")
        return plain_sysconf(name)

    monkeypatch.setattr(builtins, "open", without_proc)
    monkeypatch.setattr(os, "sysconf", without_free_pages)
    assert machine_memory.total_bytes() == total
    assert machine_memory.available_bytes() is None
    assert machine_memory.room_below_limit() is None


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such limit")
def test_a_limit_of_the_process_leaves_less(monkeypatch: pytest.MonkeyPatch) -> None:
    import resource

    assert machine_memory.room_below_limit() is None
    monkeypatch.setattr(resource, "getrlimit", lambda kind: (1 << 50, 1 << 50))
    room = machine_memory.room_below_limit()
    assert room is None if sys.platform == "darwin" else 0 < room < 1 << 50
