"""`tf.contrib.memory_stats`: the memory of devices."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
