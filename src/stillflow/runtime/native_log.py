"""TensorFlow's messages from C++: on stderr, unless TF_CPP_MIN_LOG_LEVEL suppresses them."""

from __future__ import annotations

import sys

from stillflow.platform import native_level


def info(text: str, source: str = "") -> None:
    """Say something that is good to know.

    `source` is the line of TensorFlow's runtime that says it word for word, after the time.
    """
    if native_level.wanted(native_level.INFO):
        if source:
            text = f"{native_level.prefix(native_level.INFO)}tensorflow/core/{source}] {text}"
        print(text, file=sys.stderr, flush=True)
