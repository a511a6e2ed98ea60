"""Level of TensorFlow's messages from C++: TF_CPP_MIN_LOG_LEVEL."""

from __future__ import annotations

import os
import re
import time

INFO, WARNING, ERROR = range(3)
_NUMBER = re.compile(r"\s*([+-]?\d+)")


def wanted(level: int) -> bool:
    """Return True if messages of INFO, WARNING or ERROR are wanted; odd settings count as 0."""
    number = _NUMBER.match(os.environ.get("TF_CPP_MIN_LOG_LEVEL", ""))
    return level >= (int(number[1]) if number else INFO)


def prefix(level: int) -> str:
    """Return the first part of a log line: the time, to the microsecond, and the level's letter."""
    now = time.time()
    clock = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    return f"{clock}.{int(now % 1 * 1e6):06d}: {'IWE'[level]} "
