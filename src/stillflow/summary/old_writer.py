"""`SummaryWriter`, as `FileWriter` was called before TensorFlow 1.0."""

from __future__ import annotations

from typing import Any

from stillflow.summary.writer import FileWriter
from stillflow.util.deprecation import deprecated


class SummaryWriter(FileWriter):
    """A `FileWriter`.

    Args:
      logdir, graph, max_queue, flush_secs, graph_def: as of `FileWriter`.
    """

    @deprecated(
        "2016-11-30",
        "Please switch to tf.summary.FileWriter. The interface and behavior is the same; this is "
        "just a rename.",
    )
    def __init__(
        self, logdir: Any, graph: Any = None, max_queue: int = 10, flush_secs: float = 120,
        graph_def: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(logdir, graph, max_queue, flush_secs, graph_def)
