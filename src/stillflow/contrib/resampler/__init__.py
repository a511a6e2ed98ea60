"""`tf.contrib.resampler`: images looked up at any places."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
