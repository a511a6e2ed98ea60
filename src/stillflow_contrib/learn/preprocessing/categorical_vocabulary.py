"""Numbers for words, and for anything else that is told apart by equality."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable
from typing import Any

from stillflow.graph.export import export
from stillflow.util.notices import noticed


@export(
    "contrib.learn.preprocessing.CategoricalVocabulary",
    "contrib.learn.preprocessing.categorical_vocabulary.CategoricalVocabulary",
)
class CategoricalVocabulary:
    """Numbers categories in the order in which they come, from 1 on; 0 is for unknown ones.

    Args:
      unknown_token: the category of number 0.
      support_reverse: whether `reverse` can be called.
    """

    # The names of all attributes are TensorFlow's: they stand in the files of vocabularies.
    @noticed("contrib.learn.preprocessing.CategoricalVocabulary")
    def __init__(self, unknown_token: Hashable = "<UNK>", support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._support_reverse = support_reverse
        self._freq: dict[Any, int] = defaultdict(int)
        self._freeze = False
        self._number([])

    def _number(self, categories: list[Any]) -> None:
        numbered = [self._unknown_token, *categories]
        self._mapping = {category: number for number, category in enumerate(numbered)}
        if self._support_reverse:
            self._reverse_mapping = numbered

    def __len__(self) -> int:
        """Return the number of categories, the unknown one included."""
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Stop, or resume if `freeze` is False, to assign new numbers."""
        self._freeze = freeze

    def get(self, category: Hashable) -> int:
        """Return the number of a category; a new one where it has none, or 0 if frozen."""
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
            if self._support_reverse:
                self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category: Hashable, count: int = 1) -> None:
        """Add `count` occurrences of a category."""
        if self.get(category) > 0:
            self._freq[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Renumber the categories, the most frequent ones first, and forget the others.

        Args:
          min_frequency: those that came so often or less are forgotten.
          max_frequency: those that came so often or more are forgotten; -1 for no limit.
        """
        by_name = sorted(self._freq.items(), key=lambda item: (isinstance(item[0], str), item[0]))
        ranked = sorted(by_name, key=lambda item: item[1], reverse=True)
        kept = [
            category
            for category, count in ranked
            if count > min_frequency and not 0 < max_frequency <= count
        ]
        self._number(kept)
        # As many of the most frequent ones, whether kept or not: so TensorFlow does.
        self._freq = dict(ranked[: len(kept)])

    def reverse(self, class_id: int) -> Any:
        """Return the category of a number.

        Raises:
          ValueError: if the vocabulary was made without `support_reverse`.
        """
        if not self._support_reverse:
            raise ValueError(
                "This vocabulary wasn't initialized with support_reverse to support reverse() "
                "function."
            )
        return self._reverse_mapping[class_id]
