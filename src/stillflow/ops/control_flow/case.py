"""`tf.case`: the first of several branches whose predicate is true."""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import name_scope
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.packing import stack
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.asserts import Assert
from stillflow.ops.control_flow.cond import cond
from stillflow.ops.math.cast import cast
from stillflow.ops.math.comparison import less_equal
from stillflow.ops.math.reductions import reduce_sum
from stillflow.platform import tf_logging as logging

Action = Callable[[], Any]


@export("case")
def case(
    pred_fn_pairs: Any,
    default: Action | None = None,
    exclusive: bool = False,
    strict: bool = False,
    name: str = "case",
) -> Any:
    """What the function gives that belongs to the first true predicate.

    Args:
      pred_fn_pairs: pairs of a Boolean scalar tensor and a function of no arguments, or a
        dictionary of them.
      default: the function for the case that none is true; without one that is an error when run.
      exclusive: whether it is an error when run that several are true.
      strict: whether lists of one item are given as lists.
      name: of the scope.

    Raises:
      TypeError: if an argument is of the wrong kind.
    """
    predicates, actions = _checked(pred_fn_pairs, exclusive, name)
    with name_scope(name, "case", [predicates]):
        if default is None:
            default = _last_action(predicates, actions)
            predicates, actions = predicates[:-1], actions[:-1]
        chosen = default
        for predicate, action in zip(reversed(predicates), reversed(actions), strict=True):
            chosen = functools.partial(
                cond, predicate, true_fn=action, false_fn=chosen, strict=strict
            )
        if not exclusive:
            return chosen()
        check = _at_most(predicates, 1, "Input error: exclusive=True")
        with get_default_graph().control_dependencies([check]):
            return chosen()


def _checked(pairs: Any, exclusive: bool, name: str) -> tuple[list[Tensor], list[Action]]:
    if not isinstance(pairs, (list, tuple, dict)):
        raise TypeError("fns must be a list, tuple, or dict")
    if isinstance(pairs, collections.OrderedDict):
        pairs = list(pairs.items())
    elif isinstance(pairs, dict):
        pairs = sorted(pairs.items(), key=lambda item: item[0].name)
        if not exclusive:
            logging.warning(
                "%s: An unordered dictionary of predicate/fn pairs was provided, but "
                "exclusive=False. The order of conditional tests is deterministic but not "
                "guaranteed.",
                name,
            )
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        predicate, action = pair
        if not isinstance(predicate, Tensor):
            raise TypeError(f"pred must be a Tensor, got: {predicate}")
        if predicate.dtype != dtypes.bool:
            raise TypeError(f"pred must be Tensor of type bool: {predicate.name}")
        if not callable(action):
            raise TypeError(f"fn for pred {predicate.name} must be callable.")
    return [predicate for predicate, _ in pairs], [action for _, action in pairs]


def _last_action(predicates: Sequence[Tensor], actions: Sequence[Action]) -> Action:
    """The last action, as the one that is left if all other predicates are false."""
    number = len(predicates) - 1

    def action() -> Any:
        others = (
            f"Implementation error: selected default action #{number} was called, but some of "
            "other predicates are True: "
        )
        message = (
            "Input error: None of conditions evaluated as True:",
            stack(predicates, name="preds_c"),
        )
        checks = [
            _at_most(predicates[:number], 0, others),
            Assert(predicates[number], data=message),
        ]
        with get_default_graph().control_dependencies(checks):
            return actions[number]()

    return action


def _at_most(predicates: Sequence[Tensor], count: int, message: str) -> Operation:
    """An assertion that at most `count` predicates are true."""
    stacked = stack(predicates, name="preds_c")
    true = reduce_sum(cast(stacked, dtypes.int32), name="num_true_conds")
    condition = less_equal(true, constant(count, name="n_true_conds"))
    names = ", ".join(getattr(predicate, "name", "?") for predicate in predicates)
    data = [f"{message}: more than {count} conditions ({names}) evaluated as True:", stacked]
    result: Operation = Assert(condition, data=data, summarize=len(predicates))
    return result
