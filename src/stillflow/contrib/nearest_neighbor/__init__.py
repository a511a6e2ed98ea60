"""`tf.contrib.nearest_neighbor`: neighbours of points by hashing."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
