"""`tf.contrib.factorization`: clusters of points."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
