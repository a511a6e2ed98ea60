"""`tf.contrib.predictor`: trained models as functions of arrays."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
