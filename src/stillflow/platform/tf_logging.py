"""tf.logging: the logger `tensorflow`, and functions that write to it."""

from __future__ import annotations

import itertools
import logging
import os
import sys
import threading
import time
import traceback
from collections import defaultdict
from collections.abc import Iterator
from types import FrameType
from typing import Any

from stillflow._export import export, export_value

DEBUG = export_value("logging.DEBUG", logging.DEBUG)
INFO = export_value("logging.INFO", logging.INFO)
WARN = export_value("logging.WARN", logging.WARNING)
ERROR = export_value("logging.ERROR", logging.ERROR)
FATAL = export_value("logging.FATAL", logging.CRITICAL)

_SEVERITIES = {FATAL: "F", ERROR: "E", WARN: "W", INFO: "I", DEBUG: "D"}
_HERE = frozenset({__file__, logging.__file__})
_logger: logging.Logger | None = None
_lock = threading.Lock()
_calls: defaultdict[tuple[str, int], Iterator[int]] = defaultdict(itertools.count)


@export("get_logger")
def get_logger() -> logging.Logger:
    """Return the logger `tensorflow`.

    Unless the program has configured logging, it writes lines like `INFO:tensorflow:text` to
    stderr; in an interactive interpreter, from INFO on, to stdout.
    """
    global _logger
    with _lock:
        if _logger is None:
            logger = logging.getLogger("tensorflow")
            logger.findCaller = _find_caller  # type: ignore[method-assign]
            if not logging.getLogger().handlers:
                _add_handler(logger)
            _logger = logger
        return _logger


def _add_handler(logger: logging.Logger) -> None:
    interactive = bool(getattr(sys, "ps1", False)) or sys.flags.interactive
    if interactive:
        logger.setLevel(INFO)
    handler = _Handler(sys.stdout if interactive else sys.stderr)
    handler.setFormatter(logging.Formatter(logging.BASIC_FORMAT, None))
    logger.addHandler(handler)


class _Handler(logging.StreamHandler):
    """Handler whose lines absl, once a program has started it, does not print again."""

    _absl: Any = None

    def emit(self, record: logging.LogRecord) -> None:
        super().emit(record)
        absl: Any = sys.modules.get("absl.logging")
        if self._absl is None and hasattr(absl, "get_absl_handler"):
            self._absl = absl.get_absl_handler()
            self._absl.addFilter(self._is_news_to_absl)

    def _is_news_to_absl(self, record: logging.LogRecord) -> bool:
        """Return False for a line of this logger's that absl would print next to its copy."""
        printed = record.name == "tensorflow" and self in logging.getLogger("tensorflow").handlers
        return not printed or self._absl.python_handler.stream is not self.stream


def _caller() -> FrameType | None:
    """Return the frame that called into this module or into `logging`."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename in _HERE:
        frame = frame.f_back
    return frame


def _find_caller(stack_info: bool = False, stacklevel: int = 1) -> tuple[str, int, str, str | None]:
    frame = _caller()
    stack = "\n".join(traceback.format_stack()) if stack_info else None
    if frame is None:
        return "(unknown file)", 0, "(unknown function)", stack
    return frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, stack


def _file_and_line() -> tuple[str, int]:
    frame = _caller()
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("<unknown>", 0)


@export("logging.log")
def log(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log `msg % args` at a level."""
    get_logger().log(level, msg, *args, **kwargs)


@export("logging.debug")
def debug(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log `msg % args` at level DEBUG."""
    get_logger().debug(msg, *args, **kwargs)


@export("logging.info")
def info(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log `msg % args` at level INFO.

    Args:
      msg: a format string.
      *args: its values.

    Example:
      >>> with tf.test.TestCase().assertLogs("tensorflow") as logs: tf.logging.info("step %d", 10)
      >>> logs.output[-1]
      'INFO:tensorflow:step 10'
    """
    get_logger().info(msg, *args, **kwargs)


@export("logging.warning", "logging.warn")
def warning(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log `msg % args` at level WARN.

    Args:
      msg: a format string.
      *args: its values.

    Example:
      >>> with tf.test.TestCase().assertLogs("tensorflow") as logs: tf.logging.warning("%d lost", 2)
      >>> logs.output[-1]
      'WARNING:tensorflow:2 lost'
    """
    get_logger().warning(msg, *args, **kwargs)


warn = warning


@export("logging.error")
def error(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log `msg % args` at level ERROR."""
    get_logger().error(msg, *args, **kwargs)


@export("logging.fatal")
def fatal(msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log `msg % args` at level FATAL; the program goes on."""
    get_logger().fatal(msg, *args, **kwargs)


@export("logging.vlog")
def vlog(level: int, msg: Any, *args: Any, **kwargs: Any) -> None:
    """Log `msg % args` at a level."""
    get_logger().log(level, msg, *args, **kwargs)


@export("logging.TaskLevelStatusMessage")
def TaskLevelStatusMessage(msg: Any) -> None:
    """Log a message at level ERROR."""
    error(msg)


@export("logging.flush")
def flush() -> None:
    """Raise an error, as TensorFlow does: handlers write at once.

    Raises:
      NotImplementedError: always.
    """
    raise NotImplementedError()


@export("logging.log_if")
def log_if(level: int, msg: Any, condition: Any, *args: Any) -> None:
    """Log `msg % args` at a level if a condition holds."""
    if condition:
        vlog(level, msg, *args)


def _count() -> int:
    """Return the earlier count in this file for the line that called into the file.

    As in TensorFlow: all lines of a program of one file share one count.
    """
    frame = _caller()
    file = None if frame is None else frame.f_code.co_filename
    while frame is not None and frame.f_code.co_filename == file:
        frame = frame.f_back
    place = ("<unknown>", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)
    return next(_calls[place])


@export("logging.log_every_n")
def log_every_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log `msg % args` the first time this file of the program counts, and every n-th after."""
    log_if(level, msg, not _count() % n, *args)


@export("logging.log_first_n")
def log_first_n(level: int, msg: Any, n: int, *args: Any) -> None:
    """Log `msg % args` the first n times this file of the program counts."""
    log_if(level, msg, _count() < n, *args)


@export("logging.get_verbosity")
def get_verbosity() -> int:
    """Return the level from which on messages are logged."""
    return get_logger().getEffectiveLevel()


@export("logging.set_verbosity")
def set_verbosity(v: int | str) -> None:
    """Set the level from which on messages are logged.

    Args:
      v: a level, such as `tf.logging.INFO`.

    Example:
      >>> tf.logging.set_verbosity(tf.logging.ERROR)
      >>> tf.logging.warning("not shown")
      >>> tf.logging.get_verbosity() == tf.logging.ERROR
      True
    """
    get_logger().setLevel(v)


def google2_log_prefix(
    level: int, timestamp: float | None = None, file_and_line: tuple[str, int] | None = None
) -> str:
    """Return the beginning of a line in Google's style: `W0131 12:00:00.000000  1234 file.py:1] `.

    The time is by default now, file and line the caller's.
    """
    now = timestamp or time.time()
    then = time.localtime(now)
    path, line = file_and_line or _file_and_line()
    thread = threading.get_ident() & (2 * sys.maxsize + 1)
    return "{}{:02d}{:02d} {}.{:06d} {:5d} {}:{}] ".format(
        _SEVERITIES.get(level, "I"),
        then.tm_mon,
        then.tm_mday,
        time.strftime("%H:%M:%S", then),
        int(1e6 * (now % 1.0)),
        thread,
        os.path.basename(path),
        line,
    )
