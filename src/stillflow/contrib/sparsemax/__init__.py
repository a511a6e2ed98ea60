"""`tf.contrib.sparsemax`: probabilities of which many are 0."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
