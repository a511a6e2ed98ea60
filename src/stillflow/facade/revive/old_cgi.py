"""Replacement of the module ``cgi``."""

from __future__ import annotations

from email.message import Message
from html import escape
from urllib.parse import parse_qs, parse_qsl

__all__ = ["escape", "parse_header", "parse_qs", "parse_qsl"]


def parse_header(line: str) -> tuple[str, dict[str, str]]:
    """Split a header such as ``text/html; charset=utf-8`` into its value and its parameters."""
    message = Message()
    message["content-type"] = line
    (value, _), *parameters = message.get_params() or [(line, "")]
    return value, dict(parameters)
