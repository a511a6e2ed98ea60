"""``distutils.util``."""

from __future__ import annotations

import sysconfig

_TRUE = ("y", "yes", "t", "true", "on", "1")
_FALSE = ("n", "no", "f", "false", "off", "0")


def strtobool(val: str) -> int:
    """Return 1 for a word that means yes, 0 for one that means no."""
    word = val.lower()
    if word in _TRUE:
        return 1
    if word in _FALSE:
        return 0
    raise ValueError(f"invalid truth value {word!r}")


def get_platform() -> str:
    """Return the name of this platform."""
    return sysconfig.get_platform()
