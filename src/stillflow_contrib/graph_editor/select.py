"""Selection of a graph's operations and tensors: by name, by scope, by dependency."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow_contrib.graph_editor import util

Filter = Any  # a function of an operation or tensor, or True


@export("contrib.graph_editor.can_be_regex", "contrib.graph_editor.select.can_be_regex")
def can_be_regex(obj: Any) -> bool:
    """Return True if this is a regular expression, compiled or not."""
    return isinstance(obj, (str, re.Pattern))


@export("contrib.graph_editor.make_regex", "contrib.graph_editor.select.make_regex")
def make_regex(obj: Any) -> re.Pattern[str]:
    """Return the compiled regular expression.

    Raises:
      ValueError: If it is none.
    """
    if not can_be_regex(obj):
        raise ValueError(f"Expected a string or a regex, got: {type(obj)}")
    return re.compile(obj)


def _get_input_ts(ops: Any) -> list[Tensor]:
    """Return the inputs of operations, each tensor once."""
    found = util.make_list_of_op(ops)
    return list(dict.fromkeys(tensor for op in found for tensor in op.inputs))


def _get_output_ts(ops: Any) -> list[Tensor]:
    """Return the outputs of operations."""
    return [tensor for op in util.make_list_of_op(ops) for tensor in op.outputs]


def _filtered(items: list[Any], positive_filter: Filter) -> list[Any]:
    return items if positive_filter is True else [item for item in items if positive_filter(item)]


@export("contrib.graph_editor.select.filter_ts", "contrib.graph_editor.filter_ts")
def filter_ts(ops: Any, positive_filter: Filter) -> list[Tensor]:
    """Return the inputs and outputs of operations that a filter lets pass.

    Args:
      ops: An argument of `make_list_of_op`.
      positive_filter: A function of a tensor; True for all.
    """
    ops = util.make_list_of_op(ops)
    return _filtered(
        util.concatenate_unique(_get_input_ts(ops), _get_output_ts(ops)), positive_filter
    )


@export(
    "contrib.graph_editor.select.filter_ts_from_regex", "contrib.graph_editor.filter_ts_from_regex"
)
def filter_ts_from_regex(ops: Any, regex: Any) -> list[Tensor]:
    """Return the inputs and outputs of operations in whose names a regular expression is found."""
    found = make_regex(regex).search
    return filter_ts(ops, lambda tensor: found(tensor.name))


@export("contrib.graph_editor.select.filter_ops", "contrib.graph_editor.filter_ops")
def filter_ops(ops: Any, positive_filter: Filter) -> list[Operation]:
    """Return the operations that a filter lets pass.

    Args:
      ops: An argument of `make_list_of_op`.
      positive_filter: A function of an operation; True for all.
    """
    return _filtered(util.make_list_of_op(ops), positive_filter)


@export(
    "contrib.graph_editor.select.filter_ops_from_regex",
    "contrib.graph_editor.filter_ops_from_regex",
)
def filter_ops_from_regex(ops: Any, regex: Any) -> list[Operation]:
    """Return the operations in whose names a regular expression is found."""
    found = make_regex(regex).search
    return filter_ops(ops, lambda op: found(op.name))


@export("contrib.graph_editor.select.get_name_scope_ops", "contrib.graph_editor.get_name_scope_ops")
def get_name_scope_ops(ops: Any, scope: str) -> list[Operation]:
    """Return the operations in a name scope."""
    return filter_ops_from_regex(ops, f"^{scope.removesuffix('/')}(/.*)?$")


@export("contrib.graph_editor.select.check_cios", "contrib.graph_editor.check_cios")
def check_cios(
    control_inputs: Any = False, control_outputs: Any = None, control_ios: Any = None
) -> tuple[Any, Any]:
    """Return the control edges from three arguments, the last of which stands for both others.

    Returns:
      Whether control inputs count, and the `ControlOutputs`, brought up to date, or None.

    Raises:
      TypeError: If the last two are something else than `ControlOutputs`.
      ValueError: If both are given.
    """
    for given in (control_ios, control_outputs):
        if given is not None and not isinstance(given, util.ControlOutputs):
            raise TypeError(f"Expected a util.ControlOutputs, got: {type(given)}")
    if control_ios is not None:
        if control_outputs is not None:
            raise ValueError("control_outputs should be None when using control_ios.")
        control_inputs, control_outputs = True, control_ios
    if control_outputs is not None:
        control_outputs.update()
    return control_inputs, control_outputs


@export("contrib.graph_editor.select.get_ops_ios", "contrib.graph_editor.get_ops_ios")
def get_ops_ios(
    ops: Any, control_inputs: Any = False, control_outputs: Any = None, control_ios: Any = None
) -> list[Operation]:
    """Return the operations next to some others.

    Args:
      ops: An argument of `make_list_of_op`.
      control_inputs, control_outputs, control_ios: Whether edges of control count too; see
        `check_cios`.
    """
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    found: list[Operation] = []
    for op in util.make_list_of_op(ops):
        util.concatenate_unique(found, (tensor.op for tensor in op.inputs))
        for tensor in op.outputs:
            util.concatenate_unique(found, tensor.consumers())
        if control_outputs is not None:
            util.concatenate_unique(found, control_outputs.get(op))
        if control_inputs:
            util.concatenate_unique(found, op.control_inputs)
    return found


@export(
    "contrib.graph_editor.select.compute_boundary_ts", "contrib.graph_editor.compute_boundary_ts"
)
def compute_boundary_ts(ops: Any) -> tuple[list[Tensor], list[Tensor], list[Tensor]]:
    """Return the tensors into, out of, and between operations.

    Returns:
      Three lists of tensors; what is used both inside and outside is in the last two.
    """
    ops = util.make_list_of_op(ops)
    inside = frozenset(ops)
    inputs, outputs = _get_input_ts(ops), _get_output_ts(ops)
    made = frozenset(outputs)
    used = frozenset(inputs)
    passed_on = [tensor for tensor in inputs if tensor in made]
    leaving = [
        tensor for tensor in outputs
        if tensor not in used or not inside.issuperset(tensor.consumers())
    ]  # fmt: skip
    return [tensor for tensor in inputs if tensor not in made], leaving, passed_on


@export(
    "contrib.graph_editor.select.get_within_boundary_ops",
    "contrib.graph_editor.get_within_boundary_ops",
)
def get_within_boundary_ops(
    ops: Any,
    seed_ops: Any,
    boundary_ops: Any = (),
    inclusive: bool = True,
    control_inputs: Any = False,
    control_outputs: Any = None,
    control_ios: Any = None,
) -> list[Operation]:
    """Return the operations that can be reached, in any direction, without crossing a boundary.

    Args:
      ops: Where to look; what `make_list_of_op` takes.
      seed_ops: Where to begin.
      boundary_ops: Where to end.
      inclusive: Whether those belong to the result.
      control_inputs, control_outputs, control_ios: See `check_cios`.

    Raises:
      ValueError: If it would end where it begins.
    """
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    ops = util.make_list_of_op(ops)
    wave = set(util.make_list_of_op(seed_ops, allow_graph=False))
    boundary = set(util.make_list_of_op(boundary_ops))
    if boundary & wave:
        raise ValueError("Boundary is intersecting with the seeds.")
    found = set(wave)
    while wave:
        near = set(get_ops_ios(wave, control_inputs, control_outputs)) - found
        if inclusive:
            found |= near & boundary
        wave = near - boundary
        found |= wave
    return [op for op in ops if op in found]


def _walk(
    seeds: Any,
    of_tensors: Callable[[Any], list[Operation]],
    inclusive: bool,
    within_ops: Any,
    within_ops_fn: Any,
    following: Callable[[Operation], Iterable[Operation]],
) -> list[Operation]:
    """Return the operations that follow others, breadth first."""
    seeds = list(seeds) if util.is_iterable(seeds) else [seeds]
    if not seeds:
        return []
    if isinstance(seeds[0], Tensor):
        seeds = of_tensors(seeds)
    seeds = dict.fromkeys(util.make_list_of_op(seeds, allow_graph=False))
    within = frozenset(util.make_list_of_op(within_ops, allow_graph=False)) if within_ops else None
    if within is not None:
        seeds = {op: None for op in seeds if op in within}
    found = dict(seeds)
    wave = list(seeds)
    while wave:
        near = dict.fromkeys(next_op for op in wave for next_op in following(op))
        wave = [
            op for op in near
            if op not in found
            and (within_ops is None or (within is not None and op in within))
            and (within_ops_fn is None or within_ops_fn(op))
        ]  # fmt: skip
        found.update(dict.fromkeys(wave))
    return [op for op in found if inclusive or op not in seeds]


@export(
    "contrib.graph_editor.select.get_forward_walk_ops", "contrib.graph_editor.get_forward_walk_ops"
)
def get_forward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    stop_at_ts: Any = (),
    control_outputs: Any = None,
) -> list[Operation]:
    """Return the operations that depend on some others.

    Args:
      seed_ops: These operations, or tensors: then those that take them.
      inclusive: Whether they belong to the result.
      within_ops: Where to look; None for the whole graph.
      within_ops_fn: A function of an operation that says the same.
      stop_at_ts: Tensors that are not followed.
      control_outputs: A `ControlOutputs`, if edges of control count too.
    """
    _, control_outputs = check_cios(False, control_outputs)
    stops = frozenset(util.make_list_of_t(stop_at_ts))

    def following(op: Operation) -> Iterable[Operation]:
        for tensor in op.outputs:
            if tensor not in stops:
                yield from tensor.consumers()
        if control_outputs is not None:
            yield from control_outputs.get(op)

    return _walk(seed_ops, util.get_consuming_ops, inclusive, within_ops, within_ops_fn, following)


@export(
    "contrib.graph_editor.select.get_backward_walk_ops",
    "contrib.graph_editor.get_backward_walk_ops",
)
def get_backward_walk_ops(
    seed_ops: Any,
    inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    stop_at_ts: Any = (),
    control_inputs: bool = False,
) -> list[Operation]:
    """Return the operations that some others depend on.

    Args:
      seed_ops: These operations, or tensors: then those that give them.
      inclusive: Whether they belong to the result.
      within_ops: Where to look; None for the whole graph.
      within_ops_fn: A function of an operation that says the same.
      stop_at_ts: Tensors that are not followed.
      control_inputs: Whether edges of control count too.
    """
    return behind(seed_ops, inclusive, within_ops, within_ops_fn, stop_at_ts, control_inputs)


def behind(
    seeds: Any, inclusive: bool, within_ops: Any, within_ops_fn: Any, stop_at_ts: Any,
    control_inputs: bool, is_crossed: Callable[[Operation], bool] | None = None,
) -> list[Operation]:  # fmt: skip
    """Walk like `get_backward_walk_ops`.

    Only inputs of operations that are crossed are followed.
    """
    stops = frozenset(util.make_list_of_t(stop_at_ts))

    def following(op: Operation) -> Iterable[Operation]:
        if is_crossed is None or is_crossed(op):
            yield from (tensor.op for tensor in op.inputs if tensor not in stops)
        if control_inputs:
            yield from op.control_inputs

    return _walk(seeds, util.get_generating_ops, inclusive, within_ops, within_ops_fn, following)


def _both_walks(
    forward_seeds: Any, backward_seeds: Any, forward_inclusive: bool, backward_inclusive: bool,
    within_ops: Any, within_ops_fn: Any, control_inputs: Any, control_outputs: Any,
    control_ios: Any,
) -> tuple[list[Operation], list[Operation]]:  # fmt: skip
    control_inputs, control_outputs = check_cios(control_inputs, control_outputs, control_ios)
    forward = get_forward_walk_ops(
        forward_seeds, forward_inclusive, within_ops, within_ops_fn, control_outputs=control_outputs
    )
    backward = behind(
        backward_seeds, backward_inclusive, within_ops, within_ops_fn, (), control_inputs
    )
    return forward, backward


@export(
    "contrib.graph_editor.select.get_walks_intersection_ops",
    "contrib.graph_editor.get_walks_intersection_ops",
)
def get_walks_intersection_ops(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    control_inputs: Any = False,
    control_outputs: Any = None,
    control_ios: Any = None,
) -> list[Operation]:
    """Return the operations between some and others: in a walk forward as well as in one backward.

    Args:
      forward_seed_ops, forward_inclusive: As for `get_forward_walk_ops`.
      backward_seed_ops, backward_inclusive: As for `get_backward_walk_ops`.
      within_ops, within_ops_fn: As for both.
      control_inputs, control_outputs, control_ios: See `check_cios`.
    """
    forward, backward = _both_walks(
        forward_seed_ops, backward_seed_ops, forward_inclusive, backward_inclusive,
        within_ops, within_ops_fn, control_inputs, control_outputs, control_ios,
    )  # fmt: skip
    behind = frozenset(backward)
    return [op for op in forward if op in behind]


@export(
    "contrib.graph_editor.select.get_walks_union_ops", "contrib.graph_editor.get_walks_union_ops"
)
def get_walks_union_ops(
    forward_seed_ops: Any,
    backward_seed_ops: Any,
    forward_inclusive: bool = True,
    backward_inclusive: bool = True,
    within_ops: Any = None,
    within_ops_fn: Any = None,
    control_inputs: Any = False,
    control_outputs: Any = None,
    control_ios: Any = None,
) -> list[Operation]:
    """Return the operations in either of two walks; see `get_walks_intersection_ops`."""
    forward, backward = _both_walks(
        forward_seed_ops, backward_seed_ops, forward_inclusive, backward_inclusive,
        within_ops, within_ops_fn, control_inputs, control_outputs, control_ios,
    )  # fmt: skip
    return util.concatenate_unique(forward, backward)


def _selected(
    args: tuple[Any, ...], options: dict[str, Any], mark: str, other_mark: str, option: str,
    by_regex: Callable[[Any, Any], list[Any]], listed: Callable[[Any], list[Any]],
) -> list[Any]:  # fmt: skip
    known = {"graph", "positive_filter", "restrict_ops_regex", "restrict_ts_regex"}
    for name in options:
        if name not in known:
            raise ValueError(f"Wrong keywords argument: {name}.")
    graph = options.get("graph")
    if graph is not None and not isinstance(graph, Graph):
        raise TypeError(f"Expected a tf.Graph, got: {type(graph)}")
    positive_filter = options.get("positive_filter")
    found: list[Any] = []
    for arg in args:
        if not can_be_regex(arg):
            items = listed(arg)
        elif graph is None:
            raise ValueError("Use the keyword argument 'graph' to use regex.")
        else:
            pattern = make_regex(arg).pattern
            if pattern.startswith(other_mark):
                continue
            if options.get(option) and not pattern.startswith(mark):
                continue
            items = by_regex(graph, arg)
        util.concatenate_unique(
            found, _filtered(items, True if positive_filter is None else positive_filter)
        )
    return found


@export("contrib.graph_editor.select.select_ops", "contrib.graph_editor.select_ops")
def select_ops(*args: Any, **kwargs: Any) -> list[Operation]:
    """Operations by themselves, by the list, or by regular expressions of their names.

    Args:
      *args: Operations, lists of them, regular expressions; those that begin with `(?#ts)` are for
        tensors.
      **kwargs: `graph`, needed for regular expressions; `positive_filter`, a function of an
        operation; `restrict_ops_regex`, whether only those beginning with `(?#ops)` count.

    Raises:
      TypeError: If `graph` is none.
      ValueError: If it is missing, or an argument is not known.
    """
    return _selected(
        args, kwargs, "(?#ops)", "(?#ts)", "restrict_ops_regex", filter_ops_from_regex,
        lambda ops: util.make_list_of_op(ops, ignore_ts=True),
    )  # fmt: skip


@export("contrib.graph_editor.select.select_ts", "contrib.graph_editor.select_ts")
def select_ts(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Tensors, as `select_ops`; `(?#ts)`, `(?#ops)` and `restrict_ts_regex` trade places."""
    return _selected(
        args, kwargs, "(?#ts)", "(?#ops)", "restrict_ts_regex", filter_ts_from_regex,
        lambda ts: util.make_list_of_t(ts, ignore_ops=True),
    )  # fmt: skip


@export("contrib.graph_editor.select.select_ops_and_ts", "contrib.graph_editor.select_ops_and_ts")
def select_ops_and_ts(*args: Any, **kwargs: Any) -> tuple[list[Operation], list[Tensor]]:
    """Operations, and tensors by themselves or by regular expressions that begin with `(?#ts)`.

    Args:
      *args, **kwargs: As for `select_ops`.
    """
    ops = select_ops(*args, **{"restrict_ops_regex": False, **kwargs})
    return ops, select_ts(*args, **{"restrict_ts_regex": True, **kwargs})
