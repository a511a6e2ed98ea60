"""`tf.contrib.constrained_optimization`: minima under constraints, as games of two players."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
