"""`tf.contrib.linear_optimizer`: linear models that dual coordinate ascent trains."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
