"""`tf.contrib.training`: hyperparameters, and what the rest of Stillflow has for it."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
