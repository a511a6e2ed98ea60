"""``python -m stillflow``; see ``stillflow.cli``."""

from __future__ import annotations

import sys


def main(arguments: list[str] | None = None) -> int | None:
    """Run the command line; returns the exit status (None: the program's own)."""
    from stillflow.cli import main as run

    return run(sys.argv[1:] if arguments is None else arguments)


if __name__ == "__main__":
    sys.exit(main())
