"""`tf.contrib.copy_graph`: operations and variables copied from one graph into another."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
