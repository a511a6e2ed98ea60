"""Writing TFRecords of some 200 bytes each, of sizes that vary: no graph, only files."""

from __future__ import annotations

import os
import random
import tempfile
from collections.abc import Callable
from typing import Any

STEPS = 20
RECORDS = 20000


def contents() -> list[bytes]:
    """Return the content: as many bytes as in an example with a few features."""
    noise = random.Random(0)
    block = bytes(noise.randrange(256) for _ in range(4096))
    sizes = [noise.randrange(100, 300) for _ in range(RECORDS)]
    return [block[size:2 * size] for size in sizes]


def write(tf: Any, path: str, records: list[bytes]) -> None:
    """Write a file."""
    with tf.python_io.TFRecordWriter(path) as writer:
        for record in records:
            writer.write(record)


def build(tf: Any) -> Callable[[], float]:
    """Return a function that writes a file and returns its size."""
    tf.logging.set_verbosity(tf.logging.ERROR)
    records = contents()
    folder = tempfile.TemporaryDirectory()

    def step() -> float:
        path = os.path.join(folder.name, "records")
        write(tf, path, records)
        return float(os.path.getsize(path))

    return step
