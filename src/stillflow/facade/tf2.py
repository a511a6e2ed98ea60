"""``tensorflow.python.tf2``: the second generation's behaviour is off."""

from __future__ import annotations


def enabled() -> bool:
    """Return False."""
    return False
