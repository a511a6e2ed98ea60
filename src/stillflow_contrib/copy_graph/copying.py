"""Operations, tensors and variables copied into another graph, with all that they need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import stillflow as tf
from stillflow.graph.export import export
from stillflow.graph.graph import Graph
from stillflow.graph.operation import Operation, Tensor
from stillflow.variables.base import Variable

# In any scope these stay unchanged; other collections get its name in front.
_SHARED = (tf.GraphKeys.GLOBAL_VARIABLES, tf.GraphKeys.TRAINABLE_VARIABLES)


def _scoped(scope: str, name: str) -> str:
    return f"{scope}/{name}" if scope else name


def _collections(element: Any) -> list[Any]:
    """Names of the collections that an element of a graph is in."""
    found = element.graph._collections.items()
    return [name for name, items in found if any(element is item for item in items)]


@export("contrib.copy_graph.copy_variable_to_graph")
def copy_variable_to_graph(org_instance: Any, to_graph: Graph, scope: str = "") -> Any:
    """Return a variable of the same name and collections in another graph.

    Args:
      org_instance: the variable; a session computes the value that it is initialized with.
      to_graph: the other graph.
      scope: in front of the name, and of those of the program's own collections.

    Returns:
      The new variable.

    Raises:
      TypeError: if it is no variable.
    """
    if not isinstance(org_instance, Variable):
        raise TypeError(f"{org_instance} is not a Variable")
    collections = [
        name if name in _SHARED else _scoped(scope, name) for name in _collections(org_instance)
    ]
    graph = org_instance.graph
    trainable = tf.GraphKeys.TRAINABLE_VARIABLES in collections
    with graph.as_default(), tf.Session() as session:
        value = session.run(org_instance.initialized_value())
    name = _scoped(scope, org_instance.name.partition(":")[0])
    with to_graph.as_default():
        return tf.Variable(
            value, trainable, name=name, collections=collections, validate_shape=False
        )


@export("contrib.copy_graph.copy_op_to_graph")
def copy_op_to_graph(
    org_instance: Any, to_graph: Graph, variables: Sequence[Any], scope: str = ""
) -> Tensor | Operation:
    """Return a copy of an operation or tensor in another graph, and of all that it needs.

    Args:
      org_instance: the operation or tensor.
      to_graph: the other graph.
      variables: variables of the other graph, which `copy_variable_to_graph` made.
      scope: in front of all names.

    Returns:
      The copy; the existing item if there is one by that name.

    Raises:
      TypeError: if it is neither.
    """
    name = _scoped(scope, org_instance.name)
    for variable in variables:
        if variable.name == name:
            return to_graph.get_tensor_by_name(name)
    try:
        return to_graph.as_graph_element(name)
    except (KeyError, TypeError, ValueError):
        pass  # it is not there yet
    if isinstance(org_instance, Tensor):
        return _copied_tensor(org_instance, to_graph, variables, scope)
    if isinstance(org_instance, Operation):
        return _copied_operation(org_instance, to_graph, variables, scope)
    raise TypeError(f"Could not copy instance: {org_instance}")


def _copied_tensor(tensor: Any, to_graph: Any, variables: Sequence[Any], scope: str) -> Tensor:
    op = copy_op_to_graph(tensor.op, to_graph, variables, scope)
    assert isinstance(op, Operation)
    copied = op.outputs[tensor.value_index]
    for name in _collections(tensor):
        to_graph.add_to_collection(_scoped(scope, name), copied)
    return copied


def _copied_operation(op: Any, to_graph: Any, variables: Sequence[Any], scope: str) -> Operation:
    def copied(element: Any) -> Tensor | Operation:
        return copy_op_to_graph(element, to_graph, variables, scope)

    original = None if op._original_op is None else copied(op._original_op)
    controls = [copied(control) for control in op.control_inputs]
    inputs = [copied(tensor) for tensor in op.inputs]
    node_def = op.node_def
    node_def.name = _scoped(scope, op.name)
    made = Operation(
        node_def, to_graph, inputs, op._output_types, controls, op._input_types, original, op.op_def
    )
    to_graph._apply_device_functions(made)
    return made


@export("contrib.copy_graph.get_copied_op")
def get_copied_op(org_instance: Any, graph: Graph, scope: str = "") -> Tensor | Operation:
    """Return the copy of an operation or tensor that is in a graph already.

    Args:
      org_instance: the operation or tensor.
      graph: the graph of the copy.
      scope: that it was copied with.

    Raises:
      KeyError: if there is none.
    """
    return graph.as_graph_element(_scoped(scope, org_instance.name))
