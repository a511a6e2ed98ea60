"""What TensorFlow says from C++: on stderr, unless TF_CPP_MIN_LOG_LEVEL asks for silence."""

from __future__ import annotations

import sys

from stillflow.platform import native_level


def info(text: str) -> None:
    """Says something that is good to know."""
    if native_level.wanted(native_level.INFO):
        print(text, file=sys.stderr, flush=True)
