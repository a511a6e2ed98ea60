"""The server's log: one line of JSON for each event, on stderr."""

from __future__ import annotations

import json
import logging
import sys
import time

logger = logging.getLogger("stillflow.serve")
_PLAIN = vars(logging.LogRecord("", 0, "", 0, "", None, None)).keys() | {"message", "asctime"}


class JsonFormatter(logging.Formatter):
    """Formatter of log records as JSON: time, level, event, and the fields given as `extra`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        line = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "event": record.getMessage(),
        }
        line.update(
            (name, round(value, 6) if isinstance(value, float) else value)  # type: ignore[misc]
            for name, value in vars(record).items()
            if name not in _PLAIN
        )
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_to_stderr() -> None:
    """Send the events to stderr, and to no other handler."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    for each in (logger, logging.getLogger("stillflow.util.grpc_handlers")):
        each.handlers[:] = [handler]
        each.propagate = False
        each.setLevel(logging.INFO)
