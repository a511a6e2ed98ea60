"""Numbers that rules refuse, in TensorFlow's words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stillflow.errors import InvalidArgumentError

_POSITIVE, _NOT_NEGATIVE, _NOT_POSITIVE = "positive", "non-negative", "non-positive"
_HOLDS = {
    _POSITIVE: lambda number: number > 0,
    _NOT_NEGATIVE: lambda number: number >= 0,
    _NOT_POSITIVE: lambda number: number <= 0,
}
_L1_AND_L2 = (
    ("l1", "l1 regularization strength", _NOT_NEGATIVE),
    ("l2", "l2 regularization strength", _NOT_NEGATIVE),
)
_PROXIMAL = (("lr", "lr", _POSITIVE), *_L1_AND_L2)
_FTRL = (*_PROXIMAL, ("lr_power", "lr_power", _NOT_POSITIVE))
_SHRINKAGE = ("l2_shrinkage", "l2 shrinkage regularization strength", _NOT_NEGATIVE)

# What is looked at, in this order: the argument, what messages call it, what it has to be.
_LIMITS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "ProximalAdagrad": _PROXIMAL,
    "Ftrl": _FTRL,
    "FtrlV2": (*_FTRL, _SHRINKAGE),
}


def check_limits(rule: str, numbers: Mapping[str, Any]) -> None:
    """Refuses a rule's numbers that are out of bounds.

    Args:
      rule: as in `Apply<rule>`.
      numbers: its arguments by name, scalars.

    Raises:
      tf.errors.InvalidArgumentError: for the first that is; a NaN always is.
    """
    for name, called, kind in _LIMITS.get(rule, ()):
        number = numbers[name]
        if number.ndim or not _HOLDS[kind](number.item()):
            shape = "[" + ",".join(map(str, number.shape)) + "]"
            raise InvalidArgumentError(None, None, f"{called} is not a {kind} scalar: {shape}")
