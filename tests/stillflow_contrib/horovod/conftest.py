"""Fixtures of the tests of Horovod programs."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.ranks import Ranks


@pytest.fixture
def ranks(tmp_path: Path) -> Ranks:
    """Return a starter of programs on several ranks."""
    return Ranks(tmp_path)
