"""Options of a run."""

from __future__ import annotations

from typing import Any


def check_options(options: Any, run_metadata: Any) -> None:
    """Raise TypeError unless options of `Session.run` are of their messages' types, or None."""
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
