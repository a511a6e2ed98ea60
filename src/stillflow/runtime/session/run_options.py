"""Options of a run."""

from __future__ import annotations

from typing import Any


def check_options(options: Any, run_metadata: Any) -> None:
    """Raise an error for unsupported options of `Session.run`.

    Args:
      options: a `RunOptions`, or None.
      run_metadata: a `RunMetadata`, or None.

    Raises:
      TypeError: if one of them is something else.
    """
    for name, value, kind in (
        ("options", options, "RunOptions"),
        ("run_metadata", run_metadata, "RunMetadata"),
    ):
        if value is not None and type(value).__name__ != kind:
            raise TypeError(f"{name} must be a tf.{kind}, but got {type(value)}")


def untraced(options: Any) -> Any:
    """Return the `RunOptions` without tracing: a watched run has other times anyway."""
    copy = type(options)()
    copy.CopyFrom(options)
    copy.trace_level = 0
    return copy
