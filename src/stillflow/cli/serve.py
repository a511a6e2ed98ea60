"""Serve models by TensorFlow Serving's interfaces, gRPC and REST."""

from __future__ import annotations

import sys

from stillflow import errors


def main(arguments: list[str]) -> int:
    """Serve until a signal; return the exit status."""
    from stillflow.serve.log import log_to_stderr
    from stillflow.serve.settings import parse_flags

    settings = parse_flags(arguments)
    log_to_stderr()
    try:
        from stillflow.serve.server import Server
        from stillflow.serve.workers import Workers

        (Workers if settings.workers > 1 else Server)(settings).run()
    except (errors.OpError, ImportError) as error:
        message = error.message if isinstance(error, errors.OpError) else str(error)
        print(f"stillflow serve: {message}", file=sys.stderr)
        return 1
    return 0
