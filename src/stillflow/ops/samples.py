"""Good and bad arguments of ops, from which tests are derived."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass
class Sample:
    """Arguments that an op takes.

    Attributes:
      args: input values (numpy arrays, numbers, lists for list arguments), in signature order.
      attrs: attributes by name.
      grad: whether numerical gradients are compared (floating-point inputs only), or the
        positions of the outputs where they are.
      fixed: positions of inputs that are constants while shapes are inferred (axes, sizes).
    """

    args: tuple[Any, ...]
    attrs: dict[str, Any] = field(default_factory=dict)
    grad: bool | tuple[int, ...] = True
    fixed: tuple[int, ...] = ()

    def __init__(
        self,
        *args: Any,
        grad: bool | tuple[int, ...] = True,
        fixed: tuple[int, ...] = (),
        **attrs: Any,
    ) -> None:
        self.args, self.attrs, self.grad, self.fixed = args, attrs, grad, fixed


@dataclass
class Bad:
    """Arguments that an op rejects, with a regular expression that its message matches."""

    args: tuple[Any, ...]
    match: str
    attrs: dict[str, Any] = field(default_factory=dict)

    def __init__(self, *args: Any, match: str, **attrs: Any) -> None:
        self.args, self.match, self.attrs = args, match, attrs


# Arguments from the part `samples` of a card.
Samples: TypeAlias = Iterator[Sample | Bad]
