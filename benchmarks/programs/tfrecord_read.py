"""Reading the TFRecords that tfrecord_write writes."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from typing import Any

from .tfrecord_write import contents, write

STEPS = 20


def build(tf: Any) -> Callable[[], float]:
    """Return a function that reads a file and returns how many bytes its records have."""
    tf.logging.set_verbosity(tf.logging.ERROR)
    folder = tempfile.TemporaryDirectory()
    path = os.path.join(folder.name, "records")
    write(tf, path, contents())

    def step() -> float:
        folder.name  # noqa: B018  (keeps the file)
        total = 0
        for record in tf.python_io.tf_record_iterator(path):
            total += len(record)
        return float(total)

    return step
