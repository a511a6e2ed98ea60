"""How much of what TensorFlow says from C++ is wanted: TF_CPP_MIN_LOG_LEVEL."""

from __future__ import annotations

import os
import re

INFO, WARNING, ERROR = range(3)
_NUMBER = re.compile(r"\s*([+-]?\d+)")


def wanted(level: int) -> bool:
    """Whether messages of a level are to be written; what is no number counts as 0.

    Args:
      level: INFO, WARNING or ERROR.
    """
    number = _NUMBER.match(os.environ.get("TF_CPP_MIN_LOG_LEVEL", ""))
    return level >= (int(number[1]) if number else INFO)
