"""``tensorflow.python.tf2``: whether the second generation's behaviour is on."""

from __future__ import annotations

from stillflow.eager import v2_behavior


def enabled() -> bool:
    """Return whether `tf.enable_v2_behavior` was called."""
    return v2_behavior.is_enabled
