"""`tf.nn`: functions composed of the ops of `stillflow.ops.nn`."""

from __future__ import annotations

from stillflow._namespace import attach

attach(__name__)
