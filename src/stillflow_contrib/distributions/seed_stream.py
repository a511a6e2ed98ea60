"""Seeds for several operations, made of one."""

from __future__ import annotations

import hashlib
from typing import Any

from stillflow.graph.export import export


@export("contrib.distributions.SeedStream")
class SeedStream:
    """Stream of seeds: the same ones for the same arguments.

    Args:
      seed: an integer, None for no seeds at all, or another stream, whose seed is taken.
      salt: a string that tells one user of the seed from others.
    """

    def __init__(self, seed: Any, salt: str) -> None:
        self._seed = seed.original_seed if isinstance(seed, SeedStream) else seed
        self._salt = salt
        self._counter = 0

    def __call__(self) -> int | None:
        self._counter += 1
        if self._seed is None:
            return None
        text = str((self._seed, self._counter, self._salt))
        return int(hashlib.sha512(text.encode("utf-8")).hexdigest(), 16)

    @property
    def original_seed(self) -> int:
        """The seed of the stream."""
        return self._seed

    @property
    def salt(self) -> str:
        """The text that distinguishes this stream from others."""
        return self._salt
