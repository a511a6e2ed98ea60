"""`tf.contrib.deprecated`: summaries as they were before TensorFlow 1.0, tagged by the caller."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
