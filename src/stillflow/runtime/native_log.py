"""What TensorFlow says from C++: on stderr, unless TF_CPP_MIN_LOG_LEVEL asks for silence."""

from __future__ import annotations

import os
import sys


def info(text: str) -> None:
    """Says something that is good to know."""
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL", "0") in ("", "0"):
        print(text, file=sys.stderr, flush=True)
