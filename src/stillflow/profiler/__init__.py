"""`tf.profiler`: costs of a model's operations, by scope, graph, type or line."""

from __future__ import annotations
