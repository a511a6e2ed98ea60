"""Estimators whose models are ready made: baseline, linear, deep, and both together."""

from __future__ import annotations
