"""`tf.contrib.periodic_resample`: elements of a tensor moved from one dimension into others."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
