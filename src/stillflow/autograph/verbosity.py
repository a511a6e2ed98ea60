"""Log of the conversion: `tf.autograph.set_verbosity`, `tf.autograph.trace`."""

from __future__ import annotations

import os
import sys
from typing import Any

from stillflow.graph.export import export
from stillflow.platform import tf_logging

_VARIABLE = "AUTOGRAPH_VERBOSITY"
_level: int | None = None
echo_log_to_stdout = hasattr(sys, "ps1") or hasattr(sys, "ps2")


@export("autograph.set_verbosity")
def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Says how much conversion logs; it goes before the variable `AUTOGRAPH_VERBOSITY`.

    Args:
      level: 0 for nothing; a larger number for more.
      alsologtostdout: whether it is printed too.
    """
    global _level, echo_log_to_stdout
    _level, echo_log_to_stdout = level, alsologtostdout


@export("autograph.trace")
def trace(*args: Any) -> None:
    """Print the arguments while a graph is built: tensors as tensors, not their values."""
    print(*args)


def log(level: int, message: str, *args: Any) -> None:
    """Log a message at level INFO, if the verbosity is at least `level`."""
    asked = int(os.environ.get(_VARIABLE, 0)) if _level is None else _level
    if asked >= level:
        _say(tf_logging.info, "", message, args)


def warn(message: str, *args: Any) -> None:
    """Log a warning."""
    _say(tf_logging.warning, "WARNING: ", message, args)


def _say(logger: Any, prefix: str, message: str, args: tuple[Any, ...]) -> None:
    logger(message, *args)
    if echo_log_to_stdout:
        print(prefix + message % args)
