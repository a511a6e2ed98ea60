"""tf.contrib.memory_stats on a processor."""

from __future__ import annotations

from tests.golden.registry import Run, program


@program
def limit(tf):
    return Run({"limit": tf.contrib.memory_stats.BytesLimit()})
