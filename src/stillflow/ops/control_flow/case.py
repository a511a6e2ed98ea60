"""`tf.case`: the first of several branches whose condition holds."""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable, Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import control_dependencies, name_scope
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.arrays.stack import stack
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.cond import cond, smart_cond
from stillflow.ops.debugging.asserts import Assert
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
    """Return the result of the first function whose condition holds when the graph runs.

    Args:
      pred_fn_pairs: pairs of a scalar boolean tensor and a function, in a list, tuple or dict.
      default: called if no condition holds; without it, one must.
      exclusive: whether it is an error if several conditions hold.
      strict: whether lists and tuples of one element stay as they are.
      name: of the scope.

    Raises:
      TypeError: if the pairs are of other types.
      ValueError: if the functions give different structures.
    """
    predicates, actions = _checked(pred_fn_pairs, exclusive, name, False)
    choose = functools.partial(cond, strict=strict)
    return _nested(choose, predicates, actions, default, exclusive, name)


def smart_case(
    pred_fn_pairs: Any,
    default: Action | None = None,
    exclusive: bool = False,
    name: str = "smart_case",
) -> Any:
    """`case` whose conditions may be Python bools; those known beforehand choose right away.

    TypeError for pairs of other types.
    """
    predicates, actions = _checked(pred_fn_pairs, exclusive, name, True)
    return _nested(smart_cond, predicates, actions, default, exclusive, name)


def case_helper(
    cond_fn: Callable[..., Any],
    pred_fn_pairs: Any,
    default: Action | None,
    exclusive: bool,
    name: str,
    allow_python_preds: bool = False,
    **cond_kwargs: Any,
) -> Tensor | list[Tensor]:
    """`case` by `cond_fn`, which takes a condition, `true_fn`, `false_fn` and `cond_kwargs`.

    TypeError for pairs of other types.
    """
    predicates, actions = _checked(pred_fn_pairs, exclusive, name, allow_python_preds)
    choose = functools.partial(cond_fn, **cond_kwargs)
    return _nested(choose, predicates, actions, default, exclusive, name)


def _nested(
    choose: Callable[..., Any],
    predicates: Sequence[Any],
    actions: Sequence[Action],
    default: Action | None,
    exclusive: bool,
    name: str,
) -> Tensor | list[Tensor]:
    """Chain `choose`: each one selects between a function and the rest."""
    with name_scope(name, "case", [predicates]):
        if default is None:
            predicates, actions, default = _last_as_default(predicates, actions)
        result = default
        for predicate, action in zip(reversed(predicates), reversed(actions), strict=True):
            result = functools.partial(choose, predicate, true_fn=action, false_fn=result)
        if not exclusive:
            return result()
        with control_dependencies([_at_most(predicates, 1, "Input error: exclusive=True")]):
            return result()


def _checked(
    pairs: Any, exclusive: bool, name: str, allow_bools: bool
) -> tuple[Sequence[Any], Sequence[Action]]:
    if not isinstance(pairs, (list, tuple, dict)):
        raise TypeError("fns must be a list, tuple, or dict")
    if isinstance(pairs, collections.OrderedDict):
        pairs = list(pairs.items())
    elif isinstance(pairs, dict) and executing_eagerly():
        if not exclusive:
            raise ValueError(
                "Unordered dictionaries are not supported for the `pred_fn_pairs` argument when "
                "`exclusive=False` and eager mode is enabled."
            )
        pairs = list(pairs.items())
    elif isinstance(pairs, dict):
        pairs = sorted(pairs.items(), key=lambda pair: pair[0].name)
        if not exclusive:
            logging.warn(
                "%s: An unordered dictionary of predicate/fn pairs was provided, but "
                "exclusive=False. The order of conditional tests is deterministic but not "
                "guaranteed.",
                name,
            )
    for pair in pairs:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise TypeError("Each entry in pred_fn_pairs must be a 2-tuple")
        pred, function = pair
        if allow_bools and isinstance(pred, bool):
            if not callable(function):
                raise TypeError(f"fn for pred {pred} must be callable.")
            continue
        if not isinstance(pred, Tensor):
            raise TypeError(f"pred must be a Tensor, got: {pred}")
        if pred.dtype != dtypes.bool:
            raise TypeError(f"pred must be Tensor of type bool: {pred.name}")
        if not callable(function):
            raise TypeError(f"fn for pred {pred.name} must be callable.")
    predicates, actions = zip(*pairs, strict=True)
    return predicates, actions


def _at_most(predicates: Sequence[Any], n: int, message: str) -> Operation | None:
    conditions = stack(predicates, name="preds_c")
    count = reduce_sum(cast(conditions, dtypes.int32), name="num_true_conds")
    shown = ", ".join(getattr(each, "name", "?") for each in predicates)
    text = f"{message}: more than {n} conditions ({shown}) evaluated as True:"
    limit = constant(n, name="n_true_conds")
    return Assert(less_equal(count, limit), [text, conditions], len(predicates))


def _last_as_default(
    predicates: Sequence[Any], actions: Sequence[Action]
) -> tuple[Sequence[Any], Sequence[Action], Action]:
    """Make the last action the default; it checks that its own condition holds."""
    *others, last = predicates
    *other_actions, action = actions

    def default() -> Any:
        text = (
            f"Implementation error: selected default action #{len(others)} was called, "
            "but some of other predicates are True: "
        )
        data = ["Input error: None of conditions evaluated as True:"]
        shown = stack(predicates, name="preds_c")
        checks = [_at_most(others, 0, text), Assert(last, [*data, shown])]
        with control_dependencies(checks):
            return action()

    return others, other_actions, default
