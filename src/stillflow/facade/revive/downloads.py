"""Downloads by ``urllib``: served from a user's folder, if it has the file.

``stillflow.util.downloads`` defines where a file is looked for. Where it is neither there nor to be
fetched, stderr says once which file to put where; the program gets the error that it may expect.
"""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from stillflow.facade.revive.after import after_import
from stillflow.facade.say import say
from stillflow.util import downloads

_REMOTE = ("http://", "https://", "ftp://")


def activate() -> None:
    """Look into the user's folder before an address is opened."""
    after_import("urllib.request", _extend)


def _extend(request: Any) -> None:
    original = request.OpenerDirector.open
    if getattr(original, "stillflow", False):
        return

    @functools.wraps(original)
    def open(self: Any, fullurl: Any, data: Any = None, *args: Any, **kwargs: Any) -> Any:
        url = fullurl if isinstance(fullurl, str) else fullurl.full_url
        if data is not None or not url.startswith(_REMOTE):
            return original(self, fullurl, data, *args, **kwargs)
        path = downloads.provided(url)
        if path is not None:
            say(f"{url} is read from {path}")
            return original(self, Path(path).absolute().as_uri())
        try:
            return original(self, fullurl, data, *args, **kwargs)
        except OSError as error:  # URLError and HTTPError are such
            say(f"{url} cannot be fetched ({error}): {downloads.advice(url)}")
            raise

    open.stillflow = True  # type: ignore[attr-defined]
    request.OpenerDirector.open = open
