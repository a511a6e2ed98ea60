"""`tf.contrib.reduce_slice_ops`: slices of a tensor, reduced."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
