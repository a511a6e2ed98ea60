"""`tf.contrib.model_pruning`: weights of small magnitude are set to zero in training."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
