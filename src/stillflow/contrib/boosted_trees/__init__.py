"""Of `tf.contrib.boosted_trees`: losses of examples, and operations run together."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
