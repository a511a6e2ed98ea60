"""`tf.contrib.recurrent`: recurrent networks as functions of the library."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
