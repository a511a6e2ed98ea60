"""Replacement of the module ``pipes``."""

from __future__ import annotations

from shlex import quote

__all__ = ["quote"]
