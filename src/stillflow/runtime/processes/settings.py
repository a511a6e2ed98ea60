"""Settings of process groups, by the variables that Horovod programs and clusters set."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from stillflow import errors


class Settings(NamedTuple):
    """Limits of a process group.

    Attributes:
      fusion_bytes: how large a bucket of several tensors may be.
      start_seconds: how long processes wait for each other at the start.
      warn_seconds: after so long an operation is named that some ranks have not come to; 0: never.
      fail_seconds: after so long it fails; 0: never.
      timeline: the file of rank 0's timeline; "" for none.
      mark_cycles: whether it has a mark where rank 0 calls operations.
    """

    fusion_bytes: int = 64 << 20
    start_seconds: float = 300.0
    warn_seconds: float = 60.0
    fail_seconds: float = 0.0
    timeline: str = ""
    mark_cycles: bool = False


_NAMES: dict[str, tuple[str, Callable[[str], Any]]] = {
    "fusion_bytes": ("HOROVOD_FUSION_THRESHOLD", int),
    "start_seconds": ("HOROVOD_START_TIMEOUT", float),
    "warn_seconds": ("HOROVOD_STALL_CHECK_TIME_SECONDS", float),
    "fail_seconds": ("HOROVOD_STALL_SHUTDOWN_TIME_SECONDS", float),
    "timeline": ("HOROVOD_TIMELINE", str),
    "mark_cycles": ("HOROVOD_TIMELINE_MARK_CYCLES", lambda text: bool(int(text))),
}


def from_environment(environ: Mapping[str, str] | None = None) -> Settings:
    """Return the settings; InvalidArgumentError for a variable that holds no number."""
    environ = os.environ if environ is None else environ
    found = {}
    for field, (name, kind) in _NAMES.items():
        text = environ.get(name, "")
        if not text:
            continue
        try:
            found[field] = kind(text)
        except ValueError:
            raise errors.invalid_argument(f"{name}={text!r} is no number") from None
    if environ.get("HOROVOD_STALL_CHECK_DISABLE", "0") not in ("", "0"):
        found.update(warn_seconds=0.0, fail_seconds=0.0)
    return Settings(**found)
