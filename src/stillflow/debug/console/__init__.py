"""The conversation of the debugger: commands by line, answers as text."""

from __future__ import annotations
