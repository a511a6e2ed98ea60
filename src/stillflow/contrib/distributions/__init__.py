"""`tf.contrib.distributions`: the distributions of `tf.distributions`, and their bijectors."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
