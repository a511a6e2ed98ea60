"""The tags of a serialized summary, without taking it apart."""

from __future__ import annotations

import ctypes

from stillflow import native

_MOST = 256  # values of a summary
_Bounds = ctypes.c_int64 * (2 * _MOST)


def tags_of(summary: bytes) -> list[str] | None:
    """Return the tags of a serialized `Summary`, None unless of scalars and histograms alone.

    These have no metadata and are often written at every step, with hundreds of numbers each.
    """
    library = native.library()
    if library is None:
        return None
    bounds = _Bounds()
    found = library.find_tags(summary, len(summary), bounds, _MOST)
    limits = bounds[: 2 * max(found, 0)]
    try:
        tags = [summary[begin:end].decode() for begin, end in zip(limits[::2], limits[1::2])]
    except UnicodeDecodeError:
        return None
    return None if found < 0 else tags


class PlainTags:
    """Notes the tags of summaries of scalars and histograms alone.

    Training writes the same tags at every step: a number tells that they were all seen before.

    Args:
      seen: where tags are added.
    """

    def __init__(self, seen: set[str]) -> None:
        self._seen = seen
        self._digests: set[int] = set()

    def note(self, summary: bytes) -> bool:
        """Add the tags of a serialized `Summary`; False, and none, if it has other values."""
        library = native.library()
        digest = -1 if library is None else library.digest_tags(summary, len(summary))
        if digest in self._digests:
            return True
        tags = None if digest < 0 else tags_of(summary)
        if tags is None:
            return False
        self._seen.update(tags)
        self._digests.add(digest)
        return True
