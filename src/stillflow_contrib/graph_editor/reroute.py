"""Operations are given other inputs: those of another, or each those of the other."""

from __future__ import annotations

from typing import Any, NamedTuple

from stillflow.graph.export import export
from stillflow.graph.operation import Operation, Tensor
from stillflow_contrib.graph_editor import util
from stillflow_contrib.graph_editor.subgraph import SubGraphView, make_view


class _Mode(NamedTuple):
    """Consumers that get new inputs: those of the second tensors, those of the first."""

    second: bool
    first: bool


_SWAP = _Mode(True, True)
_REROUTE = _Mode(True, False)


def _check_compatible(ts0: list[Tensor], ts1: list[Tensor]) -> None:
    if len(ts0) != len(ts1):
        raise ValueError(f"ts0 and ts1 have different sizes: {len(ts0)} != {len(ts1)}")
    for left, right in zip(ts0, ts1):
        if not left.dtype.is_compatible_with(right.dtype):
            raise ValueError(f"Dtypes {left.dtype} and {right.dtype} are not compatible.")
        shapes = left.get_shape(), right.get_shape()
        if not shapes[0].is_compatible_with(shapes[1]):
            raise ValueError(f"Shapes {shapes[0]} and {shapes[1]} are not compatible.")


def _reroute(
    ts0: Any, ts1: Any, mode: _Mode, can_modify: Any = None, cannot_modify: Any = None
) -> int:
    ts0, ts1 = util.make_list_of_t(ts0), util.make_list_of_t(ts1)
    _check_compatible(ts0, ts1)
    allowed = None if can_modify is None else frozenset(util.make_list_of_op(can_modify))
    refused = frozenset(() if cannot_modify is None else util.make_list_of_op(cannot_modify))

    def users(tensor: Tensor) -> list[Operation]:
        found = [op for op in tensor.consumers() if allowed is None or op in allowed]
        return [op for op in dict.fromkeys(found) if op not in refused]

    # Consumers are determined before anything changes, their positions only then, as in TensorFlow.
    pairs = [(left, right, users(left), users(right)) for left, right in zip(ts0, ts1)]
    count = 0
    for left, right, users_of_left, users_of_right in pairs:
        if left is not right:
            count += _replace(right, left, users_of_right) if mode.second else 0
            count += _replace(left, right, users_of_left) if mode.first else 0
    return count


def _replace(old: Tensor, new: Tensor, users: list[Operation]) -> int:
    """Replace a tensor in its consumers; return the number of inputs."""
    places = [
        (op, index) for op in users for index, tensor in enumerate(op.inputs) if tensor is old
    ]
    for op, index in places:
        op._update_input(index, new)
    return len(places)


@export("contrib.graph_editor.reroute.swap_ts", "contrib.graph_editor.swap_ts")
def swap_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Those who take the first tensors take the second from now on, and the other way round.

    Args:
      ts0, ts1: As many tensors each, of types and shapes that go together.
      can_modify: The operations that may change; None for all.
      cannot_modify: The operations that may not.

    Returns:
      How many inputs are others now.

    Raises:
      TypeError: If something is no tensor or operation.
      ValueError: If the tensors do not go together.
    """
    return _reroute(ts0, ts1, _SWAP, can_modify, cannot_modify)


@export("contrib.graph_editor.reroute.reroute_ts", "contrib.graph_editor.reroute_ts")
def reroute_ts(ts0: Any, ts1: Any, can_modify: Any = None, cannot_modify: Any = None) -> int:
    """Those who take the second tensors take the first from now on; see `swap_ts`."""
    return _reroute(ts0, ts1, _REROUTE, can_modify, cannot_modify)


def _remapped(view: SubGraphView, other: SubGraphView) -> SubGraphView:
    """Return a view with the inputs of another, also where these pass through."""
    result = view.copy()
    result._input_ts = list(other._input_ts)
    result._passthrough_ts = list(other._passthrough_ts)
    return result


def _pass_through(result: SubGraphView, view: SubGraphView) -> None:
    """Replace passthroughs in a remapped view's outputs by their present tensors."""
    old = dict(zip(view._input_ts, result._input_ts))
    through = frozenset(view._passthrough_ts)
    result._output_ts = [
        old.get(tensor, tensor) if tensor in through else tensor for tensor in result._output_ts
    ]


def _reroute_inputs(sgv0: Any, sgv1: Any, mode: _Mode) -> tuple[SubGraphView, SubGraphView]:
    first, second = make_view(sgv0), make_view(sgv1)
    util.check_graphs(first, second)
    can_modify = [*first.ops, *second.ops]
    for view in (first, second):
        can_modify += util.get_consuming_ops(view.passthroughs)
    _reroute(first.inputs, second.inputs, mode, can_modify=can_modify)
    new_first, new_second = first.copy(), second.copy()
    if mode.second:
        new_second = _remapped(second, first)
        _pass_through(new_second, second)
    if mode.first:
        new_first = _remapped(first, second)
        _pass_through(new_first, first)
    first._assign_from(new_first)
    second._assign_from(new_second)
    return first, second


def _reroute_outputs(sgv0: Any, sgv1: Any, mode: _Mode) -> tuple[SubGraphView, SubGraphView]:
    first, second = make_view(sgv0), make_view(sgv1)
    util.check_graphs(first, second)
    inside = [*first.ops, *second.ops]
    _reroute(first.outputs, second.outputs, mode, cannot_modify=inside)
    return first, second


def _reroute_both(sgv0: Any, sgv1: Any, mode: _Mode) -> tuple[SubGraphView, SubGraphView]:
    _reroute_outputs(sgv0, sgv1, mode)
    return _reroute_inputs(sgv0, sgv1, mode)


@export("contrib.graph_editor.reroute.swap_inputs", "contrib.graph_editor.swap_inputs")
def swap_inputs(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """Two views trade inputs.

    Args:
      sgv0, sgv1: Views, or an argument of `make_view`; views are changed.

    Returns:
      Both.

    Raises:
      ValueError: If they are in different graphs, or the inputs do not go together.
    """
    return _reroute_inputs(sgv0, sgv1, _SWAP)


@export("contrib.graph_editor.reroute.reroute_inputs", "contrib.graph_editor.reroute_inputs")
def reroute_inputs(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """Return the second view takes the inputs of the first; see `swap_inputs`."""
    return _reroute_inputs(sgv0, sgv1, _REROUTE)


@export("contrib.graph_editor.reroute.swap_outputs", "contrib.graph_editor.swap_outputs")
def swap_outputs(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """Those who take the outputs of one view take those of the other; see `swap_inputs`."""
    return _reroute_outputs(sgv0, sgv1, _SWAP)


@export("contrib.graph_editor.reroute.reroute_outputs", "contrib.graph_editor.reroute_outputs")
def reroute_outputs(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """Those who take the second view's outputs take the first one's; see `swap_inputs`."""
    return _reroute_outputs(sgv0, sgv1, _REROUTE)


@export("contrib.graph_editor.reroute.swap_ios", "contrib.graph_editor.swap_ios")
def swap_ios(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """`swap_outputs`, then `swap_inputs`."""
    return _reroute_both(sgv0, sgv1, _SWAP)


@export("contrib.graph_editor.reroute.reroute_ios", "contrib.graph_editor.reroute_ios")
def reroute_ios(sgv0: Any, sgv1: Any) -> tuple[SubGraphView, SubGraphView]:
    """`reroute_outputs`, then `reroute_inputs`."""
    return _reroute_both(sgv0, sgv1, _REROUTE)


def _check_op(op: Any) -> None:
    if not isinstance(op, Operation):
        raise TypeError("Expected a tf.Operation, got: {}", type(op))


@export(
    "contrib.graph_editor.reroute.remove_control_inputs",
    "contrib.graph_editor.remove_control_inputs",
)
def remove_control_inputs(op: Any, cops: Any) -> None:
    """Remove control inputs of an operation.

    Args:
      op: The operation.
      cops: The others.

    Raises:
      TypeError: If something is no operation.
      ValueError: If it does not wait for one of them.
    """
    _check_op(op)
    cops = util.make_list_of_op(cops, allow_graph=False)
    for cop in cops:
        if cop not in op.control_inputs:
            raise ValueError(f"{op.name} is not a control_input of {cop.name}")
    kept = [cop for cop in op.control_inputs if cop not in cops]
    op._remove_all_control_inputs()
    op._add_control_inputs(kept)


@export(
    "contrib.graph_editor.reroute.add_control_inputs", "contrib.graph_editor.add_control_inputs"
)
def add_control_inputs(op: Any, cops: Any) -> None:
    """Add control inputs to an operation.

    Args:
      op: The operation.
      cops: The others.

    Raises:
      TypeError: If something is no operation.
      ValueError: If it waits for one of them already.
    """
    _check_op(op)
    cops = util.make_list_of_op(cops, allow_graph=False)
    for cop in cops:
        if cop in op.control_inputs:
            raise ValueError(f"{cop.name} is already a control_input of {op.name}")
    op._add_control_inputs(cops)
