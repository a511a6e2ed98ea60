"""``StringIO`` and ``cStringIO``, which took bytes and text alike, and ``io``."""

from __future__ import annotations

import io
from io import *  # noqa: F403
from io import BytesIO as BytesIO
from typing import Any


def StringIO(  # type: ignore[no-redef]
    initial_value: Any = None, *args: Any, **options: Any
) -> Any:
    """Return a file in memory: of bytes if it starts with bytes, otherwise of text."""
    if isinstance(initial_value, (bytes, bytearray, memoryview)):
        return io.BytesIO(initial_value)
    return io.StringIO(initial_value or "", *args, **options)
