"""Fixtures for tests of programs that the launcher runs."""

from tests.cli.conftest import launcher

__all__ = ["launcher"]
