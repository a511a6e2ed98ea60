"""Openers of addresses that Python 3.14 has removed from ``urllib.request``."""

from __future__ import annotations

import functools
import os
import tempfile
import urllib.request
from collections.abc import Callable
from typing import Any

_BLOCK = 8192


class URLopener:
    """Opens and fetches addresses.

    Args:
      proxies: {scheme: address of its proxy}; those of the environment if None.
    """

    version = "Python-urllib/3"

    def __init__(self, proxies: dict[str, str] | None = None, **x509: Any) -> None:
        self.addheaders = [("User-Agent", self.version), ("Accept", "*/*")]
        self._proxies = proxies

    def addheader(self, *header: str) -> None:
        """Send another header, a name and a value, with all requests."""
        self.addheaders.append((header[0], header[1]))

    def open(self, fullurl: Any, data: bytes | None = None) -> Any:
        """Open an address for reading."""
        opener = urllib.request.build_opener(urllib.request.ProxyHandler(self._proxies))
        opener.addheaders = self.addheaders
        return opener.open(fullurl, data)

    def retrieve(
        self,
        url: str,
        filename: str | None = None,
        reporthook: Callable[[int, int, int], None] | None = None,
        data: bytes | None = None,
    ) -> tuple[str, Any]:
        """Fetch a file; returns its path here and its headers."""
        if filename is None:
            handle, filename = tempfile.mkstemp()
            os.close(handle)
        with self.open(url, data) as source, open(filename, "wb") as target:
            size, number = int(source.headers.get("Content-Length", -1)), 0
            blocks = iter(functools.partial(source.read, _BLOCK), b"")
            if reporthook is not None:
                reporthook(number, _BLOCK, size)
            for block in blocks:
                target.write(block)
                number += 1
                if reporthook is not None:
                    reporthook(number, _BLOCK, size)
            return filename, source.headers


class FancyURLopener(URLopener):
    """The same; every opener follows redirections now."""
