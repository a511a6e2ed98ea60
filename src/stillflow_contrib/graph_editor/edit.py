"""Parts of a graph are detached, connected, bypassed."""

from __future__ import annotations

from typing import Any

from stillflow.graph.export import export
from stillflow.graph.operation import Tensor
from stillflow.ops.constants import placeholder
from stillflow_contrib.graph_editor import reroute, select, util
from stillflow_contrib.graph_editor.subgraph import SubGraphView, make_view


@export(
    "contrib.graph_editor.edit.detach_control_inputs", "contrib.graph_editor.detach_control_inputs"
)
def detach_control_inputs(sgv: Any) -> None:
    """Remove control inputs of a view's operations from outside.

    Args:
      sgv: The view, or an argument of `make_view`.
    """
    view = make_view(sgv)
    for op in view.ops:
        reroute.remove_control_inputs(op, [cop for cop in op.control_inputs if cop not in view.ops])


@export(
    "contrib.graph_editor.edit.detach_control_outputs",
    "contrib.graph_editor.detach_control_outputs",
)
def detach_control_outputs(sgv: Any, control_outputs: Any) -> None:
    """No operation outside of a view waits for one in it.

    Args:
      sgv: The view, or an argument of `make_view`.
      control_outputs: A `ControlOutputs` of the graph.

    Raises:
      TypeError: If it is none.
    """
    if not isinstance(control_outputs, util.ControlOutputs):
        raise TypeError("Expected a util.ControlOutputs, got: {}", type(control_outputs))
    control_outputs.update()
    view = make_view(sgv)
    for op in view.ops:
        for waiting in control_outputs.get(op):
            if waiting not in view.ops:
                reroute.remove_control_inputs(waiting, op)


@export("contrib.graph_editor.edit.detach_inputs", "contrib.graph_editor.detach_inputs")
def detach_inputs(sgv: Any, control_inputs: bool = False) -> tuple[SubGraphView, list[Tensor]]:
    """Replace a view's inputs by placeholders.

    Args:
      sgv: The view, or an argument of `make_view`.
      control_inputs: Whether its operations stop to wait for those outside, too.

    Returns:
      The view and the placeholders.
    """
    view = make_view(sgv)
    assert view.graph is not None
    with view.graph.as_default():
        made = [
            placeholder(tensor.dtype, name=util.placeholder_name(tensor)) for tensor in view.inputs
        ]
    reroute.swap_inputs(view, made)
    if control_inputs:
        detach_control_inputs(view)
    return view, made


@export("contrib.graph_editor.edit.detach_outputs", "contrib.graph_editor.detach_outputs")
def detach_outputs(sgv: Any, control_outputs: Any = None) -> tuple[SubGraphView, list[Tensor]]:
    """Those who take a view's outputs take placeholders in their place.

    Args:
      sgv: The view, or an argument of `make_view`.
      control_outputs: A `ControlOutputs`, if nobody is to wait for operations of the view either.

    Returns:
      A view with the outputs that somebody took, and the placeholders.
    """
    view = make_view(sgv)
    view = view.remap_outputs([tensor for tensor in view.outputs if tensor.consumers()])
    users = SubGraphView(view.consumers())
    users = users.remap_inputs([tensor for tensor in users.inputs if tensor in list(view.outputs)])
    assert view.graph is not None
    with view.graph.as_default():
        made = [util.make_placeholder_from_tensor(tensor) for tensor in users.inputs]
    reroute.swap_outputs(view, made)
    if control_outputs is not None:
        detach_control_outputs(view, control_outputs)
    return view, made


@export("contrib.graph_editor.edit.detach", "contrib.graph_editor.detach")
def detach(
    sgv: Any, control_inputs: Any = False, control_outputs: Any = None, control_ios: Any = None
) -> tuple[Any, list[Tensor], list[Tensor]]:
    """Return a view is cut off from the graph, on both sides.

    Args:
      sgv: The view, or an argument of `make_view`.
      control_inputs, control_outputs, control_ios: Whether edges of control are cut too; see
        `check_cios`.

    Returns:
      `sgv`, the placeholders it takes, and those that others take.
    """
    control_inputs, control_outputs = select.check_cios(
        control_inputs, control_outputs, control_ios
    )
    _, inputs = detach_inputs(sgv, control_inputs)
    _, outputs = detach_outputs(sgv, control_outputs)
    return sgv, inputs, outputs


@export("contrib.graph_editor.edit.connect", "contrib.graph_editor.connect")
def connect(
    sgv0: Any, sgv1: Any, disconnect_first: bool = False
) -> tuple[SubGraphView, SubGraphView]:
    """Return the second view takes the outputs of the first.

    Args:
      sgv0, sgv1: The views, or an argument of `make_view`.
      disconnect_first: Whether nobody else takes them any more.

    Returns:
      Both views.

    Raises:
      ValueError: If they are in different graphs, or do not go together.
    """
    first, second = make_view(sgv0), make_view(sgv1)
    util.check_graphs(first, second)
    if disconnect_first:
        detach_outputs(first)
    reroute.reroute_inputs(SubGraphView(passthrough_ts=first.outputs), second)
    return first, second


@export("contrib.graph_editor.edit.bypass", "contrib.graph_editor.bypass")
def bypass(sgv: Any) -> tuple[SubGraphView, list[Tensor]]:
    """Those who take a view's outputs take its inputs, and it takes placeholders.

    Args:
      sgv: The view, or an argument of `make_view`.

    Returns:
      The view and the placeholders.

    Raises:
      ValueError: If it has not as many inputs as outputs, or they do not go together.
    """
    view = make_view(sgv)
    inputs = list(view.inputs)
    view, made = detach_inputs(view)
    reroute.reroute_ts(inputs, view.outputs)
    return view, made
