"""Functions over the default graph: scopes and collections. `tf.name_scope`, `tf.device`, ..."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any

from stillflow.graph import tapes
from stillflow.graph.export import export
from stillflow.graph.graph import (
    Graph,
    get_default_graph,
    initial_graph,
    innermost_devices,
)
from stillflow.graph.operation import Operation, Tensor
from stillflow.graph.scopes import ControlScope


def graph_from_inputs(op_inputs: Any, graph: Graph | None = None) -> Graph:
    """Return the one graph of `op_inputs`; the default one if none of them is in a graph."""
    if graph is not None and not isinstance(graph, Graph):
        raise TypeError("Input graph needs to be a Graph.")
    if get_default_graph().building_function:
        return get_default_graph()  # which captures tensors of other graphs
    found: Graph | None = graph
    first: Any = None
    for item in op_inputs:
        item = item._as_graph_element() if hasattr(item, "_as_graph_element") else item
        if not isinstance(item, (Tensor, Operation)) or getattr(item, "holds_value", False):
            continue
        if found is None:
            found, first = item.graph, item
        elif first is not None and item.graph is not found:
            raise ValueError(f"{item} must be from the same graph as {first}.")
        elif item.graph is not found:
            raise ValueError(f"{item} is not from the passed-in graph.")
    return found or get_default_graph()


@export("name_scope", "keras.backend.name_scope")
class name_scope:
    """A context that puts names made inside under a scope.

    Args:
      name: the scope's name; None takes `default_name`.
      default_name: used if `name` is None.
      values: tensors the scope works on; all must be of one graph, which becomes the default one.

    Raises:
      TypeError: if `default_name` is given but not a string.
      ValueError: if both names are None while `values` are given.

    Example:
      >>> with tf.name_scope("layer"): y = tf.add(1, 2, name="sum")
      >>> y.name
      'layer/sum:0'
    """

    def __init__(self, name: Any, default_name: str | None = None, values: Any = None) -> None:
        if not (default_name is None or isinstance(default_name, str)):
            raise TypeError(
                f"`default_name` type ({type(default_name)}) is not a string type. You likely "
                "meant to pass this into the `values` kwarg."
            )
        self._name = default_name if name is None else name
        self._given, self._default_name, self._values = name, default_name, values
        self._stack: contextlib.ExitStack[Any] | None = None
        self._left: Any = None  # the scopes of eager execution, and the scope before

    @property
    def name(self) -> Any:
        return self._name

    def __enter__(self) -> str:
        if self._name is None and self._values is not None:
            raise ValueError(
                f"At least one of name ({self._given}) and default_name ({self._default_name}) "
                "must be provided."
            )
        graph = get_default_graph()
        if self._values:
            found = graph_from_inputs(self._values)
            if found.building_function or not graph.runs_at_once:
                graph = found  # else it is left to operations to reject tensors of graphs
        if graph.runs_at_once:
            scopes = graph._of_thread
            self._left = scopes, scopes.name
            scopes.name, scope = graph._enter_name_scope(self._name)
            return scope
        self._stack = contextlib.ExitStack()
        try:
            if graph is not get_default_graph():
                self._stack.enter_context(graph.as_default())
            return self._stack.enter_context(graph.name_scope(self._name))
        except BaseException:
            self._stack.close()
            raise

    def __exit__(self, *details: Any) -> None:
        if self._left is not None:
            scopes, scopes.name = self._left
        elif self._stack is not None:
            self._stack.__exit__(*details)


@export("op_scope")
@contextlib.contextmanager
def op_scope(values: Any, name: Any, default_name: Any = None) -> Iterator[str]:
    """Enter a name scope: the older spelling of `name_scope`."""
    with name_scope(name, default_name=default_name, values=values) as scope:
        yield scope


@export("device")
def device(device_name_or_function: Any) -> Any:
    """See `Graph.device`.

    Args:
      device_name_or_function: a name such as "/gpu:0", a function of an operation that returns one,
          or None to leave out the devices of outer scopes.

    Returns:
      A context manager.

    Raises:
      RuntimeError: for a function in eager execution.

    Example:
      >>> with tf.device("/cpu:0"): x = tf.constant(1.0)
      >>> x.device
      '/device:CPU:0'
    """
    return get_default_graph().device(device_name_or_function)


@export("container")
def container(container_name: str) -> AbstractContextManager[str]:
    """See `Graph.container`."""
    return get_default_graph().container(container_name)


@export("colocate_with")
def colocate_with(op: Any, ignore_existing: bool = False) -> Any:
    """See `Graph.colocate_with`."""
    return get_default_graph().colocate_with(op, ignore_existing)


@export("control_dependencies")
def control_dependencies(control_inputs: Any) -> ControlScope:
    """See `Graph.control_dependencies`.

    Args:
      control_inputs: a list of operations and tensors that run before those made in the scope;
          None to leave out those of outer scopes.

    Returns:
      A context manager.

    Raises:
      TypeError: for objects that are no operations or tensors.

    Example:
      >>> step = tf.Variable(0, name="step")
      >>> with tf.control_dependencies([step.assign_add(1).op]): done = tf.no_op(name="done")
      >>> [operation.name for operation in done.control_inputs]
      ['AssignAdd']
    """
    return get_default_graph().control_dependencies(control_inputs)


@export("add_to_collection")
def add_to_collection(name: Any, value: Any) -> None:
    """See `Graph.add_to_collection`.

    Args:
      name: of the collection, such as a constant of `tf.GraphKeys`.
      value: any object.

    Example:
      >>> tf.add_to_collection("losses", tf.constant(0.5, name="loss"))
      >>> tf.get_collection("losses")
      [<tf.Tensor 'loss:0' shape=() dtype=float32>]
    """
    get_default_graph().add_to_collection(name, value)


@export("add_to_collections")
def add_to_collections(names: Any, value: Any) -> None:
    """See `Graph.add_to_collections`."""
    get_default_graph().add_to_collections(names, value)


@export("get_collection")
def get_collection(key: Any, scope: str | None = None) -> list[Any]:
    """See `Graph.get_collection`.

    Args:
      key: of the collection, such as a constant of `tf.GraphKeys`.
      scope: a regular expression for the start of names; None for all items.

    Returns:
      A list: a copy of the collection, empty if there is none.

    Example:
      >>> v = tf.get_variable("weights/v", [2])
      >>> tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="weights") == [v]
      True
    """
    return get_default_graph().get_collection(key, scope)


@export("get_collection_ref")
def get_collection_ref(key: Any) -> list[Any]:
    """See `Graph.get_collection_ref`."""
    return get_default_graph().get_collection_ref(key)


@export("init_scope")
@contextlib.contextmanager
def init_scope() -> Iterator[None]:
    """Leave functions, control flow and control dependencies, but keep the name scope."""
    if get_default_graph().runs_at_once:  # outside of all of them already
        with tapes.stopped():
            yield
        return
    scope = get_default_graph().get_name_scope()
    scope = scope + "/" if scope else ""
    graph = initial_graph()
    devices = innermost_devices()
    with graph.as_default(), graph.control_dependencies(None), graph.name_scope(scope or None):
        old = graph._device_stack
        graph._device_stack = devices
        try:
            with tapes.stopped():
                yield
        finally:
            graph._device_stack = old
