"""Places of features in the bytes of many Examples, found by a native loop.

As in feature_maps.py, which does without, only the way that protobuf libraries write is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from stillflow.ops.io.parsing.scanning import joined
from stillflow.ops.io.parsing.spans import Spans
from stillflow.util.texts import address_of


class FeatureFinder:
    """Finder of features by name."""

    def __init__(self, names: Sequence[str]) -> None:
        texts = [name.encode() for name in names]
        known = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        self._text = b"".join(known)
        self._ends = np.cumsum([len(text) for text in known], dtype=np.int64)
        self._slots = 4 << len(known).bit_length()
        self._repeated = None
        if len(known) < len(texts):
            self._repeated = np.array([known[text] for text in texts])

    def find(self, library: Any, examples: Sequence[bytes]) -> Spans | None:
        """Return the features [names, examples]; None if an example is written otherwise."""
        data = joined(examples)
        lengths = np.fromiter(map(len, examples), np.int64, len(examples))
        starts, sizes = np.zeros((2, len(self._ends), len(examples)), np.int64)
        slots = np.empty(self._slots, np.int32)
        good = library.find_features(
            address_of(data), address_of(lengths), len(examples), self._text,
            address_of(self._ends), len(self._ends), address_of(slots), len(slots),
            address_of(starts), address_of(sizes),
        )  # fmt: skip
        if not good:
            return None
        if self._repeated is not None:
            starts, sizes = starts[self._repeated], sizes[self._repeated]
        return Spans(data, starts, sizes)
