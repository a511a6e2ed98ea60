"""Statistics of operations, as ``ops.RegisterStatistics`` knows them: flops and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Statistics = Callable[[Any, Any], "OpStats"]
_functions: dict[tuple[str, str], Statistics] = {}


class OpStats:
    """An amount of something that an operation needs.

    Args:
      statistic_type: what it is an amount of, e.g. "flops".
      value: the amount, None if it is not known.
    """

    def __init__(self, statistic_type: str, value: Any = None) -> None:
        self.statistic_type = statistic_type
        self.value = value

    def __iadd__(self, other: OpStats) -> OpStats:
        if other.statistic_type != self.statistic_type:
            raise ValueError(
                f"Can't add an OpStat of type {self.statistic_type} to one of "
                f"{other.statistic_type}."
            )
        if self.value is None:
            self.value = other.value
        elif other.value is not None:
            self.value += other.value
        return self


class RegisterStatistics:
    """Decorates a function (graph, node) -> OpStats as that of a type of operation.

    Raises:
      TypeError: a name is not one.
      KeyError: the type has such a function already.
    """

    def __init__(self, op_type: str, statistic_type: str) -> None:
        for what, name in (("op_type", op_type), ("statistic_type", statistic_type)):
            if not isinstance(name, str):
                raise TypeError(f"{what} must be a string.")
            if "," in name:
                raise TypeError(f"{what} must not contain a comma.")
        self._key = (op_type, statistic_type)

    def __call__(self, f: Statistics) -> Statistics:
        if self._key in _functions:
            raise KeyError(f"Registering two statistical functions with name '{self._key}'!")
        _functions[self._key] = f
        return f


def find_statistics(op_type: str, statistic_type: str) -> Statistics | None:
    """The function that is registered for a type of operation, or None."""
    return _functions.get((op_type, statistic_type))


def get_stats_for_node_def(graph: Any, node: Any, statistic_type: str) -> OpStats:
    """Return what is registered for the type of a node, without a value if nothing is.

    Args:
      graph: the graph that the node belongs to.
      node: a NodeDef.
      statistic_type: e.g. "flops".
    """
    function = find_statistics(node.op, statistic_type)
    return function(graph, node) if function is not None else OpStats(statistic_type)
