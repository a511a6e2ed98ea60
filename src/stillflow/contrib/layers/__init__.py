"""`tf.contrib.layers`: layers as functions that an `arg_scope` reaches, regularizers, summaries."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
