"""Statistics of operations, as ``ops.RegisterStatistics`` knows them: flops and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.operation import Operation
from stillflow.profiler.flops import COUNTS

_FLOPS = "flops"
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
        if self._key in _functions or (self._key[1] == _FLOPS and self._key[0] in COUNTS):
            name = ",".join(self._key)
            raise KeyError(f"Registering two statistical functions with name '{name}'!")
        _functions[self._key] = f
        return f


def get_stats_for_node_def(graph: Any, node: Any, statistic_type: str) -> OpStats:
    """Return the registered statistics of a NodeDef's type, e.g. "flops", or no value.

    ValueError if a shape or the data format does not let flops be counted.
    """
    function = _functions.get((node.op, statistic_type))
    if function is not None:
        return function(graph, node)
    if statistic_type == _FLOPS and node.op in COUNTS:
        return OpStats(_FLOPS, COUNTS[node.op](graph.get_operation_by_name(node.name)))
    return OpStats(statistic_type)


def flops_of(op: Operation) -> int:
    """Return the floating-point operations of an operation; 0 for types that are not counted.

    UnknownShape if it depends on one, ValueError if the data format is not NHWC.
    """
    if (op.type, _FLOPS) in _functions:
        return int(get_stats_for_node_def(op.graph, op.node_def, _FLOPS).value or 0)
    return int(COUNTS[op.type](op)) if op.type in COUNTS else 0
