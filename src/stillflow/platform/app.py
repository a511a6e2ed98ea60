"""tf.app.run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from stillflow._export import export


@export("app.run")
def run(main: Callable[[list[str]], Any] | None = None, argv: list[str] | None = None) -> None:
    """Parse the flags, run a main function with the rest of the arguments, and exit.

    Undefined flags are left in the arguments without an error.

    Args:
      main: called with the remaining arguments; by default the program's own `main`.
      argv: the arguments, program name first; by default `sys.argv`.

    Raises:
      SystemExit: always, with the result of `main`.

    Example:
      >>> tf.app.run(main=lambda argv: "trained on " + argv[1], argv=["train.py", "mnist"])
      Traceback (most recent call last):
      SystemExit: trained on mnist
    """
    from absl import app

    main = main or sys.modules["__main__"].main
    app.run(main=main, argv=argv, flags_parser=_parse_known)


def _parse_known(argv: Sequence[str] | None) -> list[str]:
    from stillflow.platform.flags import FLAGS

    left: list[str] = FLAGS(sys.argv if argv is None else argv, known_only=True)
    return left
