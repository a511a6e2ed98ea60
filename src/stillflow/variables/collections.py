"""Variables by collection, and their initializers: `tf.global_variables()`, ..."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from stillflow.graph import dtypes
from stillflow.graph.api import get_collection, name_scope
from stillflow.graph.export import export
from stillflow.graph.graph import get_default_graph
from stillflow.graph.graph_keys import GraphKeys
from stillflow.graph.operation import Operation, Tensor
from stillflow.ops.constants import constant
from stillflow.ops.control_flow.identity_and_group import group, no_op


@export("global_variables")
def global_variables(scope: str | None = None) -> list[Any]:
    """Variables shared between processes; with `scope`, those whose name matches it.

    Args:
      scope: a regular expression for the start of names; None for all variables.

    Returns:
      A list of variables, in the order in which they were made.

    Example:
      >>> w = tf.Variable([1.0], name="w")
      >>> step = tf.Variable(0, trainable=False, name="step")
      >>> [v.name for v in tf.global_variables()]
      ['w:0', 'step:0']
    """
    return get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


@export("all_variables")
def all_variables() -> list[Any]:
    """Return the older name of `global_variables`.

    Example:
      >>> w = tf.Variable([1.0], name="w")
      >>> step = tf.Variable(0, trainable=False, name="step")
      >>> [v.name for v in tf.all_variables()]
      ['w:0', 'step:0']
    """
    return global_variables()


@export("local_variables")
def local_variables(scope: str | None = None) -> list[Any]:
    """Variables that are not saved or shared; with `scope`, those whose name matches it."""
    return get_collection(GraphKeys.LOCAL_VARIABLES, scope)


@export("model_variables")
def model_variables(scope: str | None = None) -> list[Any]:
    """Variables of the collection MODEL_VARIABLES."""
    return get_collection(GraphKeys.MODEL_VARIABLES, scope)


@export("trainable_variables")
def trainable_variables(scope: str | None = None) -> list[Any]:
    """Variables that optimizers change by default.

    Args:
      scope: a regular expression for the start of names; None for all variables.

    Returns:
      A list of variables, in the order in which they were made.

    Example:
      >>> w = tf.Variable([1.0], name="w")
      >>> step = tf.Variable(0, trainable=False, name="step")
      >>> [v.name for v in tf.trainable_variables()]
      ['w:0']
    """
    return get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


@export("moving_average_variables")
def moving_average_variables(scope: str | None = None) -> list[Any]:
    """Variables that keep moving averages."""
    return get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def all_saveable_objects(scope: str | None = None) -> list[Any]:
    """Return the default contents of checkpoints."""
    return [
        *get_collection(GraphKeys.GLOBAL_VARIABLES, scope),
        *get_collection(GraphKeys.SAVEABLE_OBJECTS, scope),
    ]


@export("initializers.variables", "variables_initializer", "initialize_variables")
def variables_initializer(var_list: Sequence[Any], name: str = "init") -> Operation:
    """Return an operation that initializes the variables of `var_list`.

    Args:
      var_list: a list of variables.
      name: of the operation.

    Returns:
      An `Operation`; it does nothing for an empty list.

    Example:
      >>> v, w = tf.Variable([1.0]), tf.Variable([2.0])
      >>> with tf.Session() as sess: print(sess.run(tf.variables_initializer([v])), sess.run(v))
      None [1.]
      >>> with tf.Session() as sess: print(sess.run(tf.report_uninitialized_variables([v])))
      [b'Variable']
    """
    if var_list:
        return group(*[variable.initializer for variable in var_list], name=name)
    return no_op(name=name)


@export("initializers.global_variables", "global_variables_initializer", "initialize_all_variables")
def global_variables_initializer() -> Operation:
    """Return an operation that initializes all global variables.

    Example:
      >>> v = tf.Variable([1.0, 2.0])
      >>> with tf.Session() as sess: print(sess.run(tf.global_variables_initializer()), sess.run(v))
      None [1. 2.]
    """
    return variables_initializer(global_variables())


@export("initializers.local_variables", "local_variables_initializer", "initialize_local_variables")
def local_variables_initializer() -> Operation:
    """Return an operation that initializes all local variables.

    Example:
      >>> value, update = tf.metrics.mean([1.0, 3.0])  # counts in local variables
      >>> sess = tf.Session()
      >>> print(sess.run(tf.local_variables_initializer()), sess.run(update))
      None 2.0
    """
    return variables_initializer(local_variables())


@export("initializers.tables_initializer", "tables_initializer", "initialize_all_tables")
def tables_initializer(name: str = "init_all_tables") -> Operation:
    """Return an operation that fills all lookup tables of the graph."""
    initializers = get_collection(GraphKeys.TABLE_INITIALIZERS)
    return group(*initializers, name=name) if initializers else no_op(name=name)


def _variables_or_ops(var_list: Sequence[Any] | None) -> Sequence[Any]:
    if var_list is not None:
        return var_list
    found = global_variables() + local_variables()
    if not found:
        found = [
            op.outputs[0]
            for op in get_default_graph().get_operations()
            if op.type in ("Variable", "VariableV2", "AutoReloadVariable")
        ]
    return found


@export("assert_variables_initialized")
def assert_variables_initialized(var_list: Sequence[Any] | None = None) -> Any:
    """Return a tensor that fails to run while a variable is uninitialized.

    None without variables.
    """
    from stillflow.ops.arrays.concat import stack
    from stillflow.ops.arrays.shape import rank_internal

    variables = _variables_or_ops(var_list)
    if not variables:
        return None
    ranks = []
    for variable in variables:
        with get_default_graph().colocate_with(variable.op):
            ranks.append(rank_internal(variable, optimize=False))
    return ranks[0] if len(ranks) == 1 else stack(ranks)


@export("report_uninitialized_variables")
def report_uninitialized_variables(
    var_list: Sequence[Any] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """Return a 1-D string tensor: the names of variables that have no value yet."""
    from stillflow.ops.arrays.concat import stack
    from stillflow.ops.arrays.masks import boolean_mask
    from stillflow.ops.math.comparison import logical_not
    from stillflow.variables.state_ops import is_variable_initialized

    variables = _variables_or_ops(var_list)
    device = os.environ.get("TF_DEVICE_FOR_UNINITIALIZED_VARIABLE_REPORTING", "/cpu:0")
    with name_scope(name):
        flags = [is_variable_initialized(variable) for variable in variables]
        with get_default_graph().device(device):
            if not variables:
                return constant([], dtype=dtypes.string)
            mask = logical_not(stack(flags))
            names = constant([variable.op.name for variable in variables])
            result: Tensor = boolean_mask(names, mask)
            return result
