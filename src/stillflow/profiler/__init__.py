"""`tf.profiler`: what a model's operations need, by scope, graph, type or line."""

from __future__ import annotations
