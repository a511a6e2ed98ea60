"""Patterns of operations, and where they match in a graph."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor

_ANY = "*"
_MOST_INPUTS = 8


class Pattern(ABC):
    """Pattern of operations."""

    @abstractmethod
    def match(self, op: Operation, tensor: Tensor | None) -> MatchResult | None:
        """Return the match, or None.

        Args:
          op: the operation asked about.
          tensor: the output of it that the operation above takes; None at the top.
        """


class OpTypePattern(Pattern):
    """An operation of one of some types, whose inputs match patterns.

    Args:
      op_type: the types, with "|" between them; "*" is any.
      name: what `MatchResult` knows it by.
      inputs: patterns, or types, of all inputs; none where the inputs do not matter.
      ordered_inputs: whether the inputs have to stand in this order.

    Raises:
      ValueError: if there are more than 8 inputs.
    """

    def __init__(
        self,
        op_type: str,
        name: str | None = None,
        inputs: Sequence[Pattern | str] | None = None,
        ordered_inputs: bool = True,
    ) -> None:
        inputs = inputs or []
        if len(inputs) > _MOST_INPUTS:
            raise ValueError("Only < 8 inputs are allowed when ordered_inputs is False.")
        self._types = None if op_type == _ANY else frozenset(op_type.split("|"))
        self._name = name
        self._inputs = [
            part if isinstance(part, Pattern) else OpTypePattern(part) for part in inputs
        ]
        self._ordered_inputs = ordered_inputs

    @property
    def name(self) -> str | None:
        """The name of the pattern in a `MatchResult`."""
        return self._name

    def match(self, op: Operation, tensor: Tensor | None) -> MatchResult | None:
        """Return the match, or None; see `Pattern`."""
        wanted = self._inputs
        is_type = self._types is None or op.type in self._types
        if not is_type or (wanted and len(wanted) != len(op.inputs)):
            return None
        result = MatchResult()
        result.add(self, op, tensor)
        orders: Iterable[Sequence[Pattern]] = [wanted]
        if not self._ordered_inputs:
            orders = itertools.permutations(wanted)
        matches = not wanted or any(_match_all(order, op, result) for order in orders)
        return result if matches else None


def _match_all(patterns: Sequence[Pattern], op: Operation, result: MatchResult) -> bool:
    for tensor, pattern in zip(op.inputs, patterns, strict=True):
        found = pattern.match(tensor.op, tensor)
        if found is None:
            return False
        result.merge_from(found)
    return True


class OneofPattern(Pattern):
    """The first of some patterns that matches.

    Args:
      sub_patterns: the patterns.
    """

    def __init__(self, sub_patterns: Sequence[Pattern]) -> None:
        self._sub_patterns = sub_patterns

    def match(self, op: Operation, tensor: Tensor | None) -> MatchResult | None:
        """Return the match, or None; see `Pattern`."""
        found = (pattern.match(op, tensor) for pattern in self._sub_patterns)
        return next((result for result in found if result is not None), None)


class MatchResult:
    """Operation of each pattern in a match, and the output that the pattern above consumes."""

    def __init__(self) -> None:
        self._found: dict[Pattern, tuple[Operation, Tensor | None]] = {}
        self._named: dict[str, Pattern] = {}

    def add(self, pattern: Any, op: Operation, tensor: Tensor | None) -> None:
        """Record a match of a pattern.

        Raises:
          ValueError: if another pattern has its name.
        """
        self._found[pattern] = op, tensor
        if pattern.name is not None:
            if pattern.name in self._named:
                raise ValueError(f"Name {pattern.name} is already bound to another pattern")
            self._named[pattern.name] = pattern

    def merge_from(self, other: MatchResult) -> None:
        """Add the matches of another result."""
        self._found.update(other._found)
        self._named.update(other._named)

    def get_op(self, pattern_or_name: Pattern | str) -> Operation | None:
        """Return the operation that a pattern matched, or None."""
        return self._get(pattern_or_name)[0]

    def get_tensor(self, pattern_or_name: Pattern | str) -> Tensor | None:
        """Return the output of it that the operation above takes, or None."""
        return self._get(pattern_or_name)[1]

    def _get(self, pattern: Pattern | str) -> tuple[Operation | None, Tensor | None]:
        if not isinstance(pattern, (Pattern, str)):
            raise ValueError(f"pattern_or_name has type {type(pattern)}. Expect Pattern or str.")
        known = self._named.get(pattern) if isinstance(pattern, str) else pattern
        return (None, None) if known is None else self._found.get(known, (None, None))


class GraphMatcher:
    """Looks for a pattern in graphs.

    Args:
      pattern: what to look for.
    """

    def __init__(self, pattern: Pattern) -> None:
        self._pattern = pattern

    def match_op(self, op: Operation) -> MatchResult | None:
        """Return the match at an operation, or None."""
        return self._pattern.match(op, None)

    def match_ops(self, ops: Iterable[Operation]) -> Iterator[MatchResult]:
        """Yield the matches at some operations."""
        for op in ops:
            result = self.match_op(op)
            if result is not None:
                yield result

    def match_graph(self, graph: Graph) -> Iterator[MatchResult]:
        """Yield the matches at all operations of a graph."""
        return self.match_ops(graph.get_operations())
