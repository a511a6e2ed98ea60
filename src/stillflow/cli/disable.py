"""Undo ``python -m stillflow enable``."""

from __future__ import annotations

import os
import sys

from stillflow.cli import takes_nothing
from stillflow.cli.enable import location


def main(arguments: list[str]) -> int:
    """Remove the file; returns the exit status."""
    takes_nothing("disable", arguments)
    try:
        os.remove(location())
    except FileNotFoundError:
        print("`import tensorflow` was not served by Stillflow; nothing to undo")
        return 0
    except OSError as error:
        print(f"stillflow: cannot remove {location()}: {error.strerror}", file=sys.stderr)
        return 1
    print(f"`import tensorflow` is no longer served by Stillflow for {sys.executable}")
    return 0
