"""Losses of linear models, with their parts for dual coordinate ascent.

An example has one dual variable. To train on it is to set that variable to where the dual problem
is largest while all others stay (Shalev-Shwartz and Zhang, arXiv:1209.1873 and 1309.2375); where
no formula gives that place, Newton's method finds it. `native/sdca.c` has the same functions.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stillflow.errors import invalid_argument

_STEPS = 10  # of Newton's method, which doubles the digits in each
LARGEST = np.finfo(np.float64).max


class Place(NamedTuple):
    """Position of an example.

    Attributes:
      label: as the loss takes it.
      dual: its dual variable.
      wx: what the model predicts.
      curvature: its squared norm and weight, in the units of the dual variable.
    """

    label: np.float64
    dual: np.float64
    wx: np.float64
    curvature: np.float64


class Loss:
    """Base class of losses.

    Attributes:
      code: its number in the loop in C.
      smoothness: how much its slope can change; it only matters for which examples are drawn.
    """

    code: int
    smoothness: int

    def labels(self, labels: np.ndarray) -> np.ndarray:
        """Labels as the loss takes them.

        Args:
          labels: float32 [n].

        Raises:
          InvalidArgumentError: for others than the loss knows.
        """
        return labels

    def update(self, at: Place) -> Any:
        """Return the new dual variable."""
        raise NotImplementedError

    def primal(self, wx: float, label: float) -> Any:
        """Return the loss of a prediction."""
        raise NotImplementedError

    def dual(self, dual: float, label: float) -> Any:
        """Return a dual variable's term of the dual problem."""
        raise NotImplementedError

    def slope(self, wx: np.ndarray, label: np.ndarray) -> np.ndarray:
        """Return the derivative of the loss by the prediction."""
        raise NotImplementedError


def _refuse(labels: np.ndarray, bad: np.ndarray, message: str) -> None:
    for place in np.flatnonzero(bad)[:1]:
        text = f"{message} Found example with label: {labels[place]:g}"
        raise invalid_argument(text)


class _Binary(Loss):
    """Losses of two classes, whose labels are 0 and 1, inside -1 and 1."""

    def labels(self, labels: np.ndarray) -> np.ndarray:
        bad = (labels != 0) & (labels != 1)
        _refuse(labels, bad, "Only labels of 0.0 or 1.0 are supported right now.")
        return np.where(labels == 0, np.float32(-1), labels)


class _Logistic(_Binary):
    code, smoothness = 0, 4

    def update(self, at: Place) -> np.float64:
        x = 0.0
        for _ in range(_STEPS):
            tanh = np.tanh(x)
            numerator = (
                -2 * at.label * x - at.wx
                - at.curvature * (0.5 * (1 + tanh) / at.label - at.dual)
            )  # fmt: skip
            slope = -2 * at.label - at.curvature * (1 - tanh * tanh) * 0.5 / at.label
            x -= numerator / slope
        return 0.5 * (1 + np.tanh(x)) / at.label

    def primal(self, wx: float, label: float) -> np.float64:
        margin = label * wx
        if margin > 0:
            return np.log1p(np.exp(-margin))
        return np.log1p(np.exp(margin)) - margin

    def dual(self, dual: float, label: float) -> Any:
        share = dual * label
        return _times_log(share) + _times_log(1 - share)

    def slope(self, wx: np.ndarray, label: np.ndarray) -> np.ndarray:
        return -label / (1 + np.exp(label * wx))


def _times_log(share: float) -> float:
    return share * np.log(share) if share > 0 else 0.0


class _Squared(Loss):
    code, smoothness = 1, 1

    def update(self, at: Place) -> np.float64:
        return at.dual + (at.label - at.dual - at.wx) / (1 + at.curvature)

    def primal(self, wx: float, label: float) -> Any:
        return 0.5 * (wx - label) ** 2

    def dual(self, dual: float, label: float) -> Any:
        return dual * (0.5 * dual - label)

    def slope(self, wx: np.ndarray, label: np.ndarray) -> np.ndarray:
        return wx - label


class _Hinge(_Binary):
    code, smoothness = 2, 0

    def update(self, at: Place) -> Any:
        candidate = at.dual + (at.label - at.wx - self.smoothness * at.dual) / (
            at.curvature + self.smoothness
        )
        if at.label * candidate < 0:
            return 0.0
        return at.label if at.label * candidate > 1 else candidate

    def primal(self, wx: float, label: float) -> float:
        return max(0.0, 1 - label * wx)

    def dual(self, dual: float, label: float) -> Any:
        share = dual * label
        if share < 0 or share > 1:
            return LARGEST
        return -share + 0.5 * self.smoothness * dual * dual

    def slope(self, wx: np.ndarray, label: np.ndarray) -> np.ndarray:
        return np.where(label * wx < 1, -label, 0.0)


class _SmoothHinge(_Hinge):
    """A hinge that is rounded off: a parabola where the margin is between 0 and 1."""

    code, smoothness = 3, 1

    def primal(self, wx: float, label: float) -> Any:
        short = 1 - label * wx
        if short <= 0:
            return 0.0
        return short - 0.5 if short >= 1 else 0.5 * short * short

    def slope(self, wx: np.ndarray, label: np.ndarray) -> np.ndarray:
        margin = label * wx
        return np.where(margin >= 1, 0.0, np.where(margin <= 0, -label, wx - label))


class _Poisson(Loss):
    code, smoothness = 4, 1

    def labels(self, labels: np.ndarray) -> np.ndarray:
        message = "Only non-negative labels can be used with the Poisson log loss."
        _refuse(labels, labels < 0, message)
        return labels

    def update(self, at: Place) -> np.float64:
        rest = at.label - at.dual
        x = np.log(rest) if rest > 0 else np.float64(0)
        for _ in range(_STEPS):
            exp = np.exp(x)
            x -= (x - at.wx - at.curvature * (rest - exp)) / (1 + at.curvature * exp)
        return at.label - np.exp(x)

    def primal(self, wx: float, label: float) -> np.float64:
        return np.exp(wx) - wx * label

    def dual(self, dual: float, label: float) -> Any:
        rest = label - dual
        if rest == 0:
            return 0.0
        return LARGEST if rest < 0 else rest * (np.log(rest) - 1)

    def slope(self, wx: np.ndarray, label: np.ndarray) -> np.ndarray:
        return np.exp(wx) - label


LOSSES: dict[bytes, Loss] = {
    b"logistic_loss": _Logistic(), b"squared_loss": _Squared(), b"hinge_loss": _Hinge(),
    b"smooth_hinge_loss": _SmoothHinge(), b"poisson_loss": _Poisson(),
}  # fmt: skip
