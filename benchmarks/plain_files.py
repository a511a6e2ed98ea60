"""Saving and restoring compared with plain files of the same bytes, and `inspect` of 1 GB.

    python -m benchmarks.plain_files

Prints medians. Restoring verifies every checksum and leaves the values in the variables; the plain
read leaves its bytes in memory that is there already, too.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import count

import numpy as np

from benchmarks.checkpoints import Saved, variables
from benchmarks.child import median, timed

TIMES = 11


def medians(works: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the seconds of each work, measured alternately."""
    taken: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(TIMES):
        for name, work in works.items():
            taken[name].append(timed(work))
    return {name: median(values[1:]) for name, values in taken.items()}


def works(saved: Saved, saver: object) -> dict[str, Callable[[], object]]:
    """Return the works to compare, by name."""
    path = saver.save(saved.session, saved.prefix + "-kept", write_meta_graph=False)  # type: ignore[attr-defined]
    data = path + ".data-00000-of-00001"
    content = np.fromfile(data, np.uint8)
    memory = np.empty_like(content)
    numbers: Iterator[int] = count()

    def write() -> None:
        with open(f"{saved.prefix}-plain{next(numbers) % 2}", "wb") as file:
            file.write(content)

    def read() -> None:
        with open(data, "rb", buffering=0) as file:
            file.readinto(memory)  # type: ignore[attr-defined]

    def save() -> None:
        saved.saver.save(
            saved.session, saved.prefix, global_step=next(numbers), write_meta_graph=False
        )

    def restore() -> None:
        saved.saver.restore(saved.session, path)

    return {"plain write": write, "save": save, "plain read": read, "restore": restore}


def inspect(path: str) -> float:
    """Seconds that `inspect` takes as a command of its own."""
    command = [sys.executable, "-m", "stillflow", "inspect", path]
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Measures and prints."""
    import stillflow as tf

    saved = variables(tf)
    found = medians(works(saved, tf.train.Saver()))
    for name, seconds in found.items():
        print(f"{name:12s} {seconds * 1e3:7.1f} ms")
    print(f"save / plain write    {found['save'] / found['plain write']:.2f}")
    print(f"restore / plain read  {found['restore'] / found['plain read']:.2f}")
    with tf.Graph().as_default():
        large = variables(tf, count=256)
        path = large.saver.save(large.session, large.prefix)
        size = os.path.getsize(path + ".data-00000-of-00001")
        taken = median([inspect(path) for _ in range(3)])
        print(f"inspect of {size / 1e9:.1f} GB, checksums verified: {taken:.2f} s")


if __name__ == "__main__":
    main()
