"""`tf.contrib.summary`: operations that write summaries themselves."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
