"""The global step: the variable that counts training steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from stillflow.graph import dtypes
from stillflow.graph.eager_mode import executing_eagerly
from stillflow.graph.export import export
from stillflow.graph.graph import Graph, get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Tensor
from stillflow.platform import tf_logging as logging
from stillflow.variables.base import VariableAggregation, VariableV2
from stillflow.variables.initializers import Zeros
from stillflow.variables.state_ops import assign_add
from stillflow.variables.variable_scope import get_variable

# The collection that keeps the one tensor with which hooks read the step.
GLOBAL_STEP_READ_KEY = "global_step_read_op_cache"


@export("train.global_step")
def global_step(sess: Any, global_step_tensor: Any) -> int:
    """Return the number of steps so far, by running `global_step_tensor` in `sess`."""
    if executing_eagerly():
        return int(global_step_tensor)
    return int(np.asarray(sess.run(global_step_tensor)).item())


@export("train.get_global_step")
def get_global_step(graph: Graph | None = None) -> Any:
    """Return the global step of a graph (the default one); None if it has none, or several.

    Args:
      graph: the default graph if None.

    Returns:
      A variable, a tensor, or None.

    Raises:
      TypeError: if it is not an integer scalar.

    Example:
      >>> print(tf.train.get_global_step())
      None
      >>> step = tf.train.create_global_step()
      >>> tf.train.get_global_step() is step
      True
    """
    graph = graph or get_default_graph()
    steps = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if len(steps) > 1:
        logging.error("Multiple tensors in global_step collection.")
        return None
    if steps:
        step = steps[0]
    else:
        try:
            step = graph.get_tensor_by_name("global_step:0")
        except KeyError:
            return None
    assert_global_step(step)
    return step


@export("train.create_global_step")
def create_global_step(graph: Graph | None = None) -> Any:
    """Make the global step, an int64 variable `global_step`.

    Raises:
      ValueError: if the graph has one.
    """
    return new_global_step(graph, aggregation=VariableAggregation.ONLY_FIRST_REPLICA)


def new_global_step(graph: Graph | None, **options: Any) -> Any:
    """Make the global step as `create_global_step` does, with more `options` of the variable."""
    graph = graph or get_default_graph()
    if get_global_step(graph) is not None:
        raise ValueError('"global_step" already exists.')
    with graph.as_default(), graph.name_scope(None):
        return get_variable(
            GraphKeys.GLOBAL_STEP,
            shape=[],
            dtype=dtypes.int64,
            initializer=Zeros(),
            trainable=False,
            collections=[GraphKeys.GLOBAL_VARIABLES, GraphKeys.GLOBAL_STEP],
            **options,
        )


@export("train.get_or_create_global_step")
def get_or_create_global_step(graph: Graph | None = None) -> Any:
    """Return the global step of a graph (the default one), made if it has none.

    Args:
      graph: the default graph if None.

    Returns:
      An integer variable, int64 if it is new.

    Example:
      >>> step = tf.train.get_or_create_global_step()
      >>> step.name, step.dtype.base_dtype.name, tf.train.get_or_create_global_step() is step
      ('global_step:0', 'int64', True)
    """
    graph = graph or get_default_graph()
    step = get_global_step(graph)
    return create_global_step(graph) if step is None else step


@export("train.assert_global_step")
def assert_global_step(global_step_tensor: Any) -> None:
    """Raise an error for tensors that cannot be a global step.

    Raises:
      TypeError: if it is not an integer scalar.
    """
    step = global_step_tensor
    if not isinstance(step, (VariableV2, Tensor)):
        raise TypeError(f'Existing "global_step" must be a Variable or Tensor: {step}.')
    if not step.dtype.base_dtype.is_integer:
        raise TypeError(f'Existing "global_step" does not have integer type: {step.dtype}')
    shape = step.get_shape()
    if shape.ndims != 0 and shape.is_fully_defined():
        raise TypeError(f'Existing "global_step" is not scalar: {shape}')


def get_global_step_read(graph: Graph | None = None) -> Tensor | None:
    """Return the one tensor with which hooks read the global step, if it was made."""
    graph = graph or get_default_graph()
    reads = graph.get_collection(GLOBAL_STEP_READ_KEY)
    if len(reads) > 1:
        raise RuntimeError(
            f"There are multiple items in collection {GLOBAL_STEP_READ_KEY}. There should be only "
            "one."
        )
    return reads[0] if reads else None


def get_or_create_global_step_read(graph: Graph | None = None) -> Any:
    """Return the tensor with which hooks read the global step; None if there is no global step."""
    graph = graph or get_default_graph()
    read = get_global_step_read(graph)
    if read is not None:
        return read
    step = get_global_step(graph)
    if step is None:
        return None
    with graph.as_default(), graph.name_scope(None), graph.name_scope(step.op.name + "/"):
        value = step.initialized_value() if isinstance(step, VariableV2) else step
        graph.add_to_collection(GLOBAL_STEP_READ_KEY, value + 0)
    return get_global_step_read(graph)


def increment_global_step(increment: Any, graph: Graph | None = None) -> Tensor:
    """Add to the global step when run, after `get_or_create_global_step_read` was."""
    graph = graph or get_default_graph()
    step = get_global_step(graph)
    if step is None:
        raise ValueError(
            "Global step tensor should be created by tf.train.get_or_create_global_step before "
            "calling increment."
        )
    read = get_or_create_global_step_read(graph)
    with graph.as_default(), graph.name_scope(None), graph.name_scope(step.op.name + "/"):
        with graph.control_dependencies([read]):
            return assign_add(step, increment)
