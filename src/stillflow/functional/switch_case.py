"""`tf.switch_case`: one of several functions, chosen by a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from stillflow.graph.api import name_scope
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.functional.branches import indexed_case

Branch = Callable[[], Any]


@export("switch_case")
def switch_case(
    branch_index: Any,
    branch_fns: Any,
    default: Branch | None = None,
    name: str = "switch_case",
) -> Tensor | dict[str, Tensor]:
    """Return the result of the function whose number `branch_index` is when the graph runs.

    Each function becomes one of the graph's library, called by a Case operation.

    Args:
      branch_index: a scalar integer tensor.
      branch_fns: functions, or pairs of a number and a function, or a dict of these; the numbers
        are 0, 1, ... without a gap.
      default: called for other numbers; the last function if None.
      name: of the scope.

    Returns:
      What the function gives; all have to give the same structure and types.

    Raises:
      TypeError: if an argument is of another type.
      ValueError: if there are no functions, or gaps in their numbers.
    """
    branches = _ordered(branch_index, branch_fns)
    if default is not None:
        branches.append(default)
    with name_scope(name, "case", [branch_index]):
        if executing_eagerly():
            chosen = int(branch_index)
            return branches[chosen if 0 <= chosen < len(branches) else -1]()
        return indexed_case(branch_index, branches)


def _ordered(branch_index: Any, branch_fns: Any) -> list[Branch]:
    if not isinstance(branch_index, Tensor):
        raise TypeError(f"branch_index must a Tensor, got {type(branch_index)}")
    if not branch_index.dtype.is_integer:
        raise TypeError(f"branch_index must an integer Tensor, got {branch_index.dtype}")
    if not branch_fns:
        raise ValueError("Must provide at least one item in branch_fns")
    if not isinstance(branch_fns, (list, tuple, dict)):
        raise TypeError("branch_fns must be a list, tuple, or dict")
    pairs = list(branch_fns.items() if isinstance(branch_fns, dict) else branch_fns)
    if all(callable(branch) for branch in pairs):
        return pairs
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in branch_fns must be a 2-tuple")
        key, branch = pair
        if not isinstance(key, int):
            raise TypeError(f"key must be a Python `int`, got {type(key)}")
        if not callable(branch):
            raise TypeError(f"fn for key {key} must be callable.")
    by_key = dict(pairs)
    if sorted(key for key, _ in pairs) != list(range(len(pairs))):
        found = ",".join(str(key) for key, _ in sorted(pairs, key=lambda pair: pair[0]))
        raise ValueError(
            f"branch indices (keys) must form contiguous range of [0 to {len(pairs)}) but found "
            f"{{{found}}}"
        )
    return [by_key[key] for key in range(len(pairs))]
