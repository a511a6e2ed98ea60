"""Patterns of kernel calls, and the search for them among the steps of a plan.

    root = term("Rsqrt", added(term("Mean", "squares", [1], True), "epsilon"))
    for found in Matcher(producer, constants).match(root, name, {}):
        found["squares"], found[root]  # the names of values

A pattern is a term; a number, for a constant of this value; a text, for any value, the same one
wherever the text stands; a tuple of alternatives; a test; or else an argument as it stands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any

# Terms, and names in patterns, with what they stand for.
Bound = dict[Any, Any]


@dataclass(eq=False, frozen=True)
class Term:
    """A call in a pattern.

    Attributes:
      kinds: types of operations, separated by spaces.
      arguments: patterns of the call's arguments.
      output: the number of the result.
      commutes: whether the arguments may stand in any order.
      attrs: attributes that the operation must have.
    """

    kinds: str
    arguments: tuple[Any, ...]
    output: int = 0
    commutes: bool = False
    attrs: tuple[tuple[str, Any], ...] = ()


def term(kinds: str, *arguments: Any, output: int = 0) -> Term:
    """Return the pattern of a call."""
    return Term(kinds, arguments, output)


def added(*terms: Any) -> Any:
    """Return the pattern of a sum; a single term stands for itself."""
    return Term("Add AddV2 AddN", terms, commutes=True) if len(terms) > 1 else terms[0]


def multiplied(a: Any, b: Any) -> Term:
    """Return the pattern of a product of elements."""
    return Term("Mul", (a, b), commutes=True)


def matmul(a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False) -> Term:
    """Return the pattern of a product of matrices."""
    attrs = ("transpose_a", transpose_a), ("transpose_b", transpose_b)
    return Term("MatMul", (a, b), attrs=attrs)


class Matcher:
    """Search for patterns among steps.

    Args:
      producer: returns the step that makes a value, if any.
      constants: constants by name.
      origin: returns the value that an argument stands for; by default itself.
    """

    def __init__(
        self, producer: Callable[[str], Any | None], constants: dict[str, Any],
        origin: Callable[[Any], Any] = lambda argument: argument,
    ) -> None:  # fmt: skip
        self.producer, self.constants, self.origin = producer, constants, origin

    def match(self, pattern: Any, value: Any, bound: Bound) -> Iterator[Bound]:
        """Yield the ways in which a value is that of a pattern."""
        if isinstance(pattern, str):
            if bound.get(pattern, value) == value:
                yield {**bound, pattern: value}
        elif isinstance(pattern, tuple):
            for each in pattern:
                yield from self.match(each, value, bound)
        elif not isinstance(pattern, Term):
            if self._is(pattern, value):
                yield bound
        elif pattern in bound:
            if bound[pattern] == value:
                yield bound
        elif (step := self._call(pattern, value)) is not None:
            arguments = [self.origin(argument) for argument in step.arguments]
            for order in permutations(arguments) if pattern.commutes else [arguments]:
                yield from self.match_all(pattern.arguments, order, {**bound, pattern: str(value)})

    def match_all(
        self, patterns: Sequence[Any], values: Sequence[Any], bound: Bound
    ) -> Iterator[Bound]:
        """Yield the ways in which values are those of patterns, each of its own."""
        if not patterns:
            yield bound
        else:
            for found in self.match(patterns[0], values[0], bound):
                yield from self.match_all(patterns[1:], values[1:], found)

    def is_free(self, step: Any) -> bool:
        """Return True if a pattern may take a step."""
        return not step.fused

    def number(self, value: Any) -> float | None:
        """Return the number that a constant is; None for other values."""
        known: Any = self.constants.get(value) if isinstance(value, str) else value
        if hasattr(known, "numel"):
            known = known.item() if known.dim() == 0 else None
        return float(known) if isinstance(known, (int, float)) else None

    def _is(self, pattern: Any, value: Any) -> bool:
        if isinstance(pattern, float):
            number = self.number(value)
            return number is not None and math.isclose(number, pattern, rel_tol=1e-6)
        return bool(pattern(value) if callable(pattern) else pattern == value)

    def _call(self, pattern: Term, value: Any) -> Any | None:
        """Return the call of a term's kind that makes a value."""
        step = self.producer(value) if isinstance(value, str) else None
        if step is None or step.op is None or step.op.type not in pattern.kinds.split():
            return None
        fits = len(step.arguments) == len(pattern.arguments) and not step.keywords
        fits = fits and step.outputs.index(str(value)) == pattern.output
        fits = fits and all(step.op.attrs[name] == attr for name, attr in pattern.attrs)
        return step if fits and self.is_free(step) else None
