"""The session in which Keras runs, and values read and written in it."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

import stillflow as tf
from stillflow.distribute import worker_context
from stillflow.graph.api import graph_from_inputs
from stillflow.graph.default_session import get_default_session
from stillflow.graph.eager_mode import eager_mode
from stillflow.graph.export import export
from stillflow.graph.graph import initial_graph
from stillflow.graph.operation import Tensor
from stillflow.keras.backend import initialization
from stillflow.layers import learning_phase, names
from stillflow.layers.symbolic_graph import forget_symbolic_graph, is_symbolic
from stillflow.variables.resource_variable import ResourceVariable


class _Own(threading.local):
    session: Any = None


_own = _Own()


@export("keras.backend.get_session")
def get_session(op_input_list: Any = ()) -> Any:
    """Return the default session, else Keras' own; Keras' variables are initialized in it.

    Args:
      op_input_list: tensors whose graph the session is of; by default of the default graph.
    """
    session = get_default_session()
    if session is None:
        graph = graph_from_inputs([x for x in op_input_list if hasattr(x, "graph")])
        session = _own.session
        if session is None or session.graph is not graph:
            config = tf.ConfigProto(allow_soft_placement=True)
            session = _own.session = tf.Session(config=config)
    if not initialization.initializes_by_hand():
        with session.graph.as_default():
            initialization.initialize_variables(session)
    return session


def make_session_of(strategy: Any) -> None:
    """Make a session for Keras that runs graphs of a strategy, on the own server if it has one."""
    config = tf.ConfigProto(allow_soft_placement=True)
    if _own.session is not None and _own.session._config is not None:
        config.MergeFrom(_own.session._config)

    def make(configured: Any) -> None:
        context = worker_context.current()
        if context is None:
            configured.configure(config)
        else:
            config.MergeFrom(context.session_config)
        _own.session = tf.Session(context.master_target if context else "", config=config)

    strategy.extended.run_as_own_task(make)


@export("keras.backend.set_session")
def set_session(session: Any) -> None:
    """Make Keras run in a session."""
    _own.session = session


@export("keras.backend.clear_session")
def clear_session() -> None:
    """Reset: another default graph, no session, names counted from the start."""
    initialization.forget_graph(tf.get_default_graph())
    forget_symbolic_graph()
    tf.reset_default_graph()
    names.reset_counts()
    _own.session = None
    learning_phase.phases.clear()
    learning_phase.symbolic_learning_phase()


@export("keras.backend.get_value")
def get_value(x: Any) -> Any:
    """Return the value of a tensor or variable; anything else as it is."""
    if initial_graph().runs_at_once:
        return _value_now(x)
    if isinstance(x, ResourceVariable) and x.handle.holds_value:  # in a graph of eager execution
        with eager_mode():
            return x.numpy()
    return x.eval(session=get_session((x,))) if tf.is_tensor(x) else x


def _value_now(x: Any) -> Any:
    """Return the value of a tensor or variable where operations run when they are called."""
    if is_symbolic(x) and isinstance(x, tf.Tensor):
        from stillflow.keras.backend.function import function

        return function([], x)([])
    with tf.init_scope():
        return x.numpy() if hasattr(x, "numpy") else x


@export("keras.backend.eval")
def eval_(x: Any) -> Any:
    """Return the value of a tensor; a sparse one is made dense."""
    return get_value(to_dense(x))


@export("keras.backend.is_sparse")
def is_sparse(tensor: Any) -> bool:
    """Return True if it is a `SparseTensor`."""
    return isinstance(tensor, tf.SparseTensor)


@export("keras.backend.to_dense")
def to_dense(tensor: Any) -> Tensor:
    """Return a sparse tensor as a dense one."""
    return tf.sparse_tensor_to_dense(tensor) if is_sparse(tensor) else tensor


@export("keras.backend.batch_get_value")
def batch_get_value(tensors: Any) -> list[Any]:
    """Return the values of several tensors or variables."""
    if not tensors:
        return []
    if initial_graph().runs_at_once:
        return [_value_now(x) for x in tensors]
    values: list[Any] = get_session(tensors).run(tensors)
    return values


@export("keras.backend.set_value")
def set_value(x: Any, value: Any) -> None:
    """Set a variable."""
    batch_set_value([(x, value)])


@export("keras.backend.batch_set_value")
def batch_set_value(tuples: Any) -> None:
    """Set variables, given as pairs (variable, value)."""
    if not tuples:
        return
    if initial_graph().runs_at_once:
        with tf.init_scope():
            for x, value in tuples:
                x.assign(np.asarray(value, dtype=x.dtype.base_dtype.as_numpy_dtype))
        return
    feed = {}
    for x, value in tuples:
        value = np.asarray(value, dtype=x.dtype.base_dtype.as_numpy_dtype)
        if not hasattr(x, "_assign_placeholder"):
            x._assign_placeholder = tf.placeholder(x.dtype.base_dtype, [None] * value.ndim)
            x._assign_op = x.assign(x._assign_placeholder)
        feed[x._assign_placeholder] = value
    get_session().run([x._assign_op for x, _ in tuples], feed_dict=feed)
