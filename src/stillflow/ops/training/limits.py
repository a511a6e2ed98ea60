"""Limits of the rules' numbers, with TensorFlow's messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from stillflow.errors import invalid_argument
from stillflow.graph.dims import shape_text

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

# Checks, in this order: the argument, its name in messages, its limit.
_LIMITS: dict[str, tuple[tuple[str, str, str], ...]] = {
    "ProximalAdagrad": _PROXIMAL,
    "Ftrl": _FTRL,
    "FtrlV2": (*_FTRL, _SHRINKAGE),
}

_CALLED = {name: called for name, called, _ in _L1_AND_L2}
# Rules whose words for the learning rate have a space more, by whether gradients are sparse.
_SPACED = {
    False: {"Adam", "AdamWithAmsgrad", "AdaMax", "RMSProp", "CenteredRMSProp"},
    True: {"Momentum", "KerasMomentum"},
}


def check_scalar(rule: str, name: str, shape: Any, sparse: bool) -> None:
    """Raise ValueError unless an argument of `Apply<rule>`, or of its sparse form, is a scalar.

    `shape` is None if not even the rank is known. `check_limits` tells those of `_LIMITS`.
    """
    if shape and rule not in _LIMITS:
        space = " " if name == "lr" and rule in _SPACED[sparse] else ""
        sizes = ",".join("?" if size is None else str(size) for size in shape)
        raise ValueError(f"{_CALLED.get(name, name)} is not a scalar{space}: [{sizes}]")


def check_limits(rule: str, numbers: Mapping[str, Any]) -> None:
    """Raise InvalidArgumentError for the first scalar of `Apply<rule>` out of bounds, as NaN is."""
    for name, called, kind in _LIMITS.get(rule, ()):
        number = numbers[name]
        if number.ndim or not _HOLDS[kind](number.item()):
            shape = shape_text(number.shape)
            raise invalid_argument(f"{called} is not a {kind} scalar: {shape}")
