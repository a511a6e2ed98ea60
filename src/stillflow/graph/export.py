"""Marks of the public API, for the modules that build graphs and above."""

from __future__ import annotations

from stillflow._export import export, export_value, redefinable

__all__ = ["export", "export_value", "redefinable"]
