"""Facts of the machine, and findings, of `stillflow doctor`."""

from __future__ import annotations
