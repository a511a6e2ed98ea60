"""Analysis of `stillflow check`: reads a program without running it."""

from __future__ import annotations
