"""Providers of examples as items by name."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import Any

from stillflow.graph.export import export


@export("contrib.slim.data_provider.DataProvider")
class DataProvider(abc.ABC):  # noqa: B024  (TensorFlow's is abstract and has nothing abstract)
    """Provider of the items of one example after the other.

    Args:
      items_to_tensors: {name: tensor}.
      num_samples: how many examples there are.
    """

    def __init__(self, items_to_tensors: dict[str, Any], num_samples: Any) -> None:
        self._items_to_tensors = items_to_tensors
        self._num_samples = num_samples

    def get(self, items: Any) -> list[Any]:
        """Return the tensors of items, which all come from the same example.

        Raises:
          ValueError: `items` is no list or tuple, or there is no such item.
        """
        if not isinstance(items, (list, tuple)):
            raise ValueError("items must be a list or tuple")
        for item in items:
            if item not in self._items_to_tensors:
                raise ValueError(
                    f"Item [{item}] is invalid. Valid entries include: {self.list_items()}"
                )
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> Iterable[str]:
        """Return the names of all items."""
        return self._items_to_tensors.keys()

    def num_samples(self) -> int:
        """Return the number of examples."""
        return self._num_samples
