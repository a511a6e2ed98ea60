"""`tf.contrib.integrate`: ordinary differential equations."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
