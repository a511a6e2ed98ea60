"""Decoders of serialized examples to items."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

from stillflow.graph.export import export


@export("contrib.slim.data_decoder.DataDecoder")
class DataDecoder(abc.ABC):
    """Decodes examples; derive from it for a format of your own."""

    @abc.abstractmethod
    def decode(self, data: Any, items: Any) -> Sequence[Any]:
        """Return the wanted items of an example.

        Args:
          data: the example, in the format of the decoder.
          items: names of items.

        Returns:
          Their values, in the same order.
        """

    @abc.abstractmethod
    def list_items(self) -> Sequence[str]:
        """Return the names of all items."""
