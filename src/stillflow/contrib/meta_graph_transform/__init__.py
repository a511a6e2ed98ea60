"""`tf.contrib.meta_graph_transform`: graph transforms of a MetaGraphDef with all that it holds."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
