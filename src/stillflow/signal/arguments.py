"""Conversion and checks of arguments that the functions of this package share."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from stillflow.graph.conversion import convert_to_tensor
from stillflow.graph.operation import Tensor

Rule = tuple[Callable[[Any], bool], str]


def scalar(value: Any, name: str | None, dtype: Any = None) -> Tensor:
    """Return the value as a tensor, whose rank has to be 0."""
    tensor = convert_to_tensor(value, dtype=dtype, name=name)
    tensor.shape.assert_has_rank(0)
    return tensor


def check(rules: Iterable[Rule], arguments: Any) -> None:
    """Raise ValueError with the message of the first rule whose predicate is true of the arguments.

    Messages are format strings; `a` in them stands for the arguments.
    """
    for broken, message in rules:
        if broken(arguments):
            raise ValueError(message.format(a=arguments))
