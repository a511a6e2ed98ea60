"""tf.saved_model.main_op: operations to run after a SavedModel was loaded."""

from __future__ import annotations

from typing import Any

from stillflow.graph.api import control_dependencies
from stillflow.graph.export import export
from stillflow.graph.operation import Operation
from stillflow.ops.control_flow.identity_and_group import group
from stillflow.variables.collections import (
    global_variables_initializer,
    local_variables_initializer,
    tables_initializer,
)


@export("saved_model.main_op.main_op")
def main_op() -> Operation:
    """Return an operation that initializes variables, local variables and tables."""
    first = global_variables_initializer()
    return group(first, local_variables_initializer(), tables_initializer())


@export("saved_model.main_op_with_restore", "saved_model.main_op.main_op_with_restore")
def main_op_with_restore(restore_op_name: Any) -> Operation:
    """Return `main_op` followed by the restore operation.

    Args:
      restore_op_name: The operation that restores.
    """
    with control_dependencies([main_op()]):
        return group(restore_op_name)
