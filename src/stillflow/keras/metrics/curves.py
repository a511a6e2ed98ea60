"""Curves of `tf.keras.metrics.AUC`, and their sums."""

from __future__ import annotations

import enum


class AUCCurve(enum.Enum):
    """Rates of true and false positives, or precision over recall."""

    ROC = "ROC"
    PR = "PR"

    @classmethod
    def from_str(cls, key: str) -> AUCCurve:
        """Return the curve of a name, all of it in capital letters or in small ones.

        Raises:
          ValueError: if there is none.
        """
        for choice in cls:
            if key in (choice.value, choice.value.lower()):
                return choice
        raise ValueError(f'Invalid AUC curve value "{key}".')


class AUCSummationMethod(enum.Enum):
    """Form of the curve between two points."""

    INTERPOLATION = "interpolation"
    MAJORING = "majoring"
    MINORING = "minoring"

    @classmethod
    def from_str(cls, key: str) -> AUCSummationMethod:
        """Return the method of a name, whose first letter may be a capital one.

        Raises:
          ValueError: if there is none.
        """
        for choice in cls:
            if key in (choice.value, choice.value.capitalize()):
                return choice
        raise ValueError(f'Invalid AUC summation method value "{key}".')
