"""`tf.contrib.lookup`: lookup tables under older names."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
