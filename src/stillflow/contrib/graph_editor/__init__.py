"""`tf.contrib.graph_editor`: parts of a graph are selected, copied, rewired and replaced."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
