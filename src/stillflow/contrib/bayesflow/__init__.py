"""`tf.contrib.bayesflow`: expectations by samples."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
