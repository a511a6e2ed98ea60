"""How much of what TensorFlow says from C++ is wanted: TF_CPP_MIN_LOG_LEVEL."""

from __future__ import annotations

import os
import re
import time

INFO, WARNING, ERROR = range(3)
_NUMBER = re.compile(r"\s*([+-]?\d+)")


def wanted(level: int) -> bool:
    """Whether messages of a level are to be written; what is no number counts as 0.

    Args:
      level: INFO, WARNING or ERROR.
    """
    number = _NUMBER.match(os.environ.get("TF_CPP_MIN_LOG_LEVEL", ""))
    return level >= (int(number[1]) if number else INFO)


def prefix(level: int) -> str:
    """What a line of the log begins with: the time, to the microsecond, and the level's letter.

    Args:
      level: INFO, WARNING or ERROR.
    """
    now = time.time()
    clock = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now))
    return f"{clock}.{int(now % 1 * 1e6):06d}: {'IWE'[level]} "
