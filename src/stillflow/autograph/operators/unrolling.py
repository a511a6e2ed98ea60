"""A look at long loops of Python: they may have been meant as loops of the graph."""

from __future__ import annotations

from typing import Any

from stillflow.autograph.verbosity import warn
from stillflow.graph.graph import get_default_graph

LIMIT_PYTHON_ITERATIONS = True
PYTHON_MAX_ITERATIONS = 100000000
WARN_INEFFICIENT_UNROLL = True
INEFFICIENT_UNROLL_MIN_ITERATIONS = 3000
_LOOKS = 4  # iterations that are looked at before the loop is found harmless


class LoopWatch:
    """A context around each iteration: warns once if late ones still make operations."""

    def __init__(self) -> None:
        self.iterations = 0
        self.looks = _LOOKS if WARN_INEFFICIENT_UNROLL else 0
        self.before: int | None = None

    def __enter__(self) -> None:
        if self.looks and self.iterations > INEFFICIENT_UNROLL_MIN_ITERATIONS:
            self.before = len(get_default_graph().get_operations())

    def __exit__(self, *details: Any) -> None:
        self.iterations += 1
        if LIMIT_PYTHON_ITERATIONS and self.iterations > PYTHON_MAX_ITERATIONS:
            raise ValueError("iteration limit exceeded")
        if self.before is None or not self.looks:
            return
        self.looks -= 1
        made = get_default_graph().get_operations()[self.before :]
        if made:
            self.looks = 0
            warn(
                "TensorFlow ops are being created in a Python loop with large number of iterations."
                " This can lead to slow startup. Did you mean to use a TensorFlow loop? For "
                "example, `while True:` is a Python loop, and `while tf.constant(True):` is a "
                "TensorFlow loop. The following ops were created after iteration %s: %s",
                self.iterations, tuple(made),
            )  # fmt: skip
