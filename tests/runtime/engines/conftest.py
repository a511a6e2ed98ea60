"""Engines run sessions of the CPU alone."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _on_the_cpu(cpu: None) -> None:
    pass
