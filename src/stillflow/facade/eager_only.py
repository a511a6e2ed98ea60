"""What ``tensorflow.python.eager.test`` has beside ``tf.test``."""

from __future__ import annotations

from typing import Any


def test_main(argv: Any = None) -> None:
    """Run the tests of a program with operations that run when they are called."""
    from stillflow.graph.eager_mode import enable_eager_execution
    from stillflow.testing.environment import main

    enable_eager_execution()
    main(argv)
