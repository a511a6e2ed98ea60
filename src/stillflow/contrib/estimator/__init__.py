"""`tf.contrib.estimator`: heads, and estimators that do more than others."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
