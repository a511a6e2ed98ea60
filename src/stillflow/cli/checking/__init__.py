"""What `stillflow check` finds out about a program, without running it."""

from __future__ import annotations
