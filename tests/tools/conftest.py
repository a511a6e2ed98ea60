"""The fixture `launcher` runs programs."""

from tests.cli.conftest import launcher

__all__ = ["launcher"]
