"""`tf.metrics`: values over many steps, kept in local variables."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
